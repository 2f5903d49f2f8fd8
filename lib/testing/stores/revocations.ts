import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewSession, Revocation, SessionStore, Swapped } from '../../../types/sessions.js'
import {
  begun,
  create,
  byTurns,
  digest,
  newSession,
  requireGone,
  requireTime,
  sidsOf,
  swapOf,
  until,
  watchStore,
  type Cases,
  type Told,
} from './suite.js'

const knows = (told: Told, sid: string): Promise<void> =>
  until(() => told.revocations.has(sid), 'the revocation is reported')

/** Milliseconds until a revocation is reported in both processes. */
async function timeToTell(store: SessionStore, processes: readonly Told[]): Promise<number> {
  const { session } = await begun(store)
  const start = performance.now()
  const [revoked] = (await store.revoke({ sid: session.sid }, 60)) as [Revocation]
  await Promise.all(processes.map((each) => knows(each, session.sid)))
  const passed = performance.now() - start
  for (const { revocations } of processes) {
    requireTime(revocations.get(session.sid)?.until, revoked.until, 'until')
  }
  return passed
}

export const revocationCases: Cases = {
  async 'a session is revoked by its sid'(store, other) {
    const sub = `user ${digest()}`
    const { session, now } = await begun(store, { sub })
    const { session: stays } = await begun(store, { sub })
    const [end, ...more] = await other.revoke({ sid: session.sid }, 60)
    assert.equal(more.length, 0)
    assert.equal(end?.sid, session.sid)
    assert.ok(end.until >= now + 60 && end.until < now + 120, 'until: now and what was asked for')
    assert.deepEqual(await store.revoke({ sid: session.sid }, 60), [], 'once')
    assert.deepEqual(await store.revoke({ sid: digest() }, 60), [], 'no such session')
    assert.equal((await store.find(session.handle)).session, null)
    assert.equal((await store.swap(swapOf(session))).outcome, 'unknown')
    assert.deepEqual(await sidsOf(store, sub), [stays.sid], 'the other one goes on')
  },

  async 'all sessions of a user are revoked, and those of others are not'(store, other) {
    const sub = `user ${digest()}`
    const [first, alien] = [newSession({ sub }), newSession()]
    const sessions = Array.from({ length: 229 }, () => newSession({ sub }))
    await Promise.all([first, ...sessions, alien].map((session) => store.create(session)))
    await store.revoke({ sid: first.sid }, 60)
    const revoked = (await store.revoke({ sub }, 60)).map(({ sid }) => sid)
    const sids = sessions.map(({ sid }) => sid)
    assert.deepEqual(revoked.toSorted(), sids.toSorted(), 'all not revoked before, each once')
    assert.deepEqual(await store.list(sub), [])
    assert.deepEqual(await store.revoke({ sub }, 60), [])
    for (const session of [first, ...sessions.slice(0, 2)]) await requireGone(other, session)
    assert.equal((await store.list(alien.sub)).length, 1, 'those of others stay')
  },

  async 'a revocation is kept for the largest time that any call has given'(store, other) {
    const told = await watchStore(other)
    const swap = (session: NewSession, given: object): Promise<Swapped> =>
      store.swap(swapOf(session, { revocationTtl: 10, ...given }))
    const uses: [seconds: number, use: (session: NewSession) => Promise<unknown>][] = [
      [400, async () => undefined],
      [700, ({ sid }) => store.revoke({ sid }, 700)],
      [400, (session) => swap(session, {})],
      [800, (session) => swap(session, { revocationTtl: 800 })],
      // A repetition gives an access token too.
      [900, (session) => swap(session, {}).then(() => swap(session, { revocationTtl: 900 }))],
      [400, (session) => swap(session, { presented: digest() })],
    ]
    for (const [index, [seconds, use]] of uses.entries()) {
      const { session, now } = await begun(store, { revocationTtl: 400 })
      await use(session)
      await other.revoke({ sub: session.sub }, 60)
      await knows(told, session.sid)
      const kept = (told.revocations.get(session.sid)?.until ?? 0) - now
      assert.ok(kept >= seconds && kept < seconds + 50, `use ${index}: ${kept} s`)
    }
  },

  async 'the oldest sessions of a user are revoked beyond maxPerUser'(store, other) {
    const told = await watchStore(other)
    const sub = `user ${digest()}`
    const expired = newSession({ sub, idle: 0.01 })
    const sessions = Array.from({ length: 4 }, () => newSession({ sub, maxPerUser: 4 }))
    for (const session of [expired, ...sessions]) {
      assert.deepEqual(
        (await create(store, session)).revoked,
        [],
        'what has expired does not count',
      )
      await sleep(20)
    }
    await other.swap(swapOf(sessions[0] as NewSession))
    const last = newSession({ sub, maxPerUser: 2 })
    const { now, revoked } = await create(store, last)
    const [first, second, third, stays] = sessions.map(({ sid }) => sid)
    const oldest = new Set([first, second, third])
    assert.deepEqual(new Set(revoked.map(({ sid }) => sid)), oldest, 'also where they were used')
    for (const { sid, until: end } of revoked) {
      assert.ok(end >= now + 50 && end < now + 120, 'until: now and their revocationTtl')
      await knows(told, sid)
    }
    assert.deepEqual(await sidsOf(other, sub), [last.sid, stays])
  },

  async 'maxPerUser holds where several processes create sessions at once'(store, other) {
    const sub = `user ${digest()}`
    const session = () => newSession({ sub, maxPerUser: 5 })
    const created = byTurns(store, other, 60).map((each) => create(each, session()))
    const revoked = (await Promise.all(created)).flatMap((each) => each.revoked)
    assert.equal(new Set(revoked.map(({ sid }) => sid)).size, 55)
    assert.equal(revoked.length, 55, 'each once')
    assert.equal((await store.list(sub)).length, 5)
  },

  async 'revocations are reported to every process within a second'(store, other) {
    const [here, there] = [await watchStore(store), await watchStore(other)]
    // More than once, because a machine may be slow for a moment.
    const times: number[] = []
    while (times.length < 3 && !times.some((time) => time < 1000)) {
      times.push(await timeToTell(store, [here, there]))
    }
    assert.ok(Math.min(...times) < 1000, `within a second: ${times.join(', ')} ms`)
    const sub = `user ${digest()}`
    const sessions = [newSession({ sub }), newSession({ sub }), newSession()]
    for (const session of sessions) await create(store, session)
    await store.revoke({ sub }, 60)
    await store.swap(swapOf(sessions[2] as NewSession, { presented: digest() }))
    await Promise.all(sessions.map(({ sid }) => knows(there, sid)))
    assert.deepEqual([here.lost, there.lost], [[], []], 'the store was there all the time')
    assert.deepEqual([here.caughtUp, there.caughtUp], [1, 1])
  },

  async 'what was revoked before is reported to a new watcher'(store, other) {
    const { session } = await begun(store)
    await store.revoke({ sid: session.sid }, 60)
    const later = await watchStore(other)
    assert.ok(later.revocations.has(session.sid), 'it is reported before `caughtUp` is called')
  },

  async 'a store that was closed tells nothing'(store, other) {
    const [here, there] = [await watchStore(store), await watchStore(other)]
    await store.close()
    await store.close()
    const { session } = await begun(other)
    await other.revoke({ sid: session.sid }, 60)
    await knows(there, session.sid)
    assert.equal(here.revocations.has(session.sid), false, 'its watcher gets nothing more')
  },

  async 'a revocation of all sessions of a user is told to the next ones'(store, other) {
    const [first, alien] = [newSession(), newSession()]
    const { sub } = first
    const { now, userRevocation } = await create(store, first)
    assert.equal(userRevocation, null)
    await store.revoke({ sid: first.sid }, 60, 'process one')
    const second = await create(store, newSession({ sub }))
    assert.equal(second.userRevocation, null, 'that of one session is not told')
    for (const by of ['process one', 'process two']) {
      await other.revoke({ sub }, 60, by)
      const later = await create(store, newSession({ sub }))
      assert.equal(later.userRevocation?.by, by, 'the last one')
      const { at } = later.userRevocation
      assert.ok(at >= now && at <= later.now + 1, `at: ${at} is between ${now} and ${later.now}`)
    }
    assert.equal((await create(store, alien)).userRevocation, null, 'another user')
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
      const created = create(store, session)
      await (early ?? revoke())
      const isTold = (await created).userRevocation !== null
      const isThere = (await store.find(session.handle)).session !== null
      assert.ok(isTold || !isThere, 'the plugin revokes a session of which it is told')
    })
    await Promise.all(rounds)
  },
}
