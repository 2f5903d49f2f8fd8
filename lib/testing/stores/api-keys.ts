import assert from 'node:assert/strict'
import { maxEnded, newKey, noLimit } from '../../api-keys/key.js'
import {
  byTurns,
  odd,
  requireTime,
  storeCasesOf,
  type Cases,
  type MakeStore,
  type StoreCase,
} from './suite.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * The tests that every store of API keys has to pass, in the manner of {@link sessionStoreSuite}.
 * @param make - makes the factory; see {@link MakeStore}
 * @example
 * for (const { name, run } of apiKeyStoreSuite((prefix) => redisApiKeys(new Redis(url), { prefix }))) {
 *   test(name, () => run())
 * }
 */
export function apiKeyStoreSuite(make: MakeStore<ApiKeyStoreFactory>): readonly StoreCase[] {
  return storeCasesOf(make, cases)
}

const now = (): number => Date.now() / 1000

function newStored(given: Partial<StoredApiKey> = {}): StoredApiKey {
  const { stored } = newKey('x', { owner: 'x', name: 'job', scopes: ['a'], expiresAt: null })
  return { ...stored, owner: `owner ${stored.id}`, ...given }
}

/** A key that was just put into a store. */
async function kept(store: ApiKeyStore, given?: Partial<StoredApiKey>): Promise<StoredApiKey> {
  const key = newStored(given)
  await store.create(key, noLimit)
  return key
}

async function holds(store: ApiKeyStore, key: StoredApiKey): Promise<void> {
  const found = { ...(await store.find(key.id)) } as Record<string, unknown>
  for (const [member, value] of Object.entries(key)) {
    if (typeof value === 'number') requireTime(found[member] as number, value, member)
    else assert.deepEqual(found[member], value, member)
  }
}

