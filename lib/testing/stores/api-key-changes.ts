import assert from 'node:assert/strict'
import { newKey } from '../../api-keys/key.js'
import type { Cases } from './bench.js'
import type { ApiKeyStore, StoredApiKey } from '../../../types/api-keys.js'

export const now = (): number => Date.now() / 1000
let count = 0

export function newStored(given: Partial<StoredApiKey> = {}): StoredApiKey {
  count += 1
  const owner = `owner ${count}`
  const { stored } = newKey('x', { owner, ownerType: 'string', name: 'job', scopes: ['a'] }, null)
  return { ...stored, ...given }
}

const millis = (time: unknown): unknown =>
  typeof time === 'number' ? Math.round(time * 1000) : time

/** Checks what is stored, with times to the millisecond. */
export async function holds(store: ApiKeyStore, key: StoredApiKey): Promise<void> {
  const found = await store.find(key.id)
  assert.ok(found !== null, 'it is found')
  for (const member of Object.keys(key) as (keyof StoredApiKey)[]) {
    assert.deepEqual(millis(found[member]), millis(key[member]), member)
  }
}

export const idsOf = async (store: ApiKeyStore, owner: string): Promise<string[]> =>
  (await store.list(owner)).map(({ id }) => id)

export const changeCases: Cases<ApiKeyStore> = {
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
      const results = (await Promise.allSettled(calls)) as { value?: unknown }[]
      return nexts.filter(
        (_, index) => ![undefined, false].includes(results[index]?.value as false),
      )
    }
    assert.equal(
      (await winners((store) => store.create(newStored({ id })).then(() => true))).length,
      1,
    )
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
}
