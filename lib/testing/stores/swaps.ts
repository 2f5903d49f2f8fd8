import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Swap } from '../../../types/sessions.js'
import { begun, digest, newSession, requireGone, requireTime, swapOf, type Cases } from './suite.js'

export const swapCases: Cases = {
  async 'the current token is replaced'(store) {
    const { session, now: created } = await begun(store)
    let presented = session.current
    for (let count = 0; count < 3; count++) {
      const next = digest()
      const result = await store.swap(swapOf(session, { presented, next }))
      assert.ok(result.outcome === 'swapped', `the current token is taken: ${result.outcome}`)
      assert.equal(result.session.sid, session.sid)
      requireTime(result.session.lastUsed, result.now, 'lastUsed')
      requireTime(result.session.created, created, 'created')
      assert.equal('sealed' in result, false, 'the sealed successor is only for repetitions')
      presented = next
    }
    assert.equal((await store.find(session.handle)).session?.sid, session.sid, 'the handle stays')
  },

  async 'the direct predecessor gets the same successor within the grace'(store, other) {
    const { session } = await begun(store)
    const first = swapOf(session)
    const result = await store.swap(first)
    assert.ok(result.outcome === 'swapped')
    for (const each of [other, store, other]) {
      const again = await each.swap(swapOf(session))
      assert.ok(again.outcome === 'repeated', `within the grace: ${again.outcome}`)
      assert.equal(again.sealed, first.sealed, 'the same successor')
      requireTime(again.session.lastUsed, result.now, 'lastUsed')
    }
    const third = swapOf(session, { presented: first.next })
    assert.equal((await store.swap(third)).outcome, 'swapped', 'the successor is the current one')
    const last = await other.swap(swapOf(session, { presented: first.next }))
    assert.ok(last.outcome === 'repeated')
    assert.equal(last.sealed, third.sealed, 'the direct predecessor is another one now')
    assert.equal((await store.swap(swapOf(session))).outcome, 'reused', 'an older one is theft')
    await requireGone(other, session)
  },

  async 'the predecessor after the grace revokes the session'(store, other) {
    const [session, patient] = [newSession(), newSession()]
    await Promise.all([store.create(session), store.create(patient)])
    const [first, long] = [swapOf(session, { grace: 0.6 }), swapOf(patient, { grace: 0.6 })]
    await Promise.all([store.swap(first), store.swap(long)])
    assert.equal((await store.swap(swapOf(session, { grace: 20 }))).outcome, 'repeated')
    await sleep(700)
    const current = await store.swap(swapOf(patient, { presented: long.next }))
    assert.equal(current.outcome, 'swapped', 'the current token knows no grace')
    const late = await store.swap(swapOf(session, { grace: 20 }))
    assert.ok(late.outcome === 'reused', 'from the first use on, not from the last: theft')
    assert.equal(late.session.sid, session.sid, 'the result names the session')
    await requireGone(other, session)
    const next = swapOf(session, { presented: first.next })
    assert.equal((await store.swap(next)).outcome, 'unknown', 'its successor is revoked with it')
  },

  async 'any other token of a session revokes it, and a token of none does nothing'(store, other) {
    const [session, strict] = [newSession(), newSession()]
    await Promise.all([store.create(session), store.create(strict)])
    assert.equal((await store.swap(swapOf(newSession()))).outcome, 'unknown', 'no such session')
    assert.equal((await store.swap(swapOf(session, { presented: '' }))).outcome, 'reused')
    await requireGone(other, session)
    assert.equal((await store.swap(swapOf(strict, { grace: 0 }))).outcome, 'swapped')
    assert.equal((await store.swap(swapOf(strict, { grace: 0 }))).outcome, 'reused', 'no grace')
    await requireGone(other, strict)
  },

  async 'a swap after its deadline changes nothing'(store) {
    const { session, now } = await begun(store)
    const result = await store.swap(swapOf(session, { deadline: now - 0.001 }))
    assert.equal(result.outcome, 'late')
    const forgery = swapOf(session, { presented: digest(), deadline: now - 0.001 })
    assert.equal((await store.swap(forgery)).outcome, 'late', 'it revokes nothing either')
    const stored = await store.find(session.handle)
    requireTime(stored.session?.lastUsed, now, 'lastUsed')
    const inTime = await store.swap(swapOf(session, { deadline: stored.now + 30 }))
    assert.equal(inTime.outcome, 'swapped', 'the token is still the current one')
  },

  async 'of 200 uses of one token at once, one swaps and the others repeat'(store, other) {
    const { session } = await begun(store)
    let presented = session.current
    // The next rounds use the successor: by then all connections are open, and no swap waits for one.
    for (let round = 0; round < 3; round++) {
      const swaps = Array.from({ length: 200 }, () => swapOf(session, { presented }))
      const results = await Promise.all(
        swaps.map((swap, index) => (index % 2 ? other : store).swap(swap)),
      )
      const winners = swaps.filter((_, index) => results[index]?.outcome === 'swapped')
      assert.equal(winners.length, 1, 'one of them swaps')
      const [winner] = winners as [Swap]
      const sealed = results.filter((result) => result.outcome === 'repeated')
      assert.equal(sealed.length, 199, 'the others repeat')
      assert.deepEqual(new Set(sealed.map((result) => result.sealed)), new Set([winner.sealed]))
      presented = winner.next
    }
    const last = await other.swap(swapOf(session, { presented }))
    assert.equal(last.outcome, 'swapped', 'what they got is the current one')
  },

  async 'a session that is revoked while it is refreshed is revoked'(store, other) {
    const rounds = Array.from({ length: 40 }, async (_, round) => {
      const { session } = await begun(store)
      const which = round % 2 ? { sid: session.sid } : { sub: session.sub }
      const early = round % 4 < 2 ? store.swap(swapOf(session)) : null
      const revoking = other.revoke(which, 60)
      const result = await (early ?? store.swap(swapOf(session)))
      const revoked = await revoking
      assert.match(result.outcome, /^(?:swapped|unknown)$/)
      assert.equal(revoked.length, 1, 'the revocation counts, whichever was first')
      await requireGone(other, session)
    })
    await Promise.all(rounds)
  },
}
