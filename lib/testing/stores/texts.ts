import assert from 'node:assert/strict'
import { digest, newSession, swapOf, type Cases } from './bench.js'

/** Texts that are allowed, and that databases and protocols have a meaning of their own for. */
const odd = [
  '',
  ' ',
  '0',
  'null',
  `'; DROP TABLE "x"; --`,
  '$1 %s {} [] \\ \\\\ \\u0000 \\n',
  'Zoë 李雷 🦊 \u202e',
  '{"sid":1}',
  'x'.repeat(1024),
  '🦊'.repeat(512),
]

export const textCases: Cases = {
  async 'registrations and prefixes are told apart'(bench) {
    const names = ['shop', 'Shop', 'shop.', 'shop-admin', 'shop.admin', 'a_b', 'a.b']
    const stamp = digest()
    const stores = await Promise.all([
      ...names.map((name) => bench.openAs(`${stamp}-${name}`)),
      bench.openAs(`${stamp}-shop`, 'suite_two'),
    ])
    const session = newSession()
    await stores[0]?.create(session)
    for (const [index, store] of stores.entries()) {
      if (index === 0) continue
      const where = names[index] ?? 'another prefix'
      assert.equal((await store.find(session.handle)).session, null, where)
      assert.deepEqual(await store.list(session.sub), [], where)
      assert.equal((await store.swap(swapOf(session))).outcome, 'unknown', where)
      assert.deepEqual(await store.revoke({ sid: session.sid }, 60), [], where)
      assert.deepEqual(await store.revoke({ sub: session.sub }, 60), [], where)
      // The same session in both places is two sessions.
      await store.create(session)
    }
    await stores[1]?.revoke({ sub: session.sub }, 60)
    const left = await Promise.all(
      stores.map(async (store) => (await store.list(session.sub)).length),
    )
    assert.deepEqual(
      left,
      stores.map((_, index) => (index === 1 ? 0 : 1)),
    )
  },

  async 'texts come back as they were'(bench) {
    const store = await bench.open()
    const sessions = odd.map((text) =>
      newSession({ sub: text, address: text, userAgent: text, data: text }),
    )
    await Promise.all(sessions.map((session) => store.create(session)))
    for (const session of sessions) {
      const { sid, sub, address, userAgent, data } = session
      const what = JSON.stringify(sub).slice(0, 40)
      const { session: stored } = await store.find(session.handle)
      assert.ok(stored !== null, what)
      const { created: _created, lastUsed: _lastUsed, endsAt: _endsAt, ...texts } = stored
      assert.deepEqual(texts, { sid, sub, address, userAgent, data }, what)
      const listed = (await store.list(sub)).map((each) => each.sid)
      assert.deepEqual(listed, [sid], what)
      const swapped = await store.swap(swapOf(session, { sealed: 'x'.repeat(1024) }))
      assert.ok(swapped.outcome === 'swapped', what)
      assert.equal(swapped.session.data, data, what)
    }
  },
}
