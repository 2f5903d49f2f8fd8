import assert from 'node:assert/strict'
import type { NewSession, SessionStore } from '../../../types/sessions.js'
import { digest, newSession, sleep, swapOf, type Cases, type StoreBench } from './bench.js'

const close = (one: number, other: number, what: string): void =>
  assert.ok(Math.abs(one - other) < 0.001, `${what}: ${one} is not ${other}`)

/** Checks that a session can no longer be used. */
export async function requireGone(
  bench: StoreBench,
  session: NewSession,
  where?: SessionStore,
): Promise<void> {
  const store = where ?? (await bench.open())
  assert.equal((await store.find(session.handle)).session, null, 'it is not found')
  assert.deepEqual(await store.list(session.sub), [], 'it is not listed')
  assert.equal((await store.swap(swapOf(session))).outcome, 'unknown', 'it takes no token')
  assert.deepEqual(await store.revoke({ sid: session.sid }, 60), [], 'it cannot be revoked')
}

/** Strings that can occur, and that mean something else to a database or a protocol. */
export const odd = [
  '',
  ' ',
  'null',
  `'; DROP TABLE "x"; --`,
  '$1 %s {} [] \\ \\\\ \\u0000 \\n',
  'Zoë 李雷 🦊 \u202e',
  '{"sid":1}',
  'x'.repeat(1024),
  '🦊'.repeat(512),
]

export const sessionCases: Cases = {
  async 'a session that was begun is found, as it was given'(bench) {
    const store = await bench.open()
    const session = newSession()
    const { now: created } = await store.create(session)
    const { session: stored, now } = await (await bench.open()).find(session.handle)
    assert.ok(stored !== null, 'it is found, by another process too')
    const { sid, sub, address, userAgent, data } = session
    assert.deepEqual(
      { ...stored, created: 0, lastUsed: 0, endsAt: 0 },
      { sid, sub, address, userAgent, data, created: 0, lastUsed: 0, endsAt: 0 },
      'the record is what was given, and nothing of digests',
    )
    close(stored.created, created, 'created')
    close(stored.lastUsed, created, 'lastUsed')
    close(stored.endsAt, created + session.lifetime, 'endsAt')
    assert.ok(now >= created, 'the clock goes forward')
    assert.ok(Math.abs(now - Date.now() / 1000) < 3600, 'times are seconds since 1970')
    const none = await store.find(digest())
    assert.ok(none.session === null && none.now >= now, 'the time is told where there is none too')
  },

  async 'a session expires when it was not used for its idle time'(bench) {
    const store = await bench.open()
    const [left, longer, shorter] = [0.6, 0.6, 50].map((seconds) =>
      newSession({ idle: seconds }),
    ) as [NewSession, NewSession, NewSession]
    for (const session of [left, longer, shorter]) await store.create(session)
    assert.equal((await store.swap(swapOf(longer, { idle: 50 }))).outcome, 'swapped')
    assert.equal((await store.swap(swapOf(shorter, { idle: 0.6 }))).outcome, 'swapped')
    await sleep(0.7)
    assert.deepEqual(
      await store.revoke({ sub: left.sub }, 60),
      [],
      'an expired session is not revoked',
    )
    await requireGone(bench, left)
    await requireGone(bench, shorter)
    assert.notEqual(
      (await store.find(longer.handle)).session,
      null,
      'a use starts its idle time again',
    )
  },

  async 'a session expires at the end of its lifetime, however often it is used'(bench) {
    const store = await bench.open()
    const session = newSession({ lifetime: 0.6 })
    const { now } = await store.create(session)
    const swapped = await store.swap(swapOf(session, { idle: 50 }))
    assert.ok(swapped.outcome === 'swapped', 'it is in time')
    close(swapped.session.endsAt, now + 0.6, 'endsAt after a use')
    await sleep(0.7)
    await requireGone(bench, session)
  },

  async 'the sessions of a user are listed, the newest first'(bench) {
    const store = await bench.open()
    const sub = `user ${digest()}`
    const sessions = [newSession({ sub }), newSession({ sub }), newSession({ sub })]
    for (const session of [...sessions, newSession()]) {
      await store.create(session)
      // One clock tells milliseconds apart, and another one less.
      await sleep(0.005)
    }
    await store.create(newSession({ sub, lifetime: 0.001 }))
    await sleep(0.02)
    const sids = sessions.map(({ sid }) => sid)
    const found = (await store.list(sub)).map(({ sid }) => sid)
    assert.deepEqual(found, sids.toReversed(), 'those that have not expired, the newest first')
    const [first] = sessions as [NewSession]
    const swapped = await store.swap(swapOf(first))
    assert.ok(swapped.outcome === 'swapped')
    const listed = (await store.list(sub)).find(({ sid }) => sid === first.sid)
    close(listed?.lastUsed ?? 0, swapped.now, 'lastUsed')
  },

  async 'registrations and prefixes are told apart'(bench) {
    const names = ['Shop', 'shop.a', 'shop_a', 'shop-a']
    const stamp = digest()
    const first = await bench.openAs(`${stamp}.shop`)
    const others = await Promise.all([
      ...names.map((name) => bench.openAs(`${stamp}.${name}`)),
      bench.openAs(`${stamp}.shop`, 'suite_two'),
    ])
    const session = newSession()
    await first.create(session)
    for (const store of others) {
      await requireGone(bench, session, store)
      assert.deepEqual(await store.revoke({ sub: session.sub }, 60), [])
      // The same session in both places is two sessions.
      await store.create(session)
    }
    await others[0]?.revoke({ sub: session.sub }, 60)
    const left = [first, ...others].map(async (store) => (await store.list(session.sub)).length)
    assert.deepEqual(await Promise.all(left), [1, 0, 1, 1, 1, 1])
  },

  async 'strings come back as they were'(bench) {
    const store = await bench.open()
    for (const text of odd) {
      const session = newSession({ sub: text, address: text, userAgent: text, data: text })
      await store.create(session)
      const { session: stored } = await store.find(session.handle)
      assert.ok(stored !== null, text)
      const { sub, address, userAgent, data } = stored
      assert.deepEqual([sub, address, userAgent, data], [text, text, text, text])
      assert.equal((await store.list(text))[0]?.sid, session.sid)
    }
  },
}
