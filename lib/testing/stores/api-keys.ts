import assert from 'node:assert/strict'
import { newKey } from '../../api-keys/key.js'
import { odd, requireTime, suiteOf, type Cases, type MakeStore, type StoreCase } from './bench.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

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
  return suiteOf(make, cases)
}

const now = (): number => Date.now() / 1000

function newStored(given: Partial<StoredApiKey> = {}): StoredApiKey {
  const about = { owner: '', name: 'job', scopes: ['a'], expiresAt: null }
  const { stored } = newKey('x', about)
  return { ...stored, owner: `owner ${stored.id}`, ...given }
}

async function holds(store: ApiKeyStore, key: StoredApiKey): Promise<void> {
  const found = { ...(await store.find(key.id)) } as Record<string, unknown>
  for (const [member, value] of Object.entries(key)) {
    if (typeof value === 'number') requireTime(found[member] as number, value, member)
    else assert.deepEqual(found[member], value, member)
  }
}

const idsOf = async (store: ApiKeyStore, owner: string): Promise<string[]> =>
  (await store.list(owner)).map(({ id }) => id)

const cases: Cases<ApiKeyStore> = {
  async 'a key that was created is found, as it was given, and its id is taken'(store, other) {
    const given = { createdAt: 1_790_000_000.123, owner: '7', ownerType: 'number' } as const
    const scopes = ["!#$%&'()*+,-./:;<=>?@[]^_`{|}~", 'b', 'a']
    for (const more of [{ scopes: [] }, { scopes, expiresAt: 2_790_000_000.456 }]) {
      const key = newStored({ ...given, ...more })
      await store.create(key)
      await assert.rejects(other.create(newStored({ id: key.id, owner: 'another' })), 'it is taken')
      await holds(other, key)
    }
    assert.deepEqual([await store.list('another'), await store.find(newStored().id)], [[], null])
  },

  async 'strings come back as they were, and owners are told apart'(store) {
    const alike = ['alice', 'Alice', 'alice ', 'alic_', 'alic%', 'zo\u00eb', 'zoe\u0308', '7', '07']
    const keys = [...odd.slice(1), ...alike].map((text) => newStored({ owner: text, name: text }))
    for (const key of keys) await store.create(key)
    for (const key of keys) {
      await holds(store, key)
      assert.deepEqual(await idsOf(store, key.owner), [key.id], key.owner)
    }
  },

  async 'keys are listed, the newest first, and for 30 days after their end'(store) {
    const { owner, id } = newStored()
    const [old, days] = [now() - 29 * 86_400, now() - 50 * 86_400]
    const keys = [
      newStored({ owner, createdAt: days - 1e8 }),
      newStored({ owner, createdAt: days, id }),
      newStored({ owner, createdAt: days + 0.1, expiresAt: old }),
      newStored({ owner, createdAt: now() - 0.2, expiresAt: now() }),
      newStored({ owner, createdAt: now() - 0.1 }),
    ]
    for (const key of [...keys, newStored()]) await store.create(key)
    await store.revoke(id, old)
    const found = await Promise.all(keys.toReversed().map((key) => store.find(key.id)))
    assert.deepEqual(await store.list(owner), found)
  },

  async 'the last use is stored at most every 60 seconds'(store, other) {
    const [key, unknown, at] = [newStored(), newStored(), 1_790_000_000.25]
    await store.create(key)
    for (const after of [0, 59.5, -100, 60, 200.5]) {
      await other.touch(key.id, at + after)
      await holds(store, { ...key, lastUsedAt: at + (after < 60 ? 0 : after) })
    }
    await store.touch(unknown.id, at)
    assert.equal(await store.find(unknown.id), null, 'a use makes no key')
  },

  async 'a key is revoked once, and only for its owner'(store, other) {
    for (const key of [newStored(), newStored({ expiresAt: now() - 5 })]) {
      await store.create(key)
      const revokedAt = now()
      for (const owner of ['another', `${key.owner} `, key.owner.toUpperCase()]) {
        assert.equal(await other.revoke(key.id, revokedAt, owner), false, 'of another owner')
      }
      assert.equal(await other.revoke(key.id, revokedAt, key.owner), true)
      assert.equal(await store.revoke(key.id, revokedAt + 5), false, 'revoked already')
      await holds(store, { ...key, revokedAt })
    }
    assert.equal(await store.revoke(newStored().id, now()), false, 'unknown')
  },

  async 'a key is replaced, and expires at the given time or sooner'(store, other) {
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

  async 'a key that is unknown, expired, revoked, replaced or of others is not replaced'(store) {
    const at = now()
    const [live, revoked, replaced] = [newStored(), newStored(), newStored()]
    const expired = newStored({ createdAt: at - 9, expiresAt: at })
    for (const key of [live, revoked, replaced, expired]) await store.create(key)
    await store.revoke(revoked.id, at)
    await store.replace(replaced.id, newStored(), at + 100)
    for (const key of [newStored(), expired, revoked, replaced, live]) {
      const [next, before] = [newStored({ createdAt: at }), await store.find(key.id)]
      const owner = key === live ? 'another' : undefined
      assert.equal(await store.replace(key.id, next, at + 50, owner), false)
      assert.deepEqual([await store.find(next.id), await store.list(next.owner)], [null, []])
      assert.deepEqual(await store.find(key.id), before, 'nothing has changed')
    }
  },

  async 'of 200 calls at once, one creates, replaces or revokes'(store, other) {
    const nexts = Array.from({ length: 200 }, () => newStored())
    const { id } = newStored()
    const winners = async (call: (at: ApiKeyStore, next: StoredApiKey) => Promise<unknown>) => {
      const calls = nexts.map(async (next, index) => {
        const result = await call(index % 2 ? other : store, next).catch(() => false)
        return result === false ? [] : [next.id]
      })
      return (await Promise.all(calls)).flat()
    }
    assert.equal((await winners((at) => at.create(newStored({ id })))).length, 1)
    const replaced = await winners((at, next) => at.replace(id, next, now() + 50))
    assert.deepEqual(replaced, [(await store.find(id))?.replacedBy], 'one replaces')
    const found = await Promise.all(nexts.map(async (next) => (await other.find(next.id))?.id))
    assert.deepEqual(found.filter(Boolean), replaced, 'one successor')
    assert.equal((await winners((at) => at.revoke(id, now()))).length, 1)
  },

  async 'a key that is revoked while it is replaced has a successor or none'(store, other) {
    for (let round = 0; round < 40; round++) {
      const [key, next] = [newStored(), newStored()]
      await store.create(key)
      const replace = (): Promise<boolean> => store.replace(key.id, next, now() + 50)
      const early = round % 2 ? replace() : null
      const revoked = other.revoke(key.id, now())
      const isReplaced = await (early ?? replace())
      assert.equal(await revoked, true, 'it is revoked, whichever was first')
      const found = await store.find(key.id)
      assert.deepEqual([!!found?.revokedAt, found?.replacedBy], [true, isReplaced ? next.id : null])
      assert.equal((await store.find(next.id)) !== null, isReplaced)
    }
  },

  async 'registrations and prefixes are told apart'(_, __, open) {
    const [key, name] = [newStored(), newStored().digest]
    const store = await open(name)
    await store.create(key)
    for (const other of [await open(`${name}.a`), await open(name, 'suite_two')]) {
      assert.deepEqual([await other.find(key.id), await other.list(key.owner)], [null, []])
      assert.equal(await other.revoke(key.id, now()), false)
      assert.equal(await other.replace(key.id, newStored(), now() + 9), false)
      await other.create(key)
      await other.revoke(key.id, now())
    }
    await holds(store, key)
  },
}
