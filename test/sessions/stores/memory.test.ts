import t from 'tap'
import { memorySessions, type NewSession } from '../../../lib/sessions/index.js'
import { sessionStoreSuite } from '../../../lib/testing/index.js'
import { newSession, swapOf, watchStore } from '../../../lib/testing/stores/suite.js'

t.test('memory drops expired sessions, revocations and successors after their grace', async (t) => {
  let now = 1000
  const store = memorySessions({ now: () => now }).open('x')
  const begin = async (sid: string, lifetime: number): Promise<NewSession> => {
    const session = newSession({ sid, sub: 'alice', lifetime, idle: lifetime, revocationTtl: 10 })
    await store.create(session)
    return session
  }
  const sids = async (): Promise<string[]> => (await store.list('alice')).map(({ sid }) => sid)
  await begin('short', 10)
  const long = await begin('long', 2e9)
  const outcome = async (): Promise<string> =>
    (await store.swap(swapOf(long, { grace: 1e9, idle: 2e9, deadline: 1e12 }))).outcome
  t.strictSame([await outcome(), await outcome()], ['swapped', 'repeated'])
  t.strictSame(await sids(), ['long', 'short'])
  await store.revoke({ sid: 'short' }, 10)
  await begin('other', 10)
  now += 100
  await begin('last', 10)
  const { revocations } = await watchStore(store)
  t.equal(revocations.size, 0, 'the revoked session has long expired')
  t.strictSame(await sids(), ['last', 'long'])
  now += 1e9
  await begin('new', 10)
  t.equal(await outcome(), 'reused')
})

t.test('memorySessions() passes sessionStoreSuite()', async (t) => {
  const cases = sessionStoreSuite((prefix) => memorySessions({ prefix }))
  await Promise.all(cases.map(({ name, run }) => t.resolves(run(), name)))
})
