import assert from 'node:assert/strict'
import { newKey } from '../../api-keys/key.js'
import { runsOf, type Cases, type MakeStore, type StoreCase } from './bench.js'
import { odd } from './sessions.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * The tests that every store of API keys has to pass: the memory, Redis and PostgreSQL stores of this package, and yours.
 * Otherwise like {@link sessionStoreSuite}.
 *
 * @param make - makes the factory; see {@link MakeStore}
 *
 * @example
 * for (const { name, run } of apiKeyStoreSuite((prefix) => redisApiKeys(new Redis(url), { prefix }))) {
 *   test(name, () => run())
 * }
 */
export function apiKeyStoreSuite(make: MakeStore<ApiKeyStoreFactory>): readonly StoreCase[] {
  return runsOf(make, cases)
}

const day = 86_400
const now = (): number => Date.now() / 1000
let count = 0

function newStored(given: Partial<StoredApiKey> = {}): StoredApiKey {
  count += 1
  const about = {
    owner: `owner ${count}`,
    ownerType: 'string',
    name: 'job',
    scopes: ['a'],
  } as const
  return { ...newKey('suite', about, null).stored, ...given }
}

const millis = (time: unknown): unknown =>
  typeof time === 'number' ? Math.round(time * 1000) : time

/** Checks what is stored, with times to the millisecond. */
async function holds(store: ApiKeyStore, key: StoredApiKey, what: string): Promise<void> {
  const found = { ...(await store.find(key.id)) } as Partial<StoredApiKey>
  for (const [member, value] of Object.entries(key)) {
    const stored = found[member as keyof StoredApiKey]
    assert.deepEqual(millis(stored), millis(value), `${what}: ${member}`)
  }
}

const idsOf = async (store: ApiKeyStore, owner: string): Promise<string[]> =>
  (await store.list(owner)).map(({ id }) => id)

