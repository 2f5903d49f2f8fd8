import assert from 'node:assert/strict'
import type { NewSession, Revocation, SessionStore } from '../../../types/sessions.js'
import { digest, newSession, swapOf, until, type Cases, type Told } from './bench.js'
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
    assert.deepEqual(
      (await store.list(sub)).map(({ sid }) => sid),
      [stays.sid],
      'the other one goes on',
    )
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
