// A login with a second factor: no session before the code, and each code once.
import t from 'tap'
import { password } from '../helpers/accounts.js'
import {
  answerOf,
  bodyOf,
  claimsIn,
  codeNow,
  email,
  factorApp,
  sessionOf,
  wrongCode,
} from '../helpers/second-factor.js'

const login = '/login/second-factor'
const invalid = '403 ERR_AUTH_CODE_INVALID'
const expired = '401 ERR_AUTH_LOGIN_EXPIRED'

t.test('a login asks for the code, which works once', async (t) => {
  const { app, post, send, enable } = await factorApp(t)
  const { secret, headers: before } = await enable()
  const first = await post('/login', { email, password })
  t.equal(answerOf(first), '202 code')
  t.match(first.headers, { 'cache-control': 'no-store' })
  const { token, expiresIn } = bodyOf(first).secondFactor
  t.equal(expiresIn, 600)
  t.equal(await send(login, { token, code: codeNow(secret) }), invalid, 'that of enable')
  const code = codeNow(secret, 1)
  const done = await post(login, { token, code: `${code.slice(0, 3)} ${code.slice(3)}` })
  t.equal(answerOf(done), '200 tokens')
  t.match(claimsIn(bodyOf(done).token), { sub: 1, amr: ['pwd', 'otp', 'mfa'] })
  t.equal(await send(login, { token, code }), invalid, 'again')
  for (const headers of [before, sessionOf(done)]) {
    const { statusCode, body } = await app.inject({ url: '/mfa', headers })
    t.equal(`${statusCode} ${body}`, '200 in')
  }
  const me = await app.inject({ url: '/me', headers: before })
  t.strictSame(me.json(), { id: 1, email }, 'the text is hidden')
  t.equal(await send(login, { token, code: wrongCode(secret) }), invalid)
  t.equal(await send(login, { token: `${token}x`, code }), expired)
  t.equal(await send('/login', { email: 'bob@example.com', password }), '200 tokens')
})
