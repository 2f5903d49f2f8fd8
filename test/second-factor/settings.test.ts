// The settings of a user: setup, recovery codes, and who may change them.
import t from 'tap'
import { authn } from '../../lib/index.js'
import { hash, password } from '../helpers/accounts.js'
import { cost, secret } from '../helpers/app.js'
import {
  answerOf,
  bodyOf,
  claimsIn,
  codeNow,
  email,
  factorApp,
  factorsOver,
  key,
  otherKey,
  sessionOf,
  stepClock,
  wrongCode,
  type FactorApp,
  type FactorUser,
} from '../helpers/second-factor.js'

const invalid = '403 ERR_AUTH_CODE_INVALID'
const expired = '401 ERR_AUTH_LOGIN_EXPIRED'
const stepUp = '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION'
const forbidden = '403 ERR_AUTH_FORBIDDEN'
const bob = 'bob@example.com'

type Headers = Record<string, string>
interface Setup {
  readonly secret: string
  readonly uri: string
  readonly token: string
}

async function setUp({ post }: FactorApp, headers: Headers): Promise<Setup> {
  const response = await post('/second-factor/setup', undefined, headers)
  return JSON.parse(response.body) as Setup
}

const idOf = (user: object): number => (user as { id: number }).id

t.test('setup stores nothing before a code has shown that the app has the secret', async (t) => {
  stepClock(t)
  const setting = await factorApp(t, { issuer: 'My Shop & Co' })
  const { app, post, send, logIn, stored, events } = setting
  const headers = await logIn()
  const other = await logIn()
  const { secret, uri, token } = await setUp(setting, headers)
  t.match(secret, /^[A-Z2-7]{32}$/)
  const label = 'My%20Shop%20%26%20Co'
  t.equal(uri, `otpauth://totp/${label}:alice%40example.com?secret=${secret}&issuer=${label}`)
  t.notMatch(JSON.stringify(claimsIn(token)), new RegExp(secret))
  t.equal(stored().secondFactor, null)
  const enable = '/second-factor/enable'
  t.equal(await send(enable, { token, code: wrongCode(secret) }, headers), invalid)
  t.equal(await send(enable, { token, code: 'aaaa-aaaa-aaaa-aaaa' }, headers), invalid)
  const all = [0, 1].map((steps) => post(enable, { token, code: codeNow(secret, steps) }, headers))
  const [won, lost] = (await Promise.all(all)).sort((a, b) => a.statusCode - b.statusCode)
  if (won === undefined || lost === undefined) throw new Error('two responses')
  t.strictSame([answerOf(won), lost.statusCode], ['200 tokens', 401], 'one of two at once')
  t.equal(won.headers['cache-control'], 'no-store')
  t.match(claimsIn(bodyOf(won).token), { sub: 1, amr: ['pwd', 'otp', 'mfa'] })
  t.equal(bodyOf(won).recoveryCodes.length, 10)
  for (const old of [headers, other]) {
    t.equal((await app.inject({ url: '/me', headers: old })).statusCode, 401, 'began with less')
  }
  t.notMatch(stored().secondFactor, new RegExp(`${secret}|${bodyOf(won).recoveryCodes.join('|')}`))
  t.match(events, [{ action: 'enabled', sub: '1' }])
})

t.test('the second factor that is on stays until another one is enabled', async (t) => {
  const clock = stepClock(t)
  const setting = await factorApp(t)
  const { send, post, half, stored } = setting
  const { headers, secret } = await setting.enable()
  const next = await setUp(setting, headers)
  clock.advance(30)
  const login = { token: await half(), code: codeNow(secret) }
  t.equal(await send('/login/second-factor', login), '200 tokens', 'the old one works')
  const confirmed = await post('/login/confirm', { code: codeNow(secret, 1) }, headers)
  t.equal(answerOf(confirmed), '200 tokens', 'which rewrites the text')
  const token = await half()
  const own = sessionOf(confirmed)
  const body = { token: next.token, code: codeNow(next.secret) }
  const enabled = await post('/second-factor/enable', body, own)
  t.equal(answerOf(enabled), '200 tokens')
  const now = sessionOf(enabled)
  t.equal(await send('/second-factor/enable', body, now), expired, 'the setup was used')
  const old = { token, code: codeNow(next.secret, 1) }
  t.equal(await send('/login/second-factor', old), expired, 'a login that began before')
  clock.advance(60)
  const former = { token: await half(), code: codeNow(secret) }
  t.equal(await send('/login/second-factor', former), invalid, 'the old secret')
  t.equal(await send('/second-factor/disable', undefined, now), '204')
  t.equal(stored().secondFactor, null)
  t.equal(await send('/login', { email, password: 'correct horse battery' }), '200 tokens')
})

