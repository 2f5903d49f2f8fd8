// app.authn.sessions.of(): the session of the token that a request was authenticated with.
import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { actingAs, authnTesting } from '../../lib/testing/index.js'
import { appWith, basic, bearer, cost, passwords, secret, standardOptions } from '../helpers/app.js'
import { cookiesOf } from '../helpers/cookies.js'
import { nameOf } from '../helpers/flows.js'
import { startIssuer } from '../helpers/issuer.js'
import { claimsOf, clientOf, pairOf } from '../helpers/sessions.js'

/** What `of` gives in a handler, as JSON, after the user of the request. */
const seen = (request: FastifyRequest): unknown => [
  nameOf(request),
  request.server.authn.sessions.of(request) ?? null,
]
const alice = { username: 'alice', password: passwords.alice }

t.test('of() returns the session of a request, or null if its token has none', async (t) => {
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
  const { token } = await clientOf(app).login()
  const session = { id: String(claimsOf(token).sid), sub: 'alice' }
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

t.test('of() returns no session of another registration, even with the same key', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const apis: ((request: FastifyRequest) => unknown)[] = []
  const base = { ...standardOptions(), hashing: { cost }, jwt: { secret } }
  for (const name of ['shop', 'admin']) {
    await app.register(
      async (scope) => {
        await scope.register(authn, { ...base, sessions: { name } })
        apis.push((request) => scope.authn.sessions.of(request) ?? null)
        scope.get('/me', { config: { auth: true } }, seen)
        scope.get('/both', { config: { auth: true } }, (request) => apis.map((of) => of(request)))
      },
      { prefix: `/${name}` },
    )
  }
  const { post } = clientOf(app)
  const tokens = [await post('/shop/login', alice), await post('/admin/login', alice)]
  const [shop, admin] = tokens.map((response) => pairOf(response).token) as [string, string]
  const [ours, theirs] = [shop, admin].map((token) => ({ id: claimsOf(token).sid, sub: 'alice' }))
  const get = async (url: string, token: string): Promise<unknown> =>
    (await app.inject({ url, headers: bearer(token) })).json()
  t.strictSame(await get('/shop/me', shop), ['alice', ours])
  t.strictSame(await get('/admin/me', admin), ['alice', theirs])
  t.strictSame(await get('/shop/me', admin), ['alice', null])
  t.strictSame(await get('/admin/me', shop), ['alice', null])
  t.strictSame(await get('/shop/both', shop), [ours, null])
  t.strictSame(await get('/admin/both', admin), [null, theirs])
  t.equal((await post('/admin/logout', undefined, bearer(shop))).statusCode, 401)
  t.strictSame(await get('/shop/me', shop), ['alice', ours], 'it was not revoked')
})

t.test('of() finds a session by cookie, by a number as sub, and after a refresh', async (t) => {
  const users = standardOptions().userService
  const options = {
    ...standardOptions(),
    userService: {
      findByUsername: (name: string | number, request: FastifyRequest) =>
        users.findByUsername(name === 7 ? 'alice' : name, request),
    },
    sessions: true,
    cookies: true,
    login: { claims: () => ({ sub: 7 }) },
  } as const
  const app = await appWith(t, options, (app) => app.get('/me', { config: { auth: true } }, seen))
  const { post } = clientOf(app)
  const jarOf = (response: Awaited<ReturnType<typeof post>>): { cookie: string } => ({
    cookie: cookiesOf(response)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; '),
  })
  const me = async (headers: { cookie: string }) =>
    (await app.inject({ url: '/me', headers })).json<[string, { id: string; sub: string }]>()
  const cookies = jarOf(await post('/login', alice))
  const [name, session] = await me(cookies)
  t.strictSame([name, session.sub], ['alice', '7'])
  const refreshed = await post('/login/refresh', undefined, cookies)
  t.strictSame((await me(jarOf(refreshed)))[1], session)
  t.match(await app.authn.sessions.list(session.sub), [{ sid: session.id }])
})

t.test('of() returns the session that the claims of actingAs() name', async (t) => {
  const app = await appWith(t, { ...standardOptions(), sessions: true }, async (app) => {
    await app.register(authnTesting)
    app.get('/me', { config: { auth: true } }, seen)
  })
  const user = { id: 1, name: 'alice' }
  const as = async (claims?: object): Promise<unknown> =>
    (await app.inject({ url: '/me', ...actingAs(user, { claims: claims as never }) })).json()
  t.strictSame(await as({ sub: 'alice', sid: 's1' }), ['alice', { id: 's1', sub: 'alice' }])
  t.strictSame(await as(), ['alice', null])
  t.strictSame(await as({ sub: 'alice' }), ['alice', null])
})
