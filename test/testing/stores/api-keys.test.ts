import t from 'tap'
import { memoryApiKeys } from '../../../lib/api-keys/index.js'
import { apiKeyStoreSuite } from '../../../lib/testing/index.js'
import { everyFaultIsFound } from '../../helpers/store-faults.js'
import type { ApiKeyStore } from '../../../types/api-keys.js'

t.test('apiKeyStoreSuite() finds nothing in a right store', async (t) => {
  const cases = apiKeyStoreSuite((prefix) => memoryApiKeys({ prefix }))
  await Promise.all(cases.map(({ name, run }) => t.resolves(run(), name)))
})

/** A store that does what the memory store does, but for these methods; with the name of the case that finds it. */
const faulty: Readonly<
  Record<string, [change: (store: ApiKeyStore) => Partial<ApiKeyStore>, caseName: RegExp]>
> = {
  'times without a fraction': [
    (store) => ({
      create: (key, limit) => store.create({ ...key, createdAt: Math.floor(key.createdAt) }, limit),
    }),
    /as it was given/,
  ],
  'an owner that is a number again': [
    (store) => ({ create: (key, limit) => store.create({ ...key, ownerType: 'string' }, limit) }),
    /as it was given/,
  ],
  'an id that is taken': [
    (store) => ({ create: (key, limit) => store.create(key, limit).catch(() => true) }),
    /its id is taken/,
  ],
  'owners in lower case': [
    (store) => ({
      create: (key, limit) => store.create({ ...key, owner: key.owner.toLowerCase() }, limit),
      list: (owner) => store.list(owner.toLowerCase()),
    }),
    /owners are told apart/,
  ],
  'the oldest first': [
    (store) => ({ list: async (owner) => [...(await store.list(owner))].toReversed() }),
    /newest first/,
  ],
  'live keys only': [
    (store) => ({
      list: async (owner) => (await store.list(owner)).filter(({ revokedAt }) => !revokedAt),
    }),
    /30 days/,
  ],
  'every use': [
    (store) => ({
      touch: (id, at) => store.touch(id, at + 1e6).then(() => store.touch(id, at + 1e7)),
    }),
    /every 60 seconds/,
  ],
  'no use': [() => ({ touch: async () => undefined }), /every 60 seconds/],
  'keys of any owner are revoked': [
    (store) => ({ revoke: (id, at) => store.revoke(id, at, null) }),
    /of another owner/,
  ],
  'keys of any owner are replaced': [
    (store) => ({
      replace: (id, next, until, _, limit) => store.replace(id, next, until, null, limit),
    }),
    /does not change/,
  ],
  'a later end': [
    (store) => ({
      replace: (id, next, until, owner, limit) => store.replace(id, next, until + 60, owner, limit),
    }),
    /or sooner/,
  ],
  'expired keys are replaced': [
    (store) => ({
      replace: (id, next, until, owner, limit) =>
        store
          .replace(id, { ...next, createdAt: 0 }, until, owner, limit)
          .then(async (isDone) => isDone && (await store.find(next.id)) !== null),
    }),
    /does not change/,
  ],
  'a read, and then a write: revoke': [
    (store) => ({
      async revoke(id, at, owner) {
        const isLive = (await store.find(id))?.revokedAt === null
        await store.revoke(id, at, owner)
        return isLive && (owner ?? (await store.find(id))?.owner) === (await store.find(id))?.owner
      },
    }),
    /200 calls/,
  ],
  'a read, and then a write: replace': [
    (store) => ({
      async replace(id, next, until, owner, limit) {
        const isLive = (await store.find(id))?.replacedBy === null
        if (await store.replace(id, next, until, owner, limit)) return true
        if (isLive && owner === null) await store.create(next, limit)
        return false
      },
    }),
    /200 calls/,
  ],
  'a count, and then a write': [
    (store) => ({
      async create(key, limit) {
        const keys = await store.list(key.owner)
        const valid = keys.filter(({ revokedAt, expiresAt }) => !(revokedAt ?? expiresAt))
        return valid.length < limit && store.create(key, 1e6)
      },
    }),
    /200 keys/,
  ],
  'revoked keys count': [
    (store) => ({
      create: async (key, limit) =>
        (await store.list(key.owner)).length < limit && store.create(key, limit),
    }),
    /200 keys/,
  ],
  'no replacement at the limit': [
    (store) => ({
      replace: async (id, next, until, owner, limit) =>
        (await store.list(next.owner)).length < limit &&
        store.replace(id, next, until, owner, limit),
    }),
    /whatever the limit/,
  ],
  'replacements without a limit': [
    (store) => ({
      replace: (id, next, until, owner) => store.replace(id, next, until, owner, 1e6),
    }),
    /twice as many/,
  ],
}

t.test('apiKeyStoreSuite() finds every fault of a store', async (t) => {
  await everyFaultIsFound(t, faulty, (change) =>
    apiKeyStoreSuite((prefix) => {
      const factory = memoryApiKeys({ prefix })
      const open = (name: string) => ({ ...factory.open(name), ...change(factory.open(name)) })
      return { ...factory, open }
    }),
  )
  const one = memoryApiKeys({ prefix: 'one' })
  const cases = apiKeyStoreSuite((prefix) => ({ ...one, prefix, open: () => one.open('x') }))
  const apart = cases.find(({ name }) => name.startsWith('registrations'))
  await t.rejects(async () => apart?.run(), 'names and prefixes')
})