t.test('a setup is that of its user, and of ten minutes', async (t) => {
  const clock = stepClock(t)
  const setting = await factorApp(t)
  const { send, logIn, half } = setting
  const [own, other] = [await logIn(), await logIn(bob)]
  const { secret, token } = await setUp(setting, own)
  const enable = (headers: Headers, text = token): Promise<string> =>
    send('/second-factor/enable', { token: text, code: codeNow(secret) }, headers)
  t.equal(await enable(other), expired)
  t.equal(await enable(own, `${token}x`), expired)
  t.equal(await enable(own, String(own.authorization).slice(7)), expired, 'an access token')
  await setting.enable(other)
  const login = await half(bob)
  t.equal(await enable(own, login), expired, 'the token of a login')
  t.equal(await send('/login/second-factor', { token, code: codeNow(secret) }), expired)
  for (const kind of [token, login]) {
    const { statusCode } = await setting.app.inject({
      url: '/me',
      headers: { authorization: `Bearer ${kind}` },
    })
    t.equal(statusCode, 401, 'no access token')
  }
  clock.advance(601)
  t.equal(await enable(await logIn()), expired)
  const later = { token: login, code: codeNow(secret) }
  t.equal(await send('/login/second-factor', later), expired)
})

t.test('the token of a setup or a login is rejected by another registration', async (t) => {
  const one = await factorApp(t)
  const login = { path: '/admin/login', usernameField: 'email', subject: idOf }
  const other = await factorApp(t, {}, { login })
  const { secret } = await one.enable()
  other.stored().secondFactor = one.stored().secondFactor ?? null
  other.stored().password = one.stored().password
  const body = { token: await one.half(), code: codeNow(secret, 1) }
  t.equal(await other.send('/admin/login/second-factor', body), expired)
  t.equal(await one.send('/login/second-factor', body), '200 tokens')
})

t.test('enabling one revokes sessions of other registrations too', async (t) => {
  const table: FactorUser[] = [{ id: 1, email, password: hash, secondFactor: null }]
  const { findByUsername, update } = factorsOver(table)
  const userService = { findByUsername }
  const { app, post, enable } = await factorApp(t, { update }, { userService }, (app) =>
    app.register(
      async (scope) => {
        await scope.register(authn, {
          userService,
          jwt: { secret, audience: 'other' },
          hashing: { cost },
          login: { usernameField: 'email', subject: idOf },
          sessions: { name: 'other' },
          secondFactor: { key, issuer: 'Shop', update },
        })
        scope.get('/me', { config: { auth: true } }, () => 'in')
      },
      { prefix: '/other' },
    ),
  )
  const early = sessionOf(await post('/other/login', { email, password }))
  const status = async () => (await app.inject({ url: '/other/me', headers: early })).statusCode
  t.equal(await status(), 200)
  await enable()
  t.equal(await status(), 401)
})

t.test('a setup whose key is gone has expired', async (t) => {
  const one = await factorApp(t)
  const other = await factorApp(t, { key: otherKey })
  const { secret, token } = await setUp(one, await one.logIn())
  const body = { token, code: codeNow(secret) }
  t.equal(await other.send('/second-factor/enable', body, await other.logIn()), expired)
})

