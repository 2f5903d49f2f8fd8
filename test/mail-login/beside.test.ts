// Logins by e-mail beside second factors, step-up, passkeys, cookies and other registrations.
import t, { type Test } from 'tap'
import type { AccountMail } from '../../lib/index.js'
import { accountsOver, pages } from '../helpers/accounts.js'
import type { Headers } from '../helpers/client.js'
import { clockOf } from '../helpers/clock.js'
import { expired, otherCode, wrong, type LogInMail } from '../helpers/mail-login.js'
import {
  answerOf,
  bodyOf,
  claimsIn,
  codeNow,
  factorApp,
  sessionOf,
  stepClock,
  type FactorUser,
} from '../helpers/second-factor.js'
import { browser, origin, passkeysOver, type StoredPasskey } from '../helpers/passkeys.js'

const alice = 'alice@example.com'
const stale = Math.floor(Date.now() / 1000) - 1200
const insufficient = '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION'

/** An app with second factors and passkeys, whose sessions can begin with any level. */
async function besideApp(t: Test, options: object = {}) {
  const sent: AccountMail[] = []
  const table: FactorUser[] = []
  const { findByUsername: _, ...functions } = accountsOver(table)
  const passkeys: StoredPasskey[] = []
  const accounts = {
    url: pages,
    ...functions,
    sendMail: (mail: AccountMail) => void sent.push(mail),
    limits: { perRecipient: 1000, perAddress: 1000 },
  }
  const more = {
    accounts,
    mailLogin: true,
    passkeys: { origin, name: 'Shop', ...passkeysOver(passkeys) },
  }
  const setting = await factorApp(t, {}, { ...more, ...options }, (app) => {
    app.get('/fresh', { config: { auth: { fresh: 600 } } }, () => 'in')
    app.post<{ Body: { id: number; how?: object } }>('/begin', ({ body }, reply) =>
      app.authn.sessions.begin(body.id, reply.request, reply, body.how),
    )
  })
  const { app, post } = setting
  return {
    ...setting,
    begin: async (how?: object, id = 1): Promise<Headers> =>
      sessionOf(await post('/begin', { id, how })),
    get: async (url: string, headers: Headers) => {
      const response = await app.inject({ url, headers })
      return response.statusCode === 200 ? response.body : answerOf(response)
    },
    async asked(email = alice) {
      const { token } = bodyOf(await post('/login/mail', { email }))
      await app.authn.accounts.settled()
      return { token, mail: sent.splice(0)[0] as LogInMail }
    },
    finish: (body: object, headers = {}) => setting.send('/login/mail/finish', body, headers),
  }
}

t.test('a second factor is asked for, and one e-mail makes one session', async (t) => {
  const clock = stepClock(t)
  const { enable, asked, finish, post, send, app, me } = await besideApp(t)
  const { secret } = await enable()
  await app.authn.sessions.revoke({ sub: 1 })
  clock.advance(60)
  const { token, mail } = await asked()
  const halves = []
  for (const body of [{ token: mail.token }, { token, code: mail.code }, { token: mail.token }]) {
    const half = await post('/login/mail/finish', body)
    t.equal(answerOf(half), '202 code')
    halves.push(bodyOf(half).secondFactor.token)
  }
  const last = '/login/second-factor'
  const response = await post(last, { token: halves[0], code: codeNow(secret) })
  t.match(claimsIn(bodyOf(response).token), { amr: ['otp', 'mfa'] })
  t.equal(await me(sessionOf(response)), 200)
  clock.advance(60)
  for (const half of halves)
    t.equal(await send(last, { token: half, code: codeNow(secret) }), expired)
  t.equal(await finish({ token: mail.token }), '202 code', 'which begins no session')
  t.equal((await app.authn.sessions.list(1)).length, 1)
})

t.test('what is revoked or changed between an e-mail and a code of the app counts', async (t) => {
  const clock = stepClock(t)
  let isAccepted = true
  const mailLogin = { accept: () => isAccepted }
  const { enable, asked, post, send, app, stored } = await besideApp(t, { mailLogin })
  const { secret } = await enable()
  const half = async () => {
    clock.advance(60)
    const { mail } = await asked()
    return bodyOf(await post('/login/mail/finish', { token: mail.token })).secondFactor.token
  }
  const finish = async (token: string) => {
    clock.advance(60)
    return send('/login/second-factor', { token, code: codeNow(secret) })
  }
  const revoked = await half()
  await app.authn.sessions.revoke({ sub: 1 })
  t.equal(await finish(revoked), expired)
  const moved = await half()
  const { email } = stored()
  stored().email = 'moved@example.com'
  t.equal(await finish(moved), expired)
  stored().email = email
  const rejected = await half()
  isAccepted = false
  t.equal(await finish(rejected), expired)
  isAccepted = true
  const changed = await half()
  stored().password = null
  t.equal(await finish(changed), expired)
})