const cases: Cases<ApiKeyStore> = {
  async 'a key that was created is found, as it was given'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const createdAt = 1_790_000_000.123
    for (const expiresAt of [null, 2_790_000_000.456]) {
      const scopes = expiresAt === null ? [] : ["!#$%&'()*+,-./:;<=>?@[]^_`{|}~", 'b', 'a']
      const key = newStored({ createdAt, expiresAt, scopes, owner: '7', ownerType: 'number' })
      await store.create(key)
      await holds(other, key, 'found by another process')
    }
    assert.equal(await store.find(newStored().id), null, 'no such key')
  },

  async 'an id that exists is rejected'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const key = newStored()
    await store.create(key)
    await assert.rejects(other.create(newStored({ id: key.id, owner: 'another' })))
    await holds(store, key, 'the first one stays')
    assert.deepEqual(await store.list('another'), [])
  },

  async 'strings come back as they were, and owners are told apart'(bench) {
    const store = await bench.open()
    const alike = ['alice', 'Alice', 'alice ', 'alic_', 'alic%', 'zo\u00eb', 'zoe\u0308', '7', '07']
    const keys = [...odd.slice(1), ...alike].map((text) => newStored({ owner: text, name: text }))
    for (const key of keys) await store.create(key)
    for (const key of keys) {
      await holds(store, key, key.owner)
      assert.deepEqual(await idsOf(store, key.owner), [key.id], key.owner)
    }
  },

  async 'the keys of an owner are listed, the newest first, revoked and expired ones too'(bench) {
    const store = await bench.open()
    const { owner } = newStored()
    const keys = [0.4, 0.3, 0.2, 0.1].map((ago) => newStored({ owner, createdAt: now() - ago }))
    const [first, second] = keys as [StoredApiKey, StoredApiKey]
    keys[0] = { ...first, expiresAt: now() - 0.05 }
    for (const key of [...keys, newStored()]) await store.create(key)
    await store.revoke(second.id, now())
    const ids = keys.map(({ id }) => id).toReversed()
    assert.deepEqual(await idsOf(store, owner), ids)
    assert.deepEqual((await store.list(owner))[0], await store.find(ids[0] as string), 'whole')
    assert.deepEqual(await store.list('none'), [])
  },

  async 'the last use is stored at most every 60 seconds'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const [key, at] = [newStored(), 1_790_000_000.25]
    await store.create(key)
    const rows = [
      [at, at],
      [at + 59.5, at],
      [at - 100, at],
      [at + 60, at + 60],
      [at + 200.5, at + 200.5],
    ] as const
    for (const [time, lastUsedAt] of rows) {
      await other.touch(key.id, time)
      await holds(store, { ...key, lastUsedAt }, `a use after ${time - at} s`)
    }
    const unknown = newStored()
    await store.touch(unknown.id, at)
    assert.equal(await store.find(unknown.id), null, 'no key comes from a use')
  },

  async 'a key is revoked once, and only for its owner'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const keys = [newStored(), newStored({ expiresAt: now() - 5 })]
    for (const key of keys) {
      await store.create(key)
      const revokedAt = now()
      for (const owner of ['another', '', `${key.owner} `, key.owner.toUpperCase()]) {
        assert.equal(await other.revoke(key.id, revokedAt, owner), false, 'of another owner')
      }
      await holds(store, key, 'nothing has changed')
      assert.equal(await other.revoke(key.id, revokedAt, key.owner), true)
      assert.equal(await store.revoke(key.id, revokedAt + 5), false, 'revoked already')
      await holds(store, { ...key, revokedAt }, 'the first time counts')
    }
    const plain = newStored()
    await store.create(plain)
    assert.equal(await store.revoke(plain.id, now()), true, 'without an owner')
    assert.equal(await store.revoke(newStored().id, now()), false, 'unknown')
  },

  async 'a key is replaced, and expires at the given time or sooner'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const until = now() + 100.5
    for (const expiresAt of [null, until + 50, until - 50]) {
      const key = newStored({ expiresAt })
      const next = newStored({ owner: key.owner, createdAt: now() + 0.5, expiresAt })
      await store.create(key)
      assert.equal(await other.replace(key.id, next, until, key.owner), true)
      const ends = Math.min(expiresAt ?? until, until)
      await holds(store, { ...key, replacedBy: next.id, expiresAt: ends }, 'the old key')
      await holds(store, next, 'its successor')
      assert.deepEqual(await idsOf(store, key.owner), [next.id, key.id])
      assert.equal(await store.replace(next.id, newStored(), until), true, 'without an owner')
    }
  },

  async 'a key that is unknown, expired, revoked, replaced or of others is not replaced'(bench) {
    const store = await bench.open()
    const at = now()
    const [live, revoked, replaced] = [newStored(), newStored(), newStored()]
    const expired = newStored({ createdAt: at - 9, expiresAt: at })
    for (const key of [live, revoked, replaced, expired]) await store.create(key)
    await store.revoke(revoked.id, at)
    await store.replace(replaced.id, newStored(), at + 100)
    for (const key of [newStored(), expired, revoked, replaced, live]) {
      const next = newStored({ createdAt: at })
      const before = await store.find(key.id)
      const owner = key === live ? 'another' : undefined
      assert.equal(await store.replace(key.id, next, at + 50, owner), false)
      assert.equal(await store.find(next.id), null, 'no successor')
      assert.deepEqual(await store.list(next.owner), [])
      assert.deepEqual(await store.find(key.id), before, 'nothing has changed')
    }
  },

  async 'of 200 calls at once, one creates, revokes or replaces'(bench) {
    const stores = [await bench.open(), await bench.open()] as const
    const winners = async (call: (store: ApiKeyStore, index: number) => Promise<unknown>) => {
      const calls = Array.from({ length: 200 }, (_, index) =>
        call(stores[index % 2 ? 1 : 0], index),
      )
      const results = await Promise.allSettled(calls)
      return results.flatMap((each, index) =>
        each.status === 'fulfilled' && each.value !== false ? index : [],
      )
    }
    const { id, owner } = newStored()
    assert.equal((await winners((store) => store.create(newStored({ id, owner })))).length, 1)
    const nexts = Array.from({ length: 200 }, () => newStored({ owner }))
    const replace = await winners((store, index) =>
      store.replace(id, nexts[index] as StoredApiKey, now() + 50),
    )
    const [winner = 0, ...others] = replace
    assert.deepEqual(others, [], 'one replaces')
    const next = nexts[winner]?.id
    assert.equal((await stores[0].find(id))?.replacedBy, next)
    assert.deepEqual(new Set(await idsOf(stores[1], owner)), new Set([id, next]))
    assert.equal((await winners((store) => store.revoke(id, now()))).length, 1)
  },

  async 'a key that is revoked while it is replaced has a successor or none'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const rounds = Array.from({ length: 40 }, async (_, round) => {
      const [key, next] = [newStored(), newStored()]
      await store.create(key)
      const early = round % 2 ? other.revoke(key.id, now()) : null
      const isReplaced = await store.replace(key.id, next, now() + 50)
      assert.equal(await (early ?? other.revoke(key.id, now())), true, 'it is revoked')
      const found = await store.find(key.id)
      assert.ok(found?.revokedAt, 'it stays revoked')
      assert.equal(found.replacedBy, isReplaced ? next.id : null)
      assert.equal((await store.find(next.id)) !== null, isReplaced)
    })
    await Promise.all(rounds)
  },

  async 'keys are kept for 30 days after their end, and live ones for ever'(bench) {
    const store = await bench.open()
    const { owner } = newStored()
    const keyOf = (age: number, given: Partial<StoredApiKey> = {}): StoredApiKey =>
      newStored({ owner, createdAt: now() - age * day, ...given })
    const revoked = keyOf(50)
    const keys = [keyOf(4000), revoked, keyOf(40, { expiresAt: now() - 29 * day })]
    for (const key of keys) await store.create(key)
    await store.revoke(revoked.id, now() - 29 * day)
    await store.create(newStored())
    assert.deepEqual(await idsOf(store, owner), keys.map(({ id }) => id).toReversed())
  },

  async 'registrations and prefixes are told apart'(bench) {
    const name = newStored().digest
    const others = [await bench.openAs(`${name}.a`), await bench.openAs(name, 'suite_two')]
    const [store, key] = [await bench.openAs(name), newStored()]
    await store.create(key)
    for (const other of others) {
      assert.equal(await other.find(key.id), null)
      assert.deepEqual(await other.list(key.owner), [])
      assert.equal(await other.revoke(key.id, now()), false)
      assert.equal(await other.replace(key.id, newStored(), now() + 9), false)
      await other.create(key)
    }
    await others[0]?.revoke(key.id, now())
    await holds(store, key, 'nothing has changed')
  },
}