const cases: Cases<ApiKeyStore> = {
  async 'a key is found as it was given, its id is taken, and owners are told apart'(store, other) {
    const alike = ['alice', 'Alice', 'alice ', 'alic_', 'alic%', 'zo\u00eb', 'zoe\u0308', '7', '07']
    const scopes = ["!#$%&'()*+,-./:;<=>?@[]^_`{|}~", 'b', 'a']
    const full = { scopes, expiresAt: 2_790_000_000.456, ownerType: 'number' } as const
    const given = { createdAt: 1_790_000_000.123, scopes: [] }
    const keys = [...odd.slice(1), ...alike].map((text, index) =>
      newStored({ ...given, owner: text, name: text, ...(index % 2 === 0 && full) }),
    )
    for (const key of keys) {
      await store.create(key, noLimit)
      await assert.rejects(other.create(newStored({ id: key.id }), noLimit), 'it is taken')
    }
    for (const key of keys) {
      await holds(other, key)
      assert.deepEqual(await store.list(key.owner), [await store.find(key.id)], key.owner)
    }
    assert.equal(await store.find(newStored().id), null)
  },

  async 'keys are listed, the newest first, and for 30 days after their end'(store) {
    const { owner } = newStored()
    const [old, days] = [now() - 29 * 86_400, now() - 50 * 86_400]
    const revoked = await kept(store, { owner, createdAt: days - 2e8 })
    await store.revoke(revoked.id, old, null)
    const keys = [
      revoked,
      await kept(store, { owner, createdAt: days - 1e8 }),
      await kept(store, { owner, createdAt: days, expiresAt: old }),
      await kept(store, { owner, createdAt: now() - 0.2, expiresAt: now() }),
      await kept(store, { owner, createdAt: now() - 0.1 }),
    ]
    const found = await Promise.all(keys.toReversed().map(({ id }) => store.find(id)))
    assert.deepEqual(await store.list(owner), found)
  },

  async 'the last use is stored at most every 60 seconds'(store, other) {
    const [key, at] = [await kept(store), 1_790_000_000.25]
    for (const after of [0, 59.5, -100, 60, 200.5]) {
      await other.touch(key.id, at + after)
      await holds(store, { ...key, lastUsedAt: at + (after < 60 ? 0 : after) })
    }
    const { id } = newStored()
    await store.touch(id, at)
    assert.equal(await store.find(id), null, 'a use makes no key')
  },

  async 'a key is revoked or replaced, and then expires at the given time or sooner'(store, other) {
    const until = now() + 100.5
    for (const expiresAt of [null, until + 50, until - 50]) {
      const [key, next] = [await kept(store, { expiresAt }), newStored({ createdAt: now() + 0.5 })]
      assert.equal(await other.replace(key.id, next, until, key.owner, 1), true)
      const ends = Math.min(expiresAt ?? until, until)
      const changed = { ...key, replacedBy: next.id, expiresAt: ends }
      await holds(store, changed)
      await holds(store, next)
      assert.deepEqual(await store.list(key.owner), [await store.find(key.id)], 'it is listed')
      assert.equal(await other.revoke(key.id, until, key.owner), true)
      await holds(store, { ...changed, revokedAt: until })
    }
  },

  async 'a key that is unknown, over, replaced or of another owner does not change'(store, other) {
    const at = now()
    const [live, revoked, replaced] = [await kept(store), await kept(store), await kept(store)]
    const expired = await kept(store, { createdAt: at - 9, expiresAt: at })
    await store.revoke(revoked.id, at, null)
    await store.replace(replaced.id, newStored(), at + 100, null, noLimit)
    const owners = ['another', `${live.owner} `, live.owner.toUpperCase()]
    const ended = [newStored(), expired, revoked, replaced].map(({ id }) => [id, null] as const)
    for (const [id, owner] of [...ended, ...owners.map((each) => [live.id, each] as const)]) {
      const [next, before] = [newStored({ createdAt: at }), await store.find(id)]
      assert.equal(await store.replace(id, next, at + 50, owner, noLimit), false)
      const isOver = id === expired.id || id === replaced.id
      if (!isOver) assert.equal(await other.revoke(id, at + 5, owner), false)
      const after = [await store.find(next.id), await store.list(next.owner), await store.find(id)]
      assert.deepEqual(after, [null, [], before], 'nothing has changed')
      if (isOver) assert.equal(await other.revoke(id, at + 5, null), true, 'but it can be revoked')
    }
  },

  async 'of 200 calls at once, one creates, one replaces and one revokes'(store, other) {
    const calls = byTurns(store, other).map((at) => ({ at, next: newStored() }))
    const winners = async (call: (at: ApiKeyStore, next: StoredApiKey) => Promise<unknown>) => {
      const results = calls.map(({ at, next }) => call(at, next).catch(() => false))
      const done = await Promise.all(results)
      return calls.filter((_, index) => done[index] !== false).map(({ next }) => next.id)
    }
    const { id } = newStored()
    assert.equal((await winners((at) => at.create(newStored({ id }), noLimit))).length, 1)
    const [, replaced, revoked] = await Promise.all([
      winners((at) => at.touch(id, now())),
      winners((at, next) => at.replace(id, next, now() + 50, null, noLimit)),
      winners((at) => at.revoke(id, now(), null)),
    ])
    const { revokedAt, replacedBy } = { ...(await store.find(id)) }
    assert.deepEqual([revoked.length, typeof revokedAt], [1, 'number'], 'one revokes')
    assert.deepEqual(replaced, [replacedBy ?? []].flat(), 'one replaces, or none')
    const found = await Promise.all(calls.map(({ next }) => other.find(next.id)))
    assert.deepEqual(found.map((each) => each?.id).filter(Boolean), replaced, 'one successor')
  },

  async 'registrations and prefixes are told apart'(_, __, open) {
    const [key, name] = [newStored(), newStored().digest]
    const store = await open(name)
    await store.create(key, noLimit)
    for (const other of [await open(`${name}.a`), await open(name, 'suite_two')]) {
      assert.deepEqual([await other.find(key.id), await other.list(key.owner)], [null, []])
      assert.equal(await other.replace(key.id, newStored(), now() + 9, null, noLimit), false)
      // The same key in both places is two keys.
      await other.create(key, noLimit)
      await other.revoke(key.id, now(), null)
    }
    await holds(store, key)
  },

  async 'of 200 keys of one owner at once, as many are made as the limit allows'(store, other) {
    const { owner } = newStored()
    await kept(store, { owner, createdAt: now() - 9, expiresAt: now() - 1 })
    const [first, revoked] = [await kept(store, { owner }), await kept(store, { owner })]
    await store.revoke(revoked.id, now(), owner)
    const results = await Promise.all(
      byTurns(store, other).map((each) => each.create(newStored({ owner }), 10)),
    )
    assert.equal(results.filter(Boolean).length, 9, 'one of the limit was valid before')
    const listed = (await store.list(owner)).filter(({ revokedAt }) => revokedAt === null)
    assert.equal(listed.length, 11, 'no other one is kept')
    assert.equal(await store.create(newStored(), 10), true, 'another owner')
    await other.revoke(first.id, now(), null)
    assert.equal(await store.create(newStored({ owner }), 10), true, 'there is a place again')
    assert.equal(await store.create(newStored({ owner }), 10), false)
  },

  async 'a key is replaced whatever the limit, and with twice as many expires at once'(store) {
    const [{ owner }, until] = [newStored(), now() + 100]
    const ids = [(await kept(store, { owner })).id, (await kept(store, { owner })).id]
    for (const end of [until, until, null]) {
      const [id, next] = [String(ids.shift()), newStored({ owner })]
      ids.push(next.id)
      assert.equal(await store.replace(id, next, until, owner, 2), true)
      requireTime((await store.find(id))?.expiresAt ?? 0, end ?? next.createdAt, 'expiresAt')
      assert.equal(await store.create(newStored({ owner }), 2), false, 'both are valid')
    }
  },

  async 'of the keys of an owner that have ended, 200 are kept'(store, other) {
    const [{ owner }, at] = [newStored(), now()]
    const live = await kept(store, { owner, createdAt: at - 1e6 })
    const old = Array.from({ length: maxEnded + 5 }, (_, index) =>
      newStored({ owner, createdAt: at - 1e5, expiresAt: at - 5000 + index }),
    )
    await Promise.all(old.map((key) => store.create(key, noLimit)))
    const last = await kept(other, { owner, createdAt: at })
    const left = new Set([...old.slice(5), live, last].map(({ id }) => id))
    const listed = (await store.list(owner)).map(({ id }) => id)
    assert.deepEqual(new Set(listed), left, 'the oldest are gone')
    assert.equal(await store.find(String(old[0]?.id)), null)
  },
}
