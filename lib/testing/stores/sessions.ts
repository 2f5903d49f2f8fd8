import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  begun,
  byTurns,
  digest,
  newSession,
  odd,
  requireGone,
  requireTime,
  sidsOf,
  storeCasesOf,
  swapOf,
  type Cases,
  type MakeStore,
  type StoreCase,
} from './suite.js'
import type { NewSession } from '../../../types/sessions.js'
import { revocationCases } from './revocations.js'
import { swapCases } from './swaps.js'

/**
 * The tests that every store of sessions has to pass: the memory, Redis and PostgreSQL stores of this package, and
 * yours. They take about three seconds, and leave what they have written: give them a database of their own. They work
 * with every test runner, and one after the other as well as at once.
 * @param make - makes the factory; see {@link MakeStore}
 * @example
 * for (const { name, run } of sessionStoreSuite((prefix) => redisSessions(new Redis(url), { prefix }))) {
 *   test(name, () => run())
 * }
 */
export function sessionStoreSuite(make: MakeStore): readonly StoreCase[] {
  return storeCasesOf(make, { ...sessionCases, ...swapCases, ...revocationCases })
}

/** Seconds for which sessions live that have to expire: the next ones where a store, or this process, is too slow for the first. */
const lives = [0.6, 3, 10]
const tooLate = 'a session that has just begun can be used'

const sessionCases: Cases = {
  async 'a session that was begun is found, as it was given'(store, other) {
    const { session, now: created } = await begun(store)
    const { session: stored, now } = await other.find(session.handle)
    assert.ok(stored !== null, 'it is found, by another process too')
    const { sid, sub, address, userAgent, data } = session
    const { created: _, lastUsed: __, endsAt: ___, ...given } = stored
    assert.deepEqual(given, { sid, sub, address, userAgent, data }, 'and nothing of digests')
    requireTime(stored.created, created, 'created')
    requireTime(stored.lastUsed, created, 'lastUsed')
    requireTime(stored.endsAt, created + session.lifetime, 'endsAt')
    assert.ok(now >= created, 'the clock goes forward')
    assert.ok(Math.abs(now - Date.now() / 1000) < 3600, 'times are seconds since 1970')
    const none = await store.find(digest())
    assert.ok(none.session === null && none.now >= now, 'the time is told where there is none too')
  },

  async 'a session expires when it was not used for its idle time'(store, other) {
    for (const idle of lives) {
      const [left, longer, shorter] = [newSession({ idle }), newSession({ idle }), newSession()]
      await store.create(longer)
      const first = await store.swap(swapOf(longer, { idle: 50 }))
      await Promise.all([store.create(left), store.create(shorter)])
      const second = await store.swap(swapOf(shorter, { idle }))
      if (first.outcome !== 'swapped' || second.outcome !== 'swapped') continue
      await sleep(idle * 1000 + 100)
      const revoked = await store.revoke({ sub: left.sub }, 60)
      assert.deepEqual(revoked, [], 'an expired one is not revoked')
      await requireGone(other, left)
      await requireGone(other, shorter)
      const { session } = await store.find(longer.handle)
      assert.notEqual(session, null, 'a use starts its idle time again')
      return
    }
    assert.fail(tooLate)
  },

  async 'a session expires at the end of its lifetime, however often it is used'(store, other) {
    for (const lifetime of lives) {
      const { session, now } = await begun(store, { lifetime })
      const swapped = await store.swap(swapOf(session, { idle: 50 }))
      if (swapped.outcome !== 'swapped') continue
      requireTime(swapped.session.endsAt, now + lifetime, 'endsAt after a use')
      await sleep(lifetime * 1000 + 100)
      await requireGone(other, session)
      return
    }
    assert.fail(tooLate)
  },

  async 'the sessions of a user are listed, the newest first'(store) {
    const sub = `user ${digest()}`
    const first = newSession({ sub })
    const sessions = [first, newSession({ sub }), newSession({ sub })]
    for (const session of [...sessions, newSession()]) {
      await store.create(session)
      // The clocks of some stores are less exact than milliseconds.
      await sleep(5)
    }
    await store.create(newSession({ sub, lifetime: 0.001 }))
    await sleep(20)
    const sids = sessions.map(({ sid }) => sid).toReversed()
    assert.deepEqual(await sidsOf(store, sub), sids, 'those not expired, the newest first')
    const swapped = await store.swap(swapOf(first))
    assert.ok(swapped.outcome === 'swapped')
    requireTime((await store.list(sub)).at(-1)?.lastUsed, swapped.now, 'lastUsed')
  },

  async 'registrations and prefixes are told apart'(_, __, open) {
    const stamp = digest()
    const first = await open(`${stamp}.shop`)
    const names = ['Shop', 'shop.a', 'shop_a', 'shop-a'].map((name) => `${stamp}.${name}`)
    const opened = [...names.map((name) => open(name)), open(`${stamp}.shop`, 'suite_two')]
    const others = await Promise.all(opened)
    const session = newSession()
    await first.create(session)
    for (const store of others) {
      await requireGone(store, session)
      assert.deepEqual(await store.revoke({ sub: session.sub }, 60), [])
      // The same session in both places is two sessions.
      await store.create(session)
    }
    await others[0]?.revoke({ sub: session.sub }, 60)
    const left = [first, ...others].map(async (store) => (await store.list(session.sub)).length)
    assert.deepEqual(await Promise.all(left), [1, 0, 1, 1, 1, 1])
  },

  async 'where a login may begin one session, its sid is used once'(store, other, open, { once }) {
    if (!once) return
    const sub = `user ${digest()}`
    const again = (given: Partial<NewSession> = {}): NewSession =>
      newSession({ sub, sid: 'a', once: 30, ...given })
    const all = byTurns(store, other, 20).map(async (each) => each.create(again()))
    const begun = (await Promise.all(all)).filter((created) => created !== null)
    assert.equal(begun.length, 1, 'one of several at the same time begins a session')
    assert.deepEqual(await sidsOf(other, sub), ['a'], 'the others leave nothing')
    assert.equal((await store.revoke({ sub }, 60)).length, 1)
    assert.equal(await other.create(again()), null, 'also when it was revoked')
    const brief = { sid: 'b', lifetime: 0.3, once: 30 }
    await store.create(again(brief))
    await store.create(again({ sid: 'd', maxPerUser: 1 }))
    await store.create(again({ sid: 'e', maxPerUser: 1 }))
    await sleep(500)
    assert.equal(await other.create(again(brief)), null, 'also when it has expired')
    assert.equal(await other.create(again({ sid: 'd' })), null, 'also when there were too many')
    const elsewhere = await open(`${sub}.other`)
    assert.notEqual(await elsewhere.create(again()), null, 'other registrations have their own')
    assert.notEqual(await store.create(newSession()), null, 'other logins need no such thing')
  },

  async 'strings come back as they were'(store) {
    for (const text of odd) {
      const given = { sub: text, address: text, userAgent: text, data: text }
      const { session } = await begun(store, given)
      const { session: stored } = await store.find(session.handle)
      assert.ok(stored !== null, text)
      assert.deepEqual(stored, { ...stored, ...given })
      assert.equal((await store.list(text))[0]?.sid, session.sid)
    }
  },
}
