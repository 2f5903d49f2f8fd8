// Where the core asks the one feature with `secondFactor`: at the end of each login, and at Basic.
import t, { type Test } from 'tap'
import { features } from '../../lib/feature-table.js'
import type { Feature, SecondFactor } from '../../lib/feature.js'
import type { BeginOptions } from '../../lib/index.js'
import { accountsApp, newPassword, password } from '../helpers/accounts.js'
import { basic, passwords } from '../helpers/app.js'
import { isFault } from '../helpers/flows.js'
import { loginApp } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { clientOf, eventsOf, sessionApp } from '../helpers/sessions.js'

const alice = { username: 'alice', password: passwords.alice }
const body = { secondFactor: { token: 'a.b.c', expiresIn: 600 } }

/** Switches a made-up feature on, until the test ends. */
function on(t: Test, change: Partial<SecondFactor> = {}, name = 'codes'): object {
  const secondFactor: SecondFactor = {
    page: '/code',
    isOn: (user) => (user as { name: string }).name === 'alice',
    ask: async (_, reply) => {
      void reply.code(202)
      return body
    },
    ...change,
  }
  const check: Feature['check'] = (registration, all) => {
    for (const each of all) each.withSecondFactor.add(registration)
  }
  const create = (): Feature => ({ name, secondFactor, check })
  features[name] = { load: async () => ({ create }) }
  t.teardown(() => delete features[name])
  return { [name]: true }
}

t.test('no login of a user with a second factor ends in tokens without it', async (t) => {
  const logins = eventsOf(t, 'login')
  let how: BeginOptions = {}
  const app = await sessionApp(t, { login: { body: () => ({ own: true }) }, ...on(t) }, (scope) =>
    scope.post('/begin', (request, reply) =>
      scope.authn.sessions.begin('alice', request, reply, how),
    ),
  )
  const { post } = clientOf(app)
  const bob = { username: 'bob', password: passwords.bob }
  t.match(await post('/login', bob), { statusCode: 200, body: '{"own":true}' })
  t.match(await post('/login', alice), { statusCode: 202, body: JSON.stringify(body) })
  t.equal((await post('/login', { ...alice, password: 'x' })).statusCode, 401)
  t.match(await post('/begin'), { statusCode: 202, body: JSON.stringify(body) })
  how = { amr: ['hwk'] }
  t.equal((await post('/begin')).statusCode, 202)
  t.match(logins, [{ user: { name: 'bob' } }])
  t.equal(app.authn.stats().sessions?.begun, 1)
  how = { amr: ['hwk', 'mfa'] }
  t.match(await post('/begin'), { statusCode: 200, body: '{"own":true}' })
})

t.test('a login at a provider leads to the page, unless its word is enough', async (t) => {
  const provider = await startProvider(t)
  const given = on(t)
  const username = () => 'alice'
  const login = await loginApp(t, provider, { username, mfa: ['gold'] }, given)
  const asked = await login.logIn('?returnTo=/notes')
  t.match(asked, { statusCode: 303, headers: { location: '/code#a.b.c' } })
  t.notMatch(asked.headers['set-cookie'], /token=/)
  t.equal(login.app.authn.stats().sessions?.begun, 0)
  provider.idToken = { claims: { acr: 'gold' } }
  t.match(await login.logIn('?returnTo=/notes'), { headers: { location: '/notes' } })
})

t.test('a feature may let a login go on, whose session is no other for that', async (t) => {
  const { login } = clientOf(await sessionApp(t, on(t, { ask: async () => null })))
  t.ok((await login()).token)
})

t.test('Basic is closed for such users, as for a wrong password', async (t) => {
  const failures = eventsOf(t, 'failure')
  const app = await sessionApp(t, { ...on(t), credentialCache: { ttl: 60 } }, (scope) =>
    scope.get('/basic', { config: { auth: { use: 'basic' } } }, ({ user }) => user),
  )
  const get = (name: string, password: string) =>
    app.inject({ url: '/basic', headers: basic(name, password) })
  t.equal((await get('bob', passwords.bob)).statusCode, 200)
  const wrong = await get('alice', 'x')
  for (const response of [wrong, await get('alice', passwords.alice)]) {
    t.match(response, { statusCode: 401, body: wrong.body })
    t.equal(response.headers['www-authenticate'], wrong.headers['www-authenticate'])
  }
  t.match(failures.at(-1), { reason: /second factor/ })
})

t.test('where it cannot be told, nobody gets in', async (t) => {
  const isOn = () => {
    throw new Error('a secret')
  }
  const app = await sessionApp(t, on(t, { isOn }), (scope) =>
    scope.get('/basic', { config: { auth: { use: 'basic' } } }, ({ user }) => user),
  )
  t.equal((await clientOf(app).post('/login', alice)).statusCode, 500)
  const headers = basic('alice', passwords.alice)
  isFault(t, await app.inject({ url: '/basic', headers }), 'ERR_AUTH_AUTHENTICATOR')
})

t.test(
  'a changed password asks for no second factor: the session had its level before',
  async (t) => {
    let isSet = false
    const { send, logIn } = await accountsApp(t, {}, on(t, { isOn: () => isSet }))
    const headers = await logIn()
    isSet = true
    const change = { currentPassword: password, password: newPassword }
    t.equal(await send('/password/change', change, headers), '200 tokens')
  },
)

t.test('startup fails for two features that ask', async (t) => {
  const both = { ...on(t), ...on(t, {}, 'more') }
  await t.rejects(sessionApp(t, both), /options "codes" and "more" cannot be used together/)
})
