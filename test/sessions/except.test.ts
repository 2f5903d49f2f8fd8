// `revoke({ sub, except })`: all sessions of a user but one.
import t from 'tap'
import { authn } from '../../lib/index.js'
import { bearer, passwords, standardOptions } from '../helpers/app.js'
import { claimsOf, clientOf, sessionApp } from '../helpers/sessions.js'

t.test('all sessions of a user but one are revoked, in all registrations', async (t) => {
  const options = standardOptions()
  const app = await sessionApp(t, options, (scope) =>
    scope.register(
      async (inner) => {
        await inner.register(authn, { ...options, sessions: { name: 'inner' } })
        inner.get('/me', { config: { auth: true } }, () => 'in')
      },
      { prefix: '/inner' },
    ),
  )
  const { login, me, refresh, post } = clientOf(app)
  const [own, other] = [await login(), await login()]
  const inner = JSON.parse(
    (await post('/inner/login', { username: 'alice', password: passwords.alice }, {})).body,
  ) as { token: string }
  const bob = JSON.parse(
    (await post('/login', { username: 'bob', password: passwords.bob }, {})).body,
  ) as { token: string }
  const sid = String(claimsOf(own.token).sid)
  t.equal(await app.authn.sessions.revoke({ sub: 'alice', except: sid }), 2)
  const tokens = [own, other, bob].map(({ token }) => me(token))
  t.strictSame(await Promise.all(tokens), [200, 401, 200])
  const headers = bearer(inner.token)
  t.equal((await app.inject({ url: '/inner/me', headers })).statusCode, 401)
  t.equal((await refresh(own.refreshToken)).statusCode, 200)
  t.match(await app.authn.sessions.list('alice'), [{ sid }])
  t.equal(await app.authn.sessions.revoke({ sub: 'alice', except: 'of nobody' }), 1)
  t.equal(await me(own.token), 401)
})

t.test('it stands beside a user, and is a name', async (t) => {
  const { authn: api } = await sessionApp(t)
  const { sid } = { sid: 'x' }
  for (const wrong of [
    { sid, except: sid },
    { except: sid },
    { sub: 'a', except: 7n },
    { sub: 'a', except: null },
  ])
    await t.rejects(api.sessions.revoke(wrong as never), { code: 'ERR_AUTH_CLAIMS' })
})
