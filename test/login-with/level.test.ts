// When and how a user has authenticated at a provider: `auth_time`, `?max_age=0`, and the option `mfa`.
import t from 'tap'
import { cookiesOf } from '../helpers/cookies.js'
import { loginApp } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { claimsOf, eventsOf } from '../helpers/sessions.js'
import { epochSeconds } from '../helpers/tokens.js'
import type { AnyResponse } from '../helpers/flows.js'
import type { LoginProviderOptions } from '../../lib/index.js'

const levelOf = (response: AnyResponse) => {
  const cookie = cookiesOf(response).find(({ name }) => name.endsWith('token'))
  const { auth_time, amr } = claimsOf(String(cookie?.value))
  return { auth_time, amr }
}

t.test('a session is as old as the ID token says, or as its login', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider)
  const auth_time = epochSeconds() - 900
  provider.idToken = { claims: { auth_time, amr: ['mfa'] } }
  t.strictSame(levelOf(await login.logIn()), { auth_time, amr: undefined })
  provider.idToken = { claims: { auth_time: undefined } }
  t.ok(Math.abs(Number(levelOf(await login.logIn()).auth_time) - epochSeconds()) < 5)
})

t.test('with ?max_age=0 the user authenticates again', async (t) => {
  const provider = await startProvider(t)
  const all: Partial<LoginProviderOptions>[] = [
    {},
    { authorizationParams: { max_age: '600', prompt: 'select_account' } },
  ]
  for (const more of all) {
    const login = await loginApp(t, provider, more)
    const begun = await login.begin('?max_age=0&returnTo=/a')
    t.equal(begun.sent.get('max_age'), '0')
    t.equal((await login.begin()).sent.get('max_age'), more.authorizationParams ? '600' : null)
    const auth_time = epochSeconds()
    provider.idToken = { claims: { auth_time } }
    let ahead = 0
    const { now } = Date
    const { restore } = t.intercept(Date, 'now', { value: () => now() + ahead * 1000 })
    ahead = 90
    const slow = await login.finish(begun)
    t.match(slow, { statusCode: 303, headers: { location: '/a' } }, 'a consent page of 90 s')
    t.equal(levelOf(slow).auth_time, auth_time)
    restore()
    for (const time of [undefined, epochSeconds() - 60]) {
      provider.idToken = { claims: { auth_time: time } }
      t.equal((await login.logIn('?max_age=0')).statusCode, 401)
      const reason = 'claim auth_time of the ID token'
      t.match(login.last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason })
    }
  }
  const { get } = await loginApp(t, provider)
  for (const query of ['max_age=1', 'max_age=', 'max_age=0&max_age=0', 'max_age=00']) {
    t.equal((await get(`/login/corp?${query}`)).statusCode, 400, query)
  }
})

t.test('the option mfa says by which claims the user has shown several factors', async (t) => {
  const provider = await startProvider(t)
  const logins = eventsOf(t, 'login')
  const rows: [
    mfa: LoginProviderOptions['mfa'],
    claims: Record<string, string | string[]>,
    amr: string[] | undefined,
  ][] = [
    [undefined, { amr: ['mfa'], acr: 'gold' }, undefined],
    [['gold'], { acr: 'gold' }, ['mfa']],
    [['gold'], { acr: 'silver', amr: ['mfa'] }, undefined],
    [(claims) => claims.acrs === 'c1', { acrs: 'c1' }, ['mfa']],
    [(() => 'yes') as never, {}, undefined],
  ]
  for (const [mfa, claims, amr] of rows) {
    const login = await loginApp(t, provider, mfa === undefined ? {} : { mfa })
    provider.idToken = { claims }
    t.strictSame(levelOf(await login.logIn()).amr, amr)
    t.match(logins.at(-1), { provider: 'corp', amr })
  }
  provider.idToken = { claims: {} }
  provider.userinfo = { sub: 'alice', acr: 'gold', amr: ['mfa'], auth_time: 1, name: 'Alice' }
  const ofUserInfo: LoginProviderOptions['mfa'][] = [
    ['gold'],
    ({ acr, amr, auth_time, name }) => name === 'Alice' && (Boolean(acr ?? amr) || auth_time === 1),
  ]
  for (const mfa of ofUserInfo) {
    const login = await loginApp(t, provider, { mfa, userinfo: true })
    t.equal(levelOf(await login.logIn()).amr, undefined, 'UserInfo says nothing about the login')
  }
  const failing = (): never => {
    throw new Error('a secret of the app')
  }
  const response = await (await loginApp(t, provider, { mfa: failing })).logIn()
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, /secret/)
  await t.rejects(loginApp(t, provider, { mfa: [] }), /option "loginWith.corp.mfa": found an array/)
})
