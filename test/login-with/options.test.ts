import { register } from 'node:module'
import t from 'tap'
import type { AuthnOptions, LoginProviderOptions } from '../../lib/index.js'
import { appWith, passwords, standardOptions } from '../helpers/app.js'
import { oauth2Entry, reserved } from '../helpers/login-app.js'
import { everyOptionIsNamed, failureWith } from '../helpers/options.js'

const clientSecret = 'q7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5e'
const good: LoginProviderOptions = {
  issuer: 'https://id.example/realms/corp',
  clientId: 'shop',
  clientSecret,
  username: ({ sub }) => sub,
}
const base = { sessions: true, cookies: { trustedOrigins: ['https://shop.example'] } } as const

const all = { ...standardOptions(), ...base }
const errorOf = failureWith('loginWith', all)

const addresses = [
  'http://id.example',
  'ftp://id.example',
  'id.example',
  'https://',
  'https://a:b@id.example',
  'https://id.example#a',
  'https://id example',
  'https:\\\\id.example',
  '',
]
const paths = [
  '',
  'notes',
  '//evil.example',
  '/\\evil.example',
  '/..//a',
  'https://evil.example',
  'https://shop.example.evil.example',
  'http://shop.example',
  'https://a:b@shop.example/',
  'javascript:alert(1)',
  `/${'a'.repeat(512)}`,
  7,
  null,
]
const scopes = [
  '',
  'profile',
  'openidx',
  'openid  email',
  ' openid',
  'openid ',
  'openid\temail',
  'openid é',
  'openid "',
  ['openid'],
  null,
]
const notBlank = ['', ' ', 7, null, {}]
const params = [
  7,
  'prompt=login',
  [],
  null,
  { prompt: 1 },
  { prompt: undefined },
  { max_age: 'a' },
  { max_age: '1.5' },
  { max_age: '1'.repeat(11) },
]
const endpoints =
  'redirectUri authorizationEndpoint tokenEndpoint jwksUri userinfoEndpoint endSessionEndpoint'.split(
    ' ',
  )

const bad: Readonly<Record<string, readonly unknown[]>> = {
  issuer: [
    ...addresses,
    'https://id.example?a=b',
    'https://id.example?',
    undefined,
    null,
    7,
    new URL('https://id.example'),
  ],
  clientId: [...notBlank, undefined],
  clientSecret: [...notBlank, undefined],
  claims: [true, null, 'sub', {}],
  tenants: [true, null, 'sub', {}],
  responseMode: ['query', 'fragment', '', null, true],
  clientAuth: ['Basic', 'none', '', null, true],
  scope: scopes,
  username: [undefined, null, 'sub', {}],
  link: [true, null, 'sub', {}],
  userinfo: ['true', 1, null],
  ...Object.fromEntries(endpoints.map((option) => [option, [...addresses, 7, null]])),
  returnTo: paths,
  failureTo: paths,
  authorizationParams: [...params, ...reserved.map((name) => ({ [name]: 'a' }))],
  clockTolerance: [-1, 301, '30', Number.NaN, Number.POSITIVE_INFINITY, null],
}

t.test(
  'startup fails for a wrong option of a provider, and the error names it and no secret',
  async (t) => {
    const start = (corp: object) => errorOf(t, { corp })
    await everyOptionIsNamed(t, 'loginWith.corp', start, good, bad, [clientSecret, 'a:b@'])
    const error = await errorOf(t, { corp: { ...good, clientID: 'shop' } })
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /loginWith\.corp.*clientID/ })
  },
)