t.test('settings need a fresh login, and the second factor where it is on', async (t) => {
  const clock = stepClock(t)
  const setting = await factorApp(t, {}, { jwt: { secret: 'x'.repeat(32), expiry: 3600 } })
  const { app, post, send, logIn, enable } = setting
  const paths = ['setup', 'enable', 'recovery-codes', 'disable']
  const ask = async (headers: Headers): Promise<string[]> => {
    const body = { token: 'x', code: '123456' }
    return Promise.all(paths.map((path) => send(`/second-factor/${path}`, body, headers)))
  }
  const first = await logIn()
  t.strictSame(
    await ask(first),
    ['200 tokens', expired, forbidden, '204'],
    'a user who has none changes nothing',
  )
  const { headers, secret } = await enable(first)
  clock.advance(601)
  t.strictSame(
    await ask(headers),
    paths.map(() => stepUp),
    'not fresh',
  )
  const weak = await app.inject({ method: 'POST', url: '/second-factor/setup', headers })
  t.equal(
    weak.headers['www-authenticate'],
    'Bearer realm="Authorization required", error="insufficient_user_authentication", error_description="Another authentication is needed", acr_values="mfa", max_age="600"',
  )
  t.equal(await send('/login/confirm', { code: wrongCode(secret) }, headers), invalid)
  const confirmed = await post('/login/confirm', { code: codeNow(secret) }, headers)
  const now = sessionOf(confirmed)
  t.match(claimsIn(bodyOf(confirmed).token), { sub: 1, amr: ['pwd', 'otp', 'mfa'] })
  t.equal((await app.inject({ url: '/me', headers })).statusCode, 401, 'the old session is gone')
  const renewed = await post('/second-factor/recovery-codes', undefined, now)
  t.equal(renewed.statusCode, 200)
  t.equal(bodyOf(renewed).recoveryCodes.length, 10)
  const confirm = (code = ''): Promise<string> => send('/login/confirm', { code }, now)
  t.equal(await confirm(bodyOf(renewed).recoveryCodes[0]), '200 tokens')
})

t.test('old recovery codes are void', async (t) => {
  const { post, send, half, enable, events } = await factorApp(t)
  const { headers, recoveryCodes } = await enable()
  const renewed = bodyOf(await post('/second-factor/recovery-codes', undefined, headers))
  const body = { token: await half(), code: recoveryCodes[0] }
  t.equal(await send('/login/second-factor', body), invalid)
  const now = { ...body, code: renewed.recoveryCodes[0] }
  t.equal(await send('/login/second-factor', now), '200 tokens')
  t.match(events, [
    { action: 'enabled' },
    { action: 'recovery-codes' },
    { action: 'failed' },
    { action: 'recovery-code-used', left: 9 },
  ])
})

t.test('a user without a second factor has nothing to confirm, renew or forget', async (t) => {
  const { app, send, logIn } = await factorApp(t, {}, {}, (app) => {
    app.post<{ Body: { id: number } }>('/begin', (request, reply) =>
      app.authn.sessions.begin(request.body.id, request, reply, { amr: ['mfa'] }),
    )
  })
  const headers = await logIn()
  const state = await app.inject({ url: '/second-factor', headers })
  t.strictSame(state.json(), { enabled: false, recoveryCodes: 0 })
  t.equal(await send('/login/confirm', { code: '123456' }, headers), invalid)
  t.equal(await send('/second-factor/forget-devices', undefined, headers), '204')
  const begun = await app.inject({ method: 'POST', url: '/begin', payload: { id: 1 } })
  const strong = sessionOf(begun)
  t.equal(await send('/second-factor/recovery-codes', undefined, strong), forbidden)
  t.equal(await send('/second-factor/disable', undefined, strong), '204')
})

t.test('support removes a second factor', async (t) => {
  let [lost, isBusy] = [0, false]
  const update: FactorApp['store'] = (user, after, before) =>
    isBusy && (lost += 1) <= 20 ? false : setting.store(user, after, before)
  const setting = await factorApp(t, { update }, {}, (app) => {
    app.post<{ Body: { name: string } }>('/support', async (request) => ({
      removed: await app.authn.secondFactor.disable(request.body.name, request),
    }))
  })
  const { app, enable, stored, send, events } = setting
  const disable = (name: unknown): Promise<string> => send('/support', { name })
  await enable()
  isBusy = true
  t.equal(await disable(email), '200 {"removed":true}', 'while others change it')
  t.equal(stored().secondFactor, null)
  t.match(
    events.filter(({ action }) => action === 'disabled'),
    [{ sub: '1' }],
  )
  for (const name of [email, 'nobody@example.com', '', '\u0000', 'x'.repeat(2000)])
    t.equal(await disable(name), '200 {"removed":false}')
  stored().secondFactor = 'what no key opens'
  t.equal(await disable(email), '200 {"removed":true}')
  t.equal(await send('/login', { email, password: 'correct horse battery' }), '200 tokens')
  t.notOk(app.authn.features.includes('accounts'))
})
