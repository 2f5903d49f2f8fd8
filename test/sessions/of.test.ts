import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { actingAs, authnTesting } from '../../lib/testing/index.js'
import { appWith, basic, bearer, cost, passwords, secret, standardOptions } from '../helpers/app.js'
import { nameOf } from '../helpers/flows.js'
import { startIssuer } from '../helpers/issuer.js'

/** What `of` gives in a handler, as JSON, after the user of the request. */
const seen = (request: FastifyRequest): unknown => [
  nameOf(request),
  request.server.authn.sessions.of(request) ?? null,
]

async function login(app: FastifyInstance, url = '/login'): Promise<string> {
  const payload = { username: 'alice', password: passwords.alice }
  const response = await app.inject({ method: 'POST', url, payload })
  return response.json<{ token: string }>().token
}

const sidOf = (token: string): string =>
  (JSON.parse(Buffer.from(String(token.split('.')[1]), 'base64url').toString()) as { sid: string })
    .sid

t.test('the session of a request, and of no other', async (t) => {
  const issuer = await startIssuer(t)
  const options = {
    ...standardOptions(),
    sessions: true,
    basic: { username: 'root', password: 'toor' },
    issuers: { partner: issuer.options() },
    authenticators: { key: { authenticate: () => ({ name: 'robot' }) } },
  } as const
  const app = await appWith(t, options, (app) => {
    const use = ['jwt', 'basic', 'partner'] as const
    app.get('/', { config: { auth: { use } } }, seen)
    app.get('/try', { config: { auth: { use, mode: 'try' } } }, seen)
    app.get('/optional', { config: { auth: 'optional' } }, seen)
    app.get('/key', { config: { auth: { use: 'key' } } }, seen)
    app.get('/config', { config: { auth: { use: 'configBasic' } } }, seen)
    app.get('/open', seen)
    void app.register(async (scope) => {
      scope.get('/inner', { config: { auth: true } }, seen)
    })
  })
  const token = await login(app)
  const session = { id: sidOf(token), sub: 'alice' }
  const tokens = app.jwtService
  const ask = async (url: string, headers: object = {}): Promise<unknown> =>
    (await app.inject({ url, headers: headers as never })).json()
  for (const url of ['/', '/try', '/optional', '/inner'])
    t.strictSame(await ask(url, bearer(token)), ['alice', session], url)
  t.match(await app.authn.sessions.list(session.sub), [{ sid: session.id }])

  const partners = { iss: issuer.url, sub: 'alice', sid: session.id }
  const rows: [title: string, url: string, headers: object, user: string | null][] = [
    ['a token of an issuer', '/', bearer(issuer.token()), 'alice'],
    ['with the sid of a session', '/', bearer(issuer.token({ claims: partners })), 'alice'],
    ['a token without a session', '/', bearer(tokens.generateToken('alice')), 'alice'],
    ['Basic', '/', basic('alice', passwords.alice), 'alice'],
    ['configBasic', '/config', basic('root', 'toor'), 'root'],
    ['anonymous', '/optional', {}, null],
    ['a wrong token', '/try', bearer(`${token}x`), null],
    ['another authenticator', '/key', bearer(token), 'robot'],
    ['an open route', '/open', bearer(token), null],
    ...[1, '', null, ['x'], { a: 1 }, 'other', `${session.id}x`].map(
      (sid): [string, string, object, string] => {
        const other = tokens.generateTokenWithClaims({ sub: 'alice', sid })
        return [`sid ${JSON.stringify(sid)}`, '/', bearer(other), 'alice']
      },
    ),
  ]
  for (const [title, url, headers, user] of rows)
    t.strictSame(await ask(url, headers), [user, null], title)

  const gone = tokens.generateTokenWithClaims({ sub: 'nobody', sid: session.id })
  t.strictSame(await ask('/try', bearer(gone)), [null, null], 'a user who is gone')
  t.equal(await app.authn.sessions.revoke({ sid: session.id }), 1)
  t.strictSame(await ask('/try', bearer(token)), [null, null], 'revoked')
})