t.test('startup fails for a wrong option of a provider with oauth2', async (t) => {
  const entry = oauth2Entry({ url: 'https://id.example' }, {}, { clientSecret })
  const start = (corp: object) => errorOf(t, { corp })
  const { jwksUri: _, ...wrong } = Object.fromEntries(
    endpoints.map((option) => [option, [...addresses, 7, null]]),
  )
  const { authorizationEndpoint, tokenEndpoint } = wrong
  const members = {
    authorizationEndpoint: [...(authorizationEndpoint ?? []), undefined],
    tokenEndpoint: [...(tokenEndpoint ?? []), undefined],
    scope: ['', ' a', 'a ', 'a  b', 'é', ['a'], null],
    profile: [undefined, null, 'me', {}],
    pkce: ['false', 0, null],
    jwksUri: ['https://id.example/keys'],
  }
  for (const [member, values] of Object.entries(members)) {
    for (const value of values) {
      const error = await start({ ...entry, oauth2: { ...entry.oauth2, [member]: value } })
      const title = `${member}: ${JSON.stringify(value)}`
      t.match(error, { code: 'ERR_AUTH_OPTION' }, title)
      t.ok(
        error?.message.includes(`loginWith.corp.oauth2.${member}`),
        `${title}: ${error?.message}`,
      )
    }
  }
  const beside = {
    authorizationEndpoint: 'https://id.example/a',
    tokenEndpoint: 'https://id.example/a',
    jwksUri: 'https://id.example/a',
    userinfoEndpoint: 'https://id.example/a',
    endSessionEndpoint: 'https://id.example/a',
    scope: 'openid',
    userinfo: false,
    mfa: ['gold'],
    clockTolerance: 30,
    tenants: () => true,
  }
  for (const [option, value] of Object.entries(beside)) {
    t.match(await start({ ...entry, [option]: value }), {
      code: 'ERR_AUTH_OPTION',
      message: new RegExp(`loginWith\\.corp\\.oauth2.*loginWith\\.corp\\.${option}`),
    })
  }
  const rows: [more: object, named: RegExp][] = [
    [{ oauth2: undefined, scope: 'profile' }, /loginWith\.corp\.scope/],
    [{ oauth2: null }, /loginWith\.corp\.oauth2/],
    [{ oauth2: () => null }, /loginWith\.corp\.oauth2/],
    [{ issuer: undefined }, /loginWith\.corp\.issuer/],
    [{ issuer: 'https://id.example/{tenantid}' }, /loginWith\.corp\.issuer.*tenantid/],
    [{ issuer: 'https://id.example/{tenantId}' }, /loginWith\.corp\.issuer.*tenantid/],
    [{ issuer: 'https://id.example/%7Btenantid%7D' }, /loginWith\.corp\.issuer.*tenantid/],
    [{ clientSecret: undefined }, /loginWith\.corp\.clientSecret.*undefined/],
    [{ authorizationParams: { max_age: '0' } }, /authorizationParams.*max_age/],
    [{ username: undefined }, /loginWith\.corp\.username/],
  ]
  for (const [more, message] of rows)
    t.match(await start({ ...entry, ...more }), { code: 'ERR_AUTH_OPTION', message })
  const { clientSecret: __, ...open } = { ...entry, oauth2: { ...entry.oauth2, pkce: false } }
  const message = /loginWith\.corp\.oauth2\.pkce.*loginWith\.corp\.clientSecret/
  t.match(await start(open), { code: 'ERR_AUTH_OPTION', message })
  for (const fine of [
    { ...entry, oauth2: { ...entry.oauth2, pkce: false, scope: undefined } },
    { ...open, oauth2: { ...entry.oauth2, pkce: undefined } },
    { ...entry, scope: undefined, userinfo: undefined },
  ])
    t.equal(await start(fine), undefined)
})

t.test('providers with oauth2 that share an issuer share the token endpoint', async (t) => {
  const [one, other] = ['token', 'tokens'].map((name) =>
    oauth2Entry({ url: 'https://id.example' }, { tokenEndpoint: `https://id.example/${name}` }),
  )
  t.match(await errorOf(t, { one, corp: other }), {
    code: 'ERR_AUTH_OPTION',
    message: /loginWith\.corp\.issuer.*loginWith\.one/,
  })
  t.equal(
    await errorOf(t, { one, corp: one, other: { ...other, issuer: 'https://b.example' } }),
    undefined,
  )
})

t.test('only an OpenID provider has its issuer, since only ID tokens prove it', async (t) => {
  const other = oauth2Entry({ url: 'https://small.example' }, {}, { issuer: good.issuer })
  for (const loginWith of [
    { corp: good, other },
    { other, corp: good },
  ])
    t.match(await errorOf(t, loginWith), { code: 'ERR_AUTH_OPTION', message: /\.issuer/ })
  t.equal(await errorOf(t, { corp: good, other: good }), undefined)
})

t.test('startup succeeds at the limits of the options', async (t) => {
  const rows: Partial<LoginProviderOptions>[] = [
    ...['http://127.0.0.1:9', 'http://[::1]:9/a', 'http://localhost', 'https://id.example/'].map(
      (issuer) => ({ issuer }),
    ),
    ...['openid', 'email openid', 'a:b/c openid !#[]'].map((scope) => ({ scope })),
    ...[0, 0.5, 300].map((clockTolerance) => ({ clockTolerance })),
    ...['/', '/a?b#c', 'https://shop.example', 'https://shop.example/a?b'].map((to) => ({
      returnTo: to,
      failureTo: to,
    })),
    { jwksUri: 'http://127.0.0.1:9/keys?a=b', tokenEndpoint: undefined },
    { returnTo: `/${'a'.repeat(511)}` },
    { clientAuth: 'post', userinfo: true, redirectUri: 'https://shop.example/cb?a=b' },
    { authorizationParams: { max_age: '0', prompt: '' } },
    { clientAuth: undefined, scope: undefined, returnTo: undefined, clockTolerance: undefined },
  ]
  for (const row of rows) {
    t.equal(await errorOf(t, { corp: { ...good, ...row } }), undefined, JSON.stringify(row))
  }
})

