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
async function holds(store: ApiKeyStore, key: StoredApiKey): Promise<void> {
  const found = (await store.find(key.id)) as StoredApiKey
  for (const member of Object.keys(key) as (keyof StoredApiKey)[]) {
    assert.deepEqual(millis(found[member]), millis(key[member]), member)
  }
}

const idsOf = async (store: ApiKeyStore, owner: string): Promise<string[]> =>
  (await store.list(owner)).map(({ id }) => id)

const cases: Cases<ApiKeyStore> = {
  async 'a key that was created is found, as it was given, and its id is taken'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const createdAt = 1_790_000_000.123
    for (const expiresAt of [null, 2_790_000_000.456]) {
      const scopes = expiresAt === null ? [] : ["!#$%&'()*+,-./:;<=>?@[]^_`{|}~", 'b', 'a']
      const key = newStored({ createdAt, expiresAt, scopes, owner: '7', ownerType: 'number' })
      await store.create(key)
      await holds(other, key)
      await assert.rejects(other.create(newStored({ id: key.id, owner: 'another' })), 'it is taken')
      await holds(store, key)
    }
    assert.deepEqual(await store.list('another'), [])
    assert.equal(await store.find(newStored().id), null, 'no such key')
  },

  async 'strings come back as they were, and owners are told apart'(bench) {
    const store = await bench.open()
    const alike = ['alice', 'Alice', 'alice ', 'alic_', 'alic%', 'zo\u00eb', 'zoe\u0308', '7', '07']
    const keys = [...odd.slice(1), ...alike].map((text) => newStored({ owner: text, name: text }))
    for (const key of keys) await store.create(key)
    for (const key of keys) {
      await holds(store, key)
      assert.deepEqual(await idsOf(store, key.owner), [key.id], key.owner)
    }
  },

  async 'keys are listed, the newest first, and for 30 days after their end'(bench) {
    const store = await bench.open()
    const { owner } = newStored()
    const [old, days] = [now() - 29 * 86_400, now() - 50 * 86_400]
    const keys = [
      newStored({ owner, createdAt: days - 1e8 }),
      newStored({ owner, createdAt: days }),
      newStored({ owner, createdAt: days + 0.1, expiresAt: old }),
      newStored({ owner, createdAt: now() - 0.2, expiresAt: now() }),
      newStored({ owner, createdAt: now() - 0.1 }),
    ]
    for (const key of keys) await store.create(key)
    await store.revoke(keys[1]?.id as string, old)
    await store.create(newStored())
    const ids = keys.map(({ id }) => id).toReversed()
    assert.deepEqual(await idsOf(store, owner), ids)
    assert.deepEqual((await store.list(owner))[0], await store.find(ids[0] as string), 'whole')
  },

  async 'the last use is stored at most every 60 seconds'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const [key, unknown, at] = [newStored(), newStored(), 1_790_000_000.25]
    await store.create(key)
    let lastUsedAt = at
    for (const after of [0, 59.5, -100, 60, 200.5]) {
      if (after >= 60) lastUsedAt = at + after
      await other.touch(key.id, at + after)
      await holds(store, { ...key, lastUsedAt })
    }
    await store.touch(unknown.id, at)
    assert.equal(await store.find(unknown.id), null, 'a use makes no key')
  },

  async 'a key is revoked once, and only for its owner'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    for (const key of [newStored(), newStored({ expiresAt: now() - 5 })]) {
      await store.create(key)
      const revokedAt = now()
      for (const owner of ['another', `${key.owner} `, key.owner.toUpperCase()]) {
        assert.equal(await other.revoke(key.id, revokedAt, owner), false, 'of another owner')
      }
      await holds(store, key)
      assert.equal(await other.revoke(key.id, revokedAt, key.owner), true)
      assert.equal(await store.revoke(key.id, revokedAt + 5), false, 'revoked already')
      await holds(store, { ...key, revokedAt })
    }
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
      await holds(store, { ...key, replacedBy: next.id, expiresAt: ends })
      await holds(store, next)
      assert.deepEqual(await idsOf(store, key.owner), [next.id, key.id])
    }
  },

  async 'a key that is unknown, expired, revoked, replaced or of others is not replaced'(bench) {
    const [store, at] = [await bench.open(), now()]
    const [live, revoked, replaced] = [newStored(), newStored(), newStored()]
    const expired = newStored({ createdAt: at - 9, expiresAt: at })
    for (const key of [live, revoked, replaced, expired]) await store.create(key)
    assert.equal(await store.revoke(revoked.id, at), true)
    assert.equal(await store.replace(replaced.id, newStored(), at + 100), true)
    for (const key of [newStored(), expired, revoked, replaced, live]) {
      const [next, before] = [newStored({ createdAt: at }), await store.find(key.id)]
      const owner = key === live ? 'another' : undefined
      assert.equal(await store.replace(key.id, next, at + 50, owner), false)
      assert.deepEqual([await store.find(next.id), await store.list(next.owner)], [null, []])
      assert.deepEqual(await store.find(key.id), before, 'nothing has changed')
    }
  },

  async 'of 200 calls at once, one creates, replaces or revokes'(bench) {
    const stores = [await bench.open(), await bench.open()] as const
    const nexts = Array.from({ length: 200 }, () => newStored())
    const { id } = newStored()
    const winners = async (call: (store: ApiKeyStore, next: StoredApiKey) => Promise<unknown>) => {
      const calls = nexts.map((next, index) => call(stores[index % 2 ? 1 : 0], next))
      const results = await Promise.allSettled(calls)
      return nexts.filter((_, index) => {
        const result = results[index]
        return result?.status === 'fulfilled' && result.value !== false
      })
    }
    assert.equal((await winners((store) => store.create(newStored({ id })))).length, 1)
    const [next, ...others] = await winners((store, each) => store.replace(id, each, now() + 50))
    assert.equal(others.length, 0, 'one replaces')
    assert.equal((await stores[0].find(id))?.replacedBy, next?.id)
    const found = await Promise.all(nexts.map((each) => stores[1].find(each.id)))
    assert.deepEqual(
      found.flatMap((each) => each?.id ?? []),
      [next?.id],
      'one successor',
    )
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

  async 'registrations and prefixes are told apart'(bench) {
    const [key, name] = [newStored(), newStored().digest]
    const store = await bench.openAs(name)
    await store.create(key)
    for (const other of [await bench.openAs(`${name}.a`), await bench.openAs(name, 'suite_two')]) {
      assert.deepEqual([await other.find(key.id), await other.list(key.owner)], [null, []])
      assert.equal(await other.revoke(key.id, now()), false)
      assert.equal(await other.replace(key.id, newStored(), now() + 9), false)
      await other.create(key)
      await other.revoke(key.id, now())
    }
    await holds(store, key)
  },
}
