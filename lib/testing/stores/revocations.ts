import assert from 'node:assert/strict'
import type { NewSession, Revocation, SessionStore, Swapped } from '../../../types/sessions.js'
import { digest, newSession, sleep, swapOf, until, type Cases, type Told } from './bench.js'
import { requireGone } from './sessions.js'

const knows = (told: Told, sid: string): Promise<void> =>
  until(() => told.revocations.has(sid), 'the revocation is reported')

/** Milliseconds until a revocation is reported in both processes. */
async function timeToTell(store: SessionStore, processes: readonly Told[]): Promise<number> {
  const session = newSession()
  await store.create(session)
  const start = performance.now()
  const [revoked] = (await store.revoke({ sid: session.sid }, 60)) as [Revocation]
  await Promise.all(processes.map((each) => knows(each, session.sid)))
  const passed = performance.now() - start
  for (const { revocations } of processes) {
    const { until } = revocations.get(session.sid) as Revocation
    assert.ok(Math.abs(until - revoked.until) < 0.001, 'with the time until which it matters')
  }
  return passed
}

export const revocationCases: Cases = {
  async 'a session is revoked by its sid'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const sub = `user ${digest()}`
    const [session, stays] = [newSession({ sub }), newSession({ sub })]
    const { now } = await store.create(session)
    await store.create(stays)
    const [end, ...more] = await other.revoke({ sid: session.sid }, 60)
    assert.equal(more.length, 0)
    assert.equal(end?.sid, session.sid)
    assert.ok(end.until >= now + 60 && end.until < now + 120, 'until: now and what was asked for')
    assert.deepEqual(await store.revoke({ sid: session.sid }, 60), [], 'once')
    assert.deepEqual(await store.revoke({ sid: digest() }, 60), [], 'no such session')
    assert.equal((await store.find(session.handle)).session, null)
    assert.equal((await store.swap(swapOf(session))).outcome, 'unknown')
    const left = (await store.list(sub)).map(({ sid }) => sid)
    assert.deepEqual(left, [stays.sid], 'the other one goes on')
  },

  async 'all sessions of a user are revoked, and those of others are not'(bench) {
    const store = await bench.open()
    const sub = `user ${digest()}`
    const sessions = Array.from({ length: 230 }, () => newSession({ sub }))
    const other = newSession()
    await Promise.all([...sessions, other].map((session) => store.create(session)))
    await store.revoke({ sid: sessions[0]?.sid ?? '' }, 60)
    const revoked = await store.revoke({ sub }, 60)
    assert.deepEqual(
      new Set(revoked.map(({ sid }) => sid)),
      new Set(sessions.slice(1).map(({ sid }) => sid)),
      'all that were not revoked before, each once',
    )
    assert.equal(revoked.length, 229)
    assert.deepEqual(await store.list(sub), [])
    assert.deepEqual(await store.revoke({ sub }, 60), [])
    for (const session of sessions.slice(0, 3)) await requireGone(bench, session)
    assert.equal((await store.list(other.sub)).length, 1, 'those of others stay')
  },

  async 'a revocation is kept for the largest time that any call has given'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const told = await bench.watch(other)
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
      const session = newSession({ revocationTtl: 400 })
      const { now } = await store.create(session)
      await use(session)
      await other.revoke({ sub: session.sub }, 60)
      await knows(told, session.sid)
      const kept = (told.revocations.get(session.sid)?.until ?? 0) - now
      assert.ok(kept >= seconds && kept < seconds + 50, `use ${index}: ${kept} s`)
    }
  },

  async 'the oldest sessions of a user are revoked beyond maxPerUser'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const told = await bench.watch(other)
    const sub = `user ${digest()}`
    const expired = newSession({ sub, idle: 0.01 })
    const sessions = Array.from({ length: 4 }, () => newSession({ sub, maxPerUser: 4 }))
    for (const session of [expired, ...sessions]) {
      assert.deepEqual((await store.create(session)).revoked, [], 'what has expired does not count')
      await sleep(0.02)
    }
    await other.swap(swapOf(sessions[0] as NewSession))
    const last = newSession({ sub, maxPerUser: 2 })
    const { now, revoked } = await store.create(last)
    const [first, second, third, stays] = sessions.map(({ sid }) => sid)
    const oldest = new Set([first, second, third])
    assert.deepEqual(new Set(revoked.map(({ sid }) => sid)), oldest, 'also where they were used')
    for (const { sid, until: end } of revoked) {
      assert.ok(end >= now + 50 && end < now + 120, 'until: now and their revocationTtl')
      await knows(told, sid)
    }
    const left = (await other.list(sub)).map(({ sid }) => sid)
    assert.deepEqual(left, [last.sid, stays])
  },

  async 'maxPerUser holds where several processes create sessions at once'(bench) {
    const stores = [await bench.open(), await bench.open()] as const
    const sub = `user ${digest()}`
    const sessions = Array.from({ length: 60 }, () => newSession({ sub, maxPerUser: 5 }))
    const created = sessions.map((session, index) => stores[index % 2 ? 1 : 0].create(session))
    const revoked = (await Promise.all(created)).flatMap((each) => each.revoked)
    assert.equal(new Set(revoked.map(({ sid }) => sid)).size, 55)
    assert.equal(revoked.length, 55, 'each once')
    assert.equal((await stores[0].list(sub)).length, 5)
  },

  async 'revocations are reported to every process within a second'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const [here, there] = [await bench.watch(store), await bench.watch(other)]
    // More than once, because a machine may be slow for a moment.
    const times: number[] = []
    while (times.length < 3 && !times.some((time) => time < 1000)) {
      times.push(await timeToTell(store, [here, there]))
    }
    assert.ok(Math.min(...times) < 1000, `within a second: ${times.join(', ')} ms`)
    const sub = `user ${digest()}`
    const sessions = [newSession({ sub }), newSession({ sub }), newSession()]
    for (const session of sessions) await store.create(session)
    await store.revoke({ sub }, 60)
    await store.swap(swapOf(sessions[2] as NewSession, { presented: digest() }))
    await Promise.all(sessions.map(({ sid }) => knows(there, sid)))
    assert.deepEqual([here.lost, there.lost], [[], []], 'the store was there all the time')
    assert.deepEqual([here.caughtUp, there.caughtUp], [1, 1])
  },

  async 'what was revoked before is reported to a new watcher'(bench) {
    const store = await bench.open()
    const session = newSession()
    await store.create(session)
    await store.revoke({ sid: session.sid }, 60)
    const later = await bench.watch(await bench.open())
    assert.ok(later.revocations.has(session.sid), 'it is reported before `caughtUp` is called')
  },

  async 'a store that was closed tells nothing'(bench) {
    const [store, other] = [await bench.open(), await bench.open()]
    const [here, there] = [await bench.watch(store), await bench.watch(other)]
    await store.close()
    await store.close()
    const session = newSession()
    await other.create(session)
    await other.revoke({ sid: session.sid }, 60)
    await knows(there, session.sid)
    assert.equal(here.revocations.has(session.sid), false, 'its watcher gets nothing more')
  },
}