t.test('startup fails for what is no object of providers, and for a bad name of one', async (t) => {
  for (const loginWith of [
    true,
    'corp',
    7,
    [],
    [good],
    { corp: true },
    { corp: null },
    { corp: undefined },
    { corp: [] },
    { corp: () => good },
  ]) {
    const error = await errorOf(t, loginWith)
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /loginWith/ }, JSON.stringify(loginWith))
  }
  for (const name of ['', '-a', '_a', 'a b', 'a/b', 'é', ':id', '*', '..', 'a\n', 'a'.repeat(65)]) {
    const error = await errorOf(t, { [name]: good })
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /loginWith/ }, JSON.stringify(name))
  }
  const names = ['a', '7', 'A-b_c', 'constructor', 'a'.repeat(64)]
  const providers = Object.fromEntries(names.map((name) => [name, good]))
  t.equal(await errorOf(t, providers), undefined)
  t.equal(await errorOf(t, undefined), undefined)
})

t.test('startup fails without sessions, cookies, users or the login routes', async (t) => {
  const rows: [more: Partial<AuthnOptions>, named: RegExp][] = [
    [{ sessions: undefined }, /needs the option "sessions"\./],
    [{ sessions: false }, /needs the option "sessions"\./],
    [{ cookies: undefined }, /needs the option "cookies"\./],
    [{ userService: undefined }, /"userService"/],
    [{ login: false }, /needs the option "login"\. .*passwords: false/],
  ]
  for (const [more, named] of rows) {
    const error = await errorOf(t, { corp: good }, more)
    t.match(error, { code: 'ERR_AUTH_OPTION', message: named }, JSON.stringify(more))
  }
})

t.test('startup fails for link with cookies that the callback would not get', async (t) => {
  const corp = { ...good, link: () => true }
  const error = await errorOf(t, { corp }, { cookies: { sameSite: 'strict' } })
  const message = /loginWith\.corp\.link.*'strict', expected 'lax'/
  t.match(error, { code: 'ERR_AUTH_OPTION', message })
  t.equal(await errorOf(t, { corp }), undefined)
  t.equal(await errorOf(t, { corp: good }, { cookies: { sameSite: 'strict' } }), undefined)
})

t.test('startup fails where a path of a provider is taken', async (t) => {
  const corp = { ...good, link: () => true }
  for (const url of ['/login/corp', '/login/corp/callback', '/login/corp/link']) {
    const error = await errorOf(t, { corp }, {}, url)
    t.match(error, { code: 'ERR_AUTH_OPTION', message: url })
    t.match(error?.message, /loginWith\.corp/)
  }
})

t.test('startup fails for a provider with the name of the confirmation', async (t) => {
  const error = await errorOf(t, { confirm: good })
  t.match(error, {
    code: 'ERR_AUTH_OPTION',
    message: /"loginWith\.confirm".*expected another name/,
  })
})

t.test('login.passwords: false leaves out the login with a password alone', async (t) => {
  const payload = { username: 'alice', password: passwords.alice }
  for (const passwordLogin of [true, false]) {
    const app = await appWith(t, {
      ...all,
      loginWith: { corp: good },
      login: { passwords: passwordLogin },
    })
    const response = await app.inject({ method: 'POST', url: '/login', payload })
    t.equal(response.statusCode, passwordLogin ? 200 : 404)
    for (const url of ['/login/refresh', '/logout'])
      t.ok(app.hasRoute({ method: 'POST', url }), url)
    t.ok(app.hasRoute({ method: 'GET', url: '/login/corp/callback' }))
  }
})

/** Of modules: openid-client is missing at first, then too old, then itself. */
const hooks = `
  const found = [
    async () => { throw new Error('missing') },
    async () => ({ url: 'data:text/javascript,export class Issuer {}', shortCircuit: true }),
  ]
  export const resolve = (name, context, next) =>
    name === 'openid-client' && found.length > 0 ? found.shift()() : next(name, context)`

t.test('startup says what to install where openid-client is missing or too old', async (t) => {
  register(`data:text/javascript,${encodeURIComponent(hooks)}`)
  const oauth2 = oauth2Entry({ url: 'https://id.example' })
  t.equal(await errorOf(t, { corp: oauth2 }), undefined, 'not needed for oauth2')
  for (const what of ['missing', 'too old']) {
    const error = await errorOf(t, { corp: good })
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /npm install openid-client@6/ }, what)
  }
  t.equal(await errorOf(t, { corp: good }), undefined)
})
