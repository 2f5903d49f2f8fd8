import { generateKeyPairSync, randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { apple, github, linkedin, microsoft } from '../../lib/providers/index.js'
import { authnTesting, linkWith, logInWith, type BrokenIdToken } from '../../lib/testing/index.js'
import { appWith, standardOptions, type TestApp, type TestUser } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { eventsOf } from '../helpers/sessions.js'

/** An app whose provider is not there. */
function open(t: Test, more: Partial<AuthnOptions> = {}, hasKit = true): Promise<TestApp> {
  const username = ({ email }: { email?: string }) => email?.split('@')[0]
  const corp = { issuer: 'https://id.example/realms/corp', clientId: 'shop', username }
  const options = { sessions: true, cookies: true, loginWith: { corp } } as const
  return appWith(t, { ...standardOptions(), ...options, ...more }, async (app) => {
    if (hasKit) await app.register(authnTesting)
    app.get('/me', { config: { auth: true } }, ({ user }) => user)
  })
}
const alice = { sub: '7', email: 'alice@example.com' }

t.test('logInWith() logs a user in without a provider, and with the real routes', async (t) => {
  const logins = eventsOf(t, 'login')
  const app = await open(t)
  for (const returnTo of [undefined, '/notes?a=b&c']) {
    const { response, headers } = await logInWith(app, 'corp', alice, { returnTo })
    t.match(response, { statusCode: 303, headers: { location: returnTo ?? '/' } })
    t.match(await app.inject({ url: '/me', headers }), { statusCode: 200, body: /alice/ })
  }
  t.match(logins, [{ provider: 'corp' }, { provider: 'corp' }])
  const { response, headers } = await logInWith(app, 'corp', {
    sub: '8',
    email: 'mallory@example.com',
  })
  t.match([response.statusCode, headers], [403, { cookie: '' }])
  const later = await logInWith(app, 'corp', alice)
  t.equal(later.response.statusCode, 303, 'the same app again')
})

t.test('logInWith() plays a login that the app must reject', async (t) => {
  const failures = eventsOf(t, 'failure')
  const app = await open(t)
  const rows: [broken: BrokenIdToken, reason: RegExp][] = [
    ['expired', /exp/],
    ['otherNonce', /nonce/],
    ['otherAudience', /aud/],
    ['otherIssuer', /iss/],
    ['otherKey', /./],
  ]
  for (const [broken, reason] of rows) {
    const { response, headers } = await logInWith(app, 'corp', alice, { broken })
    t.match([response.statusCode, headers], [401, { cookie: '' }], broken)
    t.match(failures.at(-1), { code: 'ERR_AUTH_LOGIN_INVALID', reason }, broken)
  }
  const { response } = await logInWith(app, 'corp', alice, { error: 'access_denied' })
  t.equal(response.statusCode, 401)
  t.match(failures.at(-1), { code: 'ERR_AUTH_LOGIN_DENIED', reason: /access_denied/ })
  const bad = await logInWith(app, 'corp', alice, { returnTo: '//evil.example' })
  t.match(
    [bad.response.statusCode, bad.headers],
    [400, { cookie: '' }],
    'the response of the start',
  )
})

t.test(
  'logInWith() plays UserInfo, on another path, after the real provider has failed',
  async (t) => {
    const loginWith = {
      corp: {
        issuer: 'http://127.0.0.1:9',
        clientId: 'shop',
        userinfo: true,
        authorizationEndpoint: 'http://127.0.0.1:9/authorize',
        tokenEndpoint: 'http://127.0.0.1:9/token?a=b',
        jwksUri: 'http://127.0.0.1:9/certs',
        userinfoEndpoint: 'http://127.0.0.1:9/me',
        username: () => 'alice',
      },
    }
    const app = await open(t, { login: { path: '/in' }, loginWith })
    t.equal((await logInWith(app, 'corp', alice)).response.statusCode, 303)
    t.match(await app.authn.loginWith.corp?.logoutUrl(), /^http:\/\/127\.0\.0\.1:9\/logout\?/)
  },
)

t.test('logInWith() and linkWith() play providers with oauth2, forms and tenants', async (t) => {
  const seen: object[] = []
  const given = {
    clientId: 'shop',
    clientSecret: 'secret',
    username: (claims: object) => (seen.push(claims), 'alice'),
    link: (claims: object) => seen.push(claims) > 0,
  }
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const privateKey = String(key.export({ type: 'pkcs8', format: 'pem' }))
  const { clientSecret: _, ...others } = given
  const tenants = (tid: string): boolean => tid !== other
  const other = randomUUID()
  const app = await open(t, {
    loginWith: {
      github: github(given),
      linkedin: linkedin(given),
      apple: apple({ ...others, teamId: 'T', keyId: 'K', privateKey }),
      microsoft: microsoft({ ...given, tenant: 'common', tenants }),
    },
  })
  const rows: [name: string, claims: object, expected: object][] = [
    [
      'github',
      { sub: 7, email: 'a@b.c', email_verified: true },
      { sub: '7', email_verified: true },
    ],
    ['linkedin', { sub: 'l' }, { iss: 'https://www.linkedin.com/oauth', sub: 'l' }],
    ['apple', { sub: 'a', email_verified: 'true' }, { sub: 'a', email_verified: true }],
    [
      'microsoft',
      { sub: 'm' },
      { iss: /^https:\/\/login\.microsoftonline\.com\/[\da-f-]{36}\/v2\.0$/ },
    ],
    [
      'microsoft',
      { sub: 'm', tid: '0'.repeat(8) + other.slice(8), xms_edov: 1 },
      { email_verified: true },
    ],
  ]
  for (const [name, claims, expected] of rows) {
    const { response, headers } = await logInWith(app, name, claims as never)
    t.equal(response.statusCode, 303, `${name}: ${response.body}`)
    const linked = await linkWith(app, name, claims as never, { headers })
    t.equal(linked.response.statusCode, 303, name)
    t.match(seen.splice(0), [expected, expected], name)
    const cancelled = await logInWith(app, name, claims as never, { error: 'access_denied' })
    t.equal(cancelled.response.statusCode, 401)
    t.equal(
      await app.authn.loginWith[name]?.logoutUrl().then((url) => url === null),
      /github|linkedin/.test(name),
    )
  }
  const refused = await logInWith(app, 'microsoft', { sub: 'm', tid: other })
  t.equal(refused.response.statusCode, 403)
  t.equal((await logInWith(app, 'github', { name: 'Alice' })).response.statusCode, 401, 'no sub')
  for (const broken of ['otherNonce', 'otherIssuer', 'otherKey'] as const) {
    for (const name of ['apple', 'microsoft'])
      t.equal((await logInWith(app, name, alice, { broken })).response.statusCode, 401)
    const { code, message } = await rejectionOf(logInWith(app, 'github', alice, { broken }))
    t.equal(code, 'ERR_AUTH_TESTING')
    t.match(message, /logInWith: .*"broken".*oauth2/)
  }
})

t.test('logInWith() and linkWith() need no vault, and not the paths of a proxy', async (t) => {
  const corp = {
    issuer: 'https://id.example',
    clientId: 'shop',
    clientSecret: () => Promise.reject(new Error('no vault')),
    responseMode: 'form_post',
    redirectUri: 'https://shop.example/api/login/corp/callback',
    username: () => 'alice',
    link: () => true,
  } as const
  const app = await open(t, { loginWith: { corp } })
  const { response, headers } = await logInWith(app, 'corp', alice)
  t.equal(response.statusCode, 303)
  t.equal((await linkWith(app, 'corp', alice, { headers })).response.statusCode, 303)
})

t.test('linkWith() links an account by the real routes, in a session that goes on', async (t) => {
  const owners: Record<string, string> = {}
  const corp = {
    issuer: 'https://id.example',
    clientId: 'shop',
    username: ({ sub }: { sub: string }) => owners[sub] ?? sub,
    link: ({ sub }: { sub: string }, user: object) =>
      (owners[sub] ??= String((user as TestUser).name)) === (user as TestUser).name,
  }
  const app = await open(t, { loginWith: { corp, plain: { ...corp, link: () => null } } })
  const { headers } = await logInWith(app, 'corp', { sub: 'alice' })
  const other = await logInWith(app, 'corp', { sub: 'bob' })
  for (const returnTo of [undefined, '/settings?a=b&c']) {
    const { response } = await linkWith(app, 'corp', { sub: '7' }, { headers, returnTo })
    t.match(response, { statusCode: 303, headers: { location: returnTo ?? '/' } })
  }
  t.strictSame(owners, { 7: 'alice' })
  const taken = await linkWith(app, 'corp', { sub: '7' }, { headers: other.headers })
  t.equal(taken.response.statusCode, 409)
  t.match(await app.inject({ url: '/me', headers }), { statusCode: 200, body: /alice/ })
  const byKit = await logInWith(app, 'corp', { sub: '7' })
  t.match(await app.inject({ url: '/me', headers: byKit.headers }), { body: /alice/ })

  const token = /token=([^;]+)/.exec(headers.cookie)?.[1] ?? ''
  const bearer = await linkWith(
    app,
    'corp',
    { sub: '8' },
    { headers: { authorization: `Bearer ${token}` } },
  )
  t.equal(bearer.response.statusCode, 303, 'by the token alone')
  const rows: [options: Parameters<typeof linkWith>[3], status: number][] = [
    [{ headers: {} }, 401],
    [{ headers, returnTo: '//evil.example' }, 400],
    [{ headers: { ...headers, origin: 'https://evil.example' } }, 403],
  ]
  for (const [options, status] of rows) {
    const { response } = await linkWith(app, 'corp', { sub: '9' }, options)
    t.equal(response.statusCode, status, 'the response of the POST')
  }
  const { code, message } = await rejectionOf(linkWith(app, 'other', { sub: '7' }, { headers }))
  t.equal(code, 'ERR_AUTH_TESTING')
  t.match(message, /linkWith: /)
})

t.test('logInWith() finds the routes of an inner scope, which is passed to it', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authnTesting)
  const corp = { issuer: 'https://id.example', clientId: 'shop', username: () => 'alice' }
  const options = {
    ...standardOptions(),
    sessions: true,
    cookies: true,
    loginWith: { corp },
  } as const
  let scope: FastifyInstance = app
  await app.register(
    async (inner) => {
      scope = inner
      await scope.register(authn, options)
    },
    { prefix: '/api' },
  )
  await app.ready()
  const { response } = await logInWith(scope, 'corp', alice)
  t.equal(response.statusCode, 303)
  t.ok(app.hasRoute({ method: 'GET', url: '/api/login/corp/callback' }))
})

t.test('logInWith() needs authnTesting, a provider of that name and a known flaw', async (t) => {
  const app = await open(t)
  const broken = 'expire' as BrokenIdToken
  const rows: [app: TestApp, name: string, options?: { broken: BrokenIdToken }][] = [
    [await open(t, {}, false), 'corp'],
    [await open(t, { loginWith: undefined }), 'corp'],
    [app, 'other'],
    [app, 'corp', { broken }],
  ]
  for (const [from, name, options] of rows) {
    const { code, message } = await rejectionOf(logInWith(from, name, alice, options))
    t.equal(code, 'ERR_AUTH_TESTING')
    t.match(message, 'logInWith')
  }
})
