// Protected resource metadata (RFC 9728): the document, its headers, and the paths at which it is.
import cors from '@fastify/cors'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import {
  authn,
  type AnyAuthnOptions,
  type AuthMark,
  type ResourceOptions,
} from '../../lib/index.js'
import { appWith, fastify, secret, userService, type TestApp } from '../helpers/app.js'
import { thrownBy } from '../helpers/errors.js'

const wellKnown = '/.well-known/oauth-protected-resource'
const identifier = 'https://api.example.com/mcp'
const id = 'https://id.example.com/realms/corp'
const issuer = { issuer: id, user: () => null }
const named = { jwksUri: 'https://id.example.com/keys', user: () => null }

const withResource = (resource: string | ResourceOptions): AnyAuthnOptions => ({
  resource,
  issuers: { corp: issuer },
})

/** An app with the routes that a row of the table needs. */
const appOf = (t: Test, options: AnyAuthnOptions, declare?: (app: TestApp) => unknown) =>
  appWith(t, { userService: userService(), jwt: { secret }, ...options }, declare)

const documentOf = async (app: TestApp, path = ''): Promise<unknown> => {
  const response = await app.inject(`${wellKnown}${path}`)
  return response.statusCode === 200 ? response.json() : response.statusCode
}

const standard = {
  resource: identifier,
  authorization_servers: [id],
  bearer_methods_supported: ['header'],
}

const auth = (mark: AuthMark) => ({ config: { auth: mark } })

function declareScopes(app: TestApp): void {
  const use = 'corp'
  app.get('/b', auth({ use, scope: { any: ['notes:write', 'notes:read'] } }), () => 'b')
  app.post('/b', auth({ use: ['corp', 'basic'], scope: { all: ['notes:read', 'a'] } }), () => 'b')
  app.get('/jwt', auth({ scope: 'own' }), () => 'jwt')
  app.get('/basic', auth({ use: 'basic', scope: 'password' }), () => 'basic')
  app.get('/role', auth({ use, role: 'editor' }), () => 'role')
  app.get('/hidden', { ...auth({ use, scope: 'secret' }), schema: { hide: true } }, () => 'hidden')
  app.get('/open', { config: { auth: false } }, () => 'open')
}
const scopes = ['a', 'notes:read', 'notes:write', 'own']

const full = {
  identifier,
  authorizationServers: ['https://front.example.com', 'http://127.0.0.1:9/as'],
  scopesSupported: ['z', 'a'],
  name: 'Notes',
  documentation: 'https://docs.example.com/?page=1',
  policy: 'https://api.example.com/policy',
  termsOfService: 'http://localhost/terms',
}

const issuers = {
  corp: issuer,
  query: { ...named, issuer: 'https://id.example.com/?tenant=1' },
  text: { ...named, issuer: 'accounts' },
  plain: { ...named, issuer: 'http://id.example.com' },
  local: { ...named, issuer: 'http://127.0.0.1:9' },
}

const documents: [what: string, options: AnyAuthnOptions, expected: object][] = [
  ['defaults', withResource(identifier), { ...standard, scopes_supported: scopes }],
  [
    'all options',
    withResource(full),
    {
      resource: identifier,
      authorization_servers: full.authorizationServers,
      scopes_supported: ['z', 'a'],
      bearer_methods_supported: ['header'],
      resource_name: 'Notes',
      resource_documentation: full.documentation,
      resource_policy_uri: full.policy,
      resource_tos_uri: full.termsOfService,
    },
  ],
  ['no scopes', withResource({ identifier, scopesSupported: false }), standard],
  ['an empty list', withResource({ identifier, scopesSupported: [] }), standard],
  [
    'issuers that are addresses, in their order',
    { resource: { identifier, scopesSupported: false }, issuers },
    { ...standard, authorization_servers: [id, 'http://127.0.0.1:9'] },
  ],
]

t.test('the document has what the options and the marks say', async (t) => {
  for (const [what, options, expected] of documents) {
    const app = await appOf(t, options, declareScopes)
    t.strictSame(await documentOf(app, '/mcp'), expected, what)
    t.strictSame(await documentOf(app), expected, `${what}: at the root too`)
    t.strictSame(app.authn.resource?.metadata(), expected, `${what}: in the API`)
  }
})

t.test('the document is public, and is never made from what a client sends', async (t) => {
  const app = await appOf(t, withResource(identifier))
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin: 'null' }
  const get = (more: object = {}, method: 'GET' | 'HEAD' = 'GET', path = `${wellKnown}/mcp`) =>
    app.inject({ method, url: path, headers: { ...headers, ...more } })
  const response = await get()
  const { etag } = response.headers
  t.match(etag, /^"[\w-]{43}"$/)
  const cached = {
    etag,
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
    'www-authenticate': undefined,
  }
  const ok = { statusCode: 200, headers: { ...cached, 'content-type': 'application/json' } }
  t.match(response, { ...ok, body: JSON.stringify(standard) })
  t.match(await get({}, 'HEAD'), { ...ok, body: '' })
  t.match(await get({ authorization: 'Bearer wrong' }), ok, 'credentials are not read')
  for (const tag of [etag, `W/${String(etag)}`, `"a", W/${String(etag)}`, '*'])
    t.match(await get({ 'if-none-match': tag }), { statusCode: 304, headers: cached, body: '' })
  t.match(await get({ 'if-none-match': '"other"' }), ok)
  t.equal((await get({}, 'GET', `${wellKnown}/other`)).statusCode, 404)
})

