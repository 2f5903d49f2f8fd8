import assert from 'node:assert/strict'
import { changeCases, holds, idsOf, newStored, now } from './api-key-changes.js'
import { runsOf, type Cases, type MakeStore, type StoreCase } from './bench.js'
import { odd } from './sessions.js'
import type { ApiKeyStore, ApiKeyStoreFactory } from '../../../types/api-keys.js'

/**
 * The tests that every store of API keys has to pass, in the manner of {@link sessionStoreSuite}.
 *
 * @param make - makes the factory; see {@link MakeStore}
 *
 * @example
 * for (const { name, run } of apiKeyStoreSuite((prefix) => redisApiKeys(new Redis(url), { prefix }))) {
 *   test(name, () => run())
 * }
 */
export function apiKeyStoreSuite(make: MakeStore<ApiKeyStoreFactory>): readonly StoreCase[] {
  return runsOf(make, { ...cases, ...changeCases })
}

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
    assert.deepEqual([await store.list('another'), await store.find(newStored().id)], [[], null])
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
