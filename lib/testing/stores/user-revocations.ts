import assert from 'node:assert/strict'
import { newSession, sidsOf, type Cases } from './bench.js'

export const userRevocationCases: Cases = {
  async 'a revocation of all sessions of a user is told to the next ones'(store, other) {
    const [first, alien] = [newSession(), newSession()]
    const { sub } = first
    const { now, userRevocation } = await store.create(first)
    assert.equal(userRevocation, null)
    await store.revoke({ sid: first.sid }, 60, 'process one')
    const second = await store.create(newSession({ sub }))
    assert.equal(second.userRevocation, null, 'that of one session is not told')
    for (const by of ['process one', 'process two']) {
      await other.revoke({ sub }, 60, by)
      const later = await store.create(newSession({ sub }))
      assert.equal(later.userRevocation?.by, by, 'the last one')
      const { at } = later.userRevocation
      assert.ok(at >= now && at <= later.now + 1, `at: ${at} is between ${now} and ${later.now}`)
    }
    assert.equal((await store.create(alien)).userRevocation, null, 'another user')
    assert.deepEqual(await sidsOf(store, alien.sub), [alien.sid], 'it is no session')
  },

  async 'a session that is created while all of its user are revoked is revoked, or told'(
    store,
    other,
  ) {
    const rounds = Array.from({ length: 40 }, async (_, round) => {
      const session = newSession()
      const revoke = () => other.revoke({ sub: session.sub }, 60, 'other')
      const early = round % 2 ? revoke() : null
      const created = store.create(session)
      await (early ?? revoke())
      const isTold = (await created).userRevocation !== null
      const isThere = (await store.find(session.handle)).session !== null
      assert.ok(isTold || !isThere, 'the plugin revokes a session of which it is told')
    })
    await Promise.all(rounds)
  },
}