t.test('@fastify/cors for the origins of the app changes nothing', async (t) => {
  for (const isFirst of [true, false]) {
    const app = fastify(t)
    const register = [
      () => app.register(cors, { origin: 'https://app.example', credentials: true }),
      () => app.register(authn, withResource(identifier)),
    ]
    for (const each of isFirst ? register : register.toReversed()) await each()
    const headers = { origin: 'https://other.example', 'access-control-request-method': 'GET' }
    const url = `${wellKnown}/mcp`
    const open = {
      'access-control-allow-origin': '*',
      'access-control-allow-credentials': undefined,
    }
    t.match(await app.inject({ url, headers }), { statusCode: 200, headers: open })
    for (const given of [headers, {}]) {
      t.match(await app.inject({ method: 'OPTIONS', url, headers: given }), {
        statusCode: 204,
        body: '',
        headers: {
          ...open,
          'access-control-allow-methods': 'GET, HEAD',
          'access-control-allow-headers': '*',
          'cache-control': undefined,
        },
      })
    }
  }
})

t.test('the routes are open and on the root, whatever the marks and the prefix', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: {} })
  const own = { auth: true, requireMarks: true } as const
  await app.register(authn, { userService: userService(), jwt: { secret }, ...own })
  await app.register(
    async (scope) => {
      await scope.register(authn, { ...withResource('https://a.example/api'), ...own })
      scope.get('/notes', auth({ use: 'corp', scope: 'notes' }), () => 'notes')
    },
    { prefix: '/api' },
  )
  await app.ready()
  t.match(await documentOf(app, '/api'), { scopes_supported: ['notes'] })
  t.equal((await app.inject(`/api${wellKnown}/api`)).statusCode, 404)
  const rows = app.authn.routes().filter(({ url }) => url.startsWith('/.well-known/'))
  const both = [wellKnown, `${wellKnown}/api`]
  t.strictSame(
    rows.map(({ methods, url, mode }) => [...methods, url, mode]),
    both.flatMap((url) => ['GET', 'HEAD', 'OPTIONS'].map((method) => [method, url, false])),
  )
  t.match(app.authn.printRoutes(), new RegExp(`^GET +${wellKnown}/api +open`, 'm'))
  t.strictSame(Object.keys(app.swagger().paths ?? {}), ['/login', '/api/notes'])
})

t.test('app.authn.resource is null, or has the document once the app is ready', async (t) => {
  const plain = await appOf(t, {})
  t.equal(plain.authn.resource, null)
  t.notOk(plain.authn.features.includes('resource'))
  const app = fastify(t)
  await app.register(authn, withResource(identifier))
  const { resource } = app.authn
  t.match(resource, { identifier, metadataUrl: `https://api.example.com${wellKnown}/mcp` })
  const found = thrownBy(() => resource?.metadata())
  t.match(found, { code: 'ERR_AUTH_REPORT' })
  let early: unknown
  app.addHook('onReady', async () => void (early = resource?.metadata()))
  await app.ready()
  t.ok(app.authn.features.includes('resource'))
  const document = resource?.metadata()
  t.strictSame(document, standard)
  t.equal(early, document)
  t.ok(Object.isFrozen(document) && Object.isFrozen(document?.authorization_servers))
})

/** An app with a registration for each resource, in scopes of their own. */
async function appWithResources(t: Test, identifiers: readonly string[], before?: () => TestApp) {
  const app = before?.() ?? fastify(t)
  for (const [index, resource] of identifiers.entries()) {
    const scope = async (inner: TestApp) => {
      await inner.register(authn, withResource(resource))
    }
    await app.register(scope, { prefix: `/${index}` })
  }
  await app.ready()
  return app
}

t.test('the path of the identifier decides; the root belongs to one resource', async (t) => {
  const host = 'https://a.example'
  const rows: [identifiers: string[], served: Record<string, string | number>][] = [
    [[host], { '': host, '/': 404 }],
    [[`${host}/`], { '': `${host}/` }],
    [[`${host}/mcp/`], { '/mcp': `${host}/mcp/`, '': `${host}/mcp/` }],
    [
      [`${host}/a`, `${host}/b/c`],
      { '/a': `${host}/a`, '/b/c': `${host}/b/c`, '/b': 404, '': 404 },
    ],
    [[`${host}/a`, host], { '/a': `${host}/a`, '': host }],
    [[host, `${host}/a`], { '/a': `${host}/a`, '': host }],
  ]
  for (const [identifiers, served] of rows) {
    const app = await appWithResources(t, identifiers)
    for (const [path, expected] of Object.entries(served)) {
      const found = await documentOf(app, path)
      const what = `${identifiers.join(' and ')}: ${path}`
      t.equal((found as { resource?: string }).resource ?? found, expected, what)
    }
  }
})

t.test('the app may have the root path, if the identifier has a path', async (t) => {
  for (const method of ['GET', 'OPTIONS'] as const) {
    const app = await appWithResources(t, ['https://a.example/mcp'], () => {
      const own = fastify(t)
      own.route({ method, url: wellKnown, handler: () => ({ resource: 'of the app' }) })
      return own
    })
    const response = await app.inject({ method, url: wellKnown })
    t.strictSame(response.json(), { resource: 'of the app' }, method)
    t.match(await documentOf(app, '/mcp'), { resource: 'https://a.example/mcp' })
  }
})

t.test('of two registrations in one scope the last one counts', async (t) => {
  const host = 'https://a.example'
  for (const first of [`${host}/a`, host]) {
    const app = fastify(t)
    for (const resource of [first, `${host}/b`]) await app.register(authn, withResource(resource))
    await app.ready()
    t.equal(await documentOf(app, '/a'), 404)
    for (const path of ['/b', '']) t.match(await documentOf(app, path), { resource: `${host}/b` })
    t.equal(app.authn.resource?.identifier, `${host}/b`)
  }
})
