import t from 'tap'
import { clientOf, heldStore, pairOf, sessionApp, storeWith } from '../helpers/sessions.js'

t.test('a store gets digests of refresh tokens, and nothing that refreshes', async (t) => {
  const given: string[] = []
  const note = <T extends unknown[], R>(call: (...args: T) => R) => {
    return (...args: T): R => {
      given.push(JSON.stringify(args))
      return call(...args)
    }
  }
  const { factory } = heldStore()
  const store = storeWith(
    ({ create, find, swap, revoke }) => ({
      create: note(create),
      find: note(find),
      swap: note(swap),
      revoke: note(revoke),
    }),
    factory,
  )
  const app = await sessionApp(t, { sessions: { store } })
  const { login, refresh, post } = clientOf(app)
  const first = await login()
  const second = pairOf(await refresh(first.refreshToken))
  t.equal((await post('/logout', { refreshToken: second.refreshToken })).statusCode, 204)
  t.ok(given.length >= 4)
  for (const { refreshToken, token } of [first, second])
    for (const part of [refreshToken.slice(0, 22), refreshToken.slice(22, 44), token.slice(-20)])
      t.notMatch(given.join('\n'), part)
})