t.test(
  'no e-mail and its second factor outlive the hour for which revocations are kept',
  async (t) => {
    const clock = clockOf(t)
    const mailLogin = { expiresIn: 3000 }
    const { enable, asked, post, send } = await besideApp(t, {
      mailLogin,
      jwt: { secret: 'a secret of the tests, of 44 random bytes…', clockTolerance: 300 },
    })
    const { secret } = await enable()
    const { mail } = await asked()
    clock.advance(2990)
    const { token } = bodyOf(await post('/login/mail/finish', { token: mail.token })).secondFactor
    clock.advance(620)
    t.equal(await send('/login/second-factor', { token, code: codeNow(secret) }), expired)
  },
)

t.test('an e-mail makes a session fresh, and never one of several factors', async (t) => {
  const { begin, get, asked, send, post, app, me } = await besideApp(t)
  const old = await begin({ amr: ['pwd'], authTime: stale })
  t.equal(await get('/fresh', old), insufficient)
  const { methods } = JSON.parse(await get('/login/confirm', old)) as { methods: object }
  t.strictSame(methods, { fresh: ['password', 'mail'], mfa: [] })
  for (const way of ['link', 'code']) {
    const session = await begin({ amr: ['pwd'], authTime: stale })
    const { token, mail } = await asked()
    const body = way === 'link' ? { token: mail.token } : { token, code: mail.code }
    const response = await post('/login/confirm', body, session)
    const headers = sessionOf(response)
    t.match(claimsIn(bodyOf(response).token), { amr: ['pwd', 'otp'] })
    t.equal(await get('/fresh', headers), 'in')
    t.equal(await get('/mfa', headers), insufficient)
    t.equal(await me(session), 401, 'it is replaced')
    t.equal(await send('/login/confirm', body, headers), expired, 'once')
    t.equal(await send('/login/mail/finish', { token: mail.token }), expired)
  }
  const mfa = await begin({ amr: ['pwd', 'mfa'], authTime: stale })
  const { mail } = await asked()
  t.equal(await send('/login/confirm', { token: mail.token }, mfa), insufficient)
  t.equal(await send('/login/mail/finish', { token: mail.token }), '200 tokens')
  t.ok((await app.authn.sessions.list(1)).length > 0)
})

t.test(
  'in a session, e-mails of others and wrong codes do not count, and the fifth ends it',
  async (t) => {
    const { begin, asked, send, me } = await besideApp(t)
    const session = await begin({ amr: ['pwd'], authTime: stale })
    const other = await asked('bob@example.com')
    t.equal(await send('/login/confirm', { token: other.mail.token }, session), expired)
    const body = { token: other.token, code: other.mail.code }
    t.equal(await send('/login/confirm', body, session), wrong)
    const { token, mail } = await asked()
    t.equal(await send('/login/confirm', { token }, session), expired)
    t.match(await send('/login/confirm', { token, password: 'x' }, session), /^400/)
    t.match(await send('/login/confirm', { code: mail.code }, session), '403 ERR_AUTH_CODE_INVALID')
    for (const by of [1, 2])
      t.equal(
        await send('/login/confirm', { token, code: otherCode(mail.code, by) }, session),
        wrong,
      )
    const guess = { token, code: otherCode(mail.code, 3) }
    t.equal(await send('/login/confirm', guess, session), '401 ERR_AUTH_JWT_INVALID')
    t.equal(await me(session), 401)
  },
)

t.test('a passkey is not the last way in of a user who may log in by an e-mail', async (t) => {
  for (const [mailLogin, answer] of [
    [{ signUp: true }, '204'],
    [true, '409 ERR_AUTH_PASSKEY_LAST'],
    [{ signUp: true, accept: () => true }, '409 ERR_AUTH_PASSKEY_LAST'],
  ] as const) {
    const { begin, post, send, stored } = await besideApp(t, { mailLogin })
    const session = await begin({ amr: ['pwd', 'mfa'] })
    const asked = await post('/passkeys/options', {}, session)
    const { token, publicKey } = asked.json<{ token: string; publicKey: never }>()
    const added = await post('/passkeys', { token, response: browser().create(publicKey) }, session)
    stored().password = null
    const { id } = added.json<{ id: string }>()
    const { email } = stored()
    stored().email = '"a b"@example.com'
    const last = await send('/passkeys/remove', { id }, session)
    t.equal(last, '409 ERR_AUTH_PASSKEY_LAST', 'no e-mail reaches it')
    stored().email = email
    t.equal(await send('/passkeys/remove', { id }, session), answer)
  }
})

t.test(
  'cookies are set, pages of other sites can ask for nothing, and a body can be wished for',
  async (t) => {
    const { asked, post, finish } = await besideApp(t, { cookies: { apps: true } })
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    t.equal(
      answerOf(await post('/login/mail', { email: alice }, foreign)),
      '403 ERR_AUTH_CROSS_SITE',
    )
    const { mail } = await asked()
    t.equal(await finish({ token: mail.token }, foreign), '403 ERR_AUTH_CROSS_SITE')
    const response = await post('/login/mail/finish', { token: mail.token })
    t.strictSame(response.cookies.map(({ name, sameSite }) => [name, sameSite]).length > 1, true)
    t.notMatch(response.body, 'refreshToken')
    const next = await asked()
    t.equal(await finish({ token: next.mail.token }, { 'token-delivery': 'body' }), '200 tokens')
  },
)
