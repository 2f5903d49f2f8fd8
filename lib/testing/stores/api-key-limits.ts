import assert from 'node:assert/strict'
import { maxEnded, newKey, noLimit } from '../../api-keys/key.js'
import { byTurns, requireTime, type Cases } from './bench.js'
import type { ApiKeyStore, StoredApiKey } from '../../../types/api-keys.js'

export const now = (): number => Date.now() / 1000

export function newStored(given: Partial<StoredApiKey> = {}): StoredApiKey {
  const { stored } = newKey('x', { owner: 'x', name: 'job', scopes: ['a'], expiresAt: null })
  return { ...stored, owner: `owner ${stored.id}`, ...given }
}

/** A key that was just put into a store. */
export async function kept(
  store: ApiKeyStore,
  given?: Partial<StoredApiKey>,
): Promise<StoredApiKey> {
  const key = newStored(given)
  await store.create(key, noLimit)
  return key
}

export const limitCases: Cases<ApiKeyStore> = {
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