/** An app with the plugin in two scopes, `/shop` and `/admin`. */
async function twoScopes(t: Test, shop: object, admin: object): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  const base = { ...standardOptions(), hashing: { cost } }
  for (const [name, options] of Object.entries({ shop, admin })) {
    await app.register(
      async (scope) => {
        await scope.register(authn, { ...base, ...options } as AuthnOptions)
        scope.get('/me', { config: { auth: true } }, seen)
        scope.get('/both', { config: { auth: true } }, (request) => apis.map((of) => of(request)))
        apis.push((request) => scope.authn.sessions.of(request) ?? null)
      },
      { prefix: `/${name}` },
    )
  }
  await app.ready()
  return app
}
const apis: ((request: FastifyRequest) => unknown)[] = []

t.test('a token of another registration, also with the same key', async (t) => {
  const app = await twoScopes(
    t,
    { sessions: { name: 'shop' } },
    { sessions: { name: 'admin' }, jwt: { secret } },
  )
  const [shop, admin] = [await login(app, '/shop/login'), await login(app, '/admin/login')]
  const me = async (url: string, token: string): Promise<unknown> =>
    (await app.inject({ url, headers: bearer(token) })).json()
  t.strictSame(await me('/shop/me', shop), ['alice', { id: sidOf(shop), sub: 'alice' }])
  t.strictSame(await me('/admin/me', admin), ['alice', { id: sidOf(admin), sub: 'alice' }])
  t.strictSame(await me('/shop/me', admin), ['alice', null])
  t.strictSame(await me('/admin/me', shop), ['alice', null])
  t.strictSame(await me('/shop/both', shop), [{ id: sidOf(shop), sub: 'alice' }, null])
  t.strictSame(await me('/admin/both', admin), [null, { id: sidOf(admin), sub: 'alice' }])
  const wrong = { method: 'POST', url: '/admin/logout', headers: bearer(shop) } as const
  t.equal((await app.inject(wrong)).statusCode, 401, 'nothing that goes on is said to be left')
  t.strictSame(await me('/shop/me', shop), ['alice', { id: sidOf(shop), sub: 'alice' }])
})

t.test(
  'with cookies, numbers as sub, another claim for the user, and after a refresh',
  async (t) => {
    const users = standardOptions().userService
    const byId = {
      findByUsername: (name: string | number, request: FastifyRequest) =>
        users.findByUsername(name === 7 ? 'alice' : name, request),
    }
    const options = {
      ...standardOptions(),
      userService: byId,
      sessions: true,
      cookies: true,
      login: { claims: () => ({ sub: 7 }) },
    } as const
    const app = await appWith(t, options, (app) => app.get('/me', { config: { auth: true } }, seen))
    const payload = { username: 'alice', password: passwords.alice }
    const { cookies } = await app.inject({ method: 'POST', url: '/login', payload })
    const cookieOf = (from: typeof cookies) =>
      from.map((each) => `${each.name}=${each.value}`).join('; ')
    const me = async (cookie: string): Promise<[string, { id: string; sub: string }]> =>
      (await app.inject({ url: '/me', headers: { cookie } })).json()
    const [name, session] = await me(cookieOf(cookies))
    t.strictSame([name, session.sub], ['alice', '7'])
    const refreshed = await app.inject({
      method: 'POST',
      url: '/login/refresh',
      headers: { cookie: cookieOf(cookies) },
    })
    t.strictSame((await me(cookieOf(refreshed.cookies)))[1], session, 'the same session')
    t.match(await app.authn.sessions.list(session.sub), [{ sid: session.id }])
  },
)

t.test('actingAs: the session that its claims name', async (t) => {
  const app = await appWith(t, { ...standardOptions(), sessions: true }, async (app) => {
    await app.register(authnTesting)
    app.get('/me', { config: { auth: true } }, seen)
  })
  const alice = { id: 1, name: 'alice' }
  const as = async (claims?: object): Promise<unknown> =>
    (await app.inject({ url: '/me', ...actingAs(alice, { claims: claims as never }) })).json()
  t.strictSame(await as({ sub: 'alice', sid: 's1' }), ['alice', { id: 's1', sub: 'alice' }])
  t.strictSame(await as(), ['alice', null])
  t.strictSame(await as({ sub: 'alice' }), ['alice', null])
})
