import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  authn,
  basicAuthenticator,
  jwtAuthenticator,
  type AuthMark,
  type AuthnOptions,
  type Authenticator,
} from '../../lib/index.js'
import { needsInWords, scopeLists } from '../../lib/openapi/access.js'
import { bearer, standardOptions, tokensOf } from '../helpers/app.js'
import { validated } from '../helpers/documents.js'

// oxlint-disable-next-line typescript/no-explicit-any -- documents are deep
type Node = Record<string, any>

const info = { title: 'Test', version: '1.0.0' }
const versions = {
  '2.0': { swagger: { info } },
  '3.0': { openapi: { openapi: '3.0.3', info } },
  '3.1': { openapi: { openapi: '3.1.0', info } },
}
type Version = keyof typeof versions
const answer = (): string => 'answer'
const authenticate = (): null => null
const flows = {
  clientCredentials: { tokenUrl: 'https://id.example.org/token', scopes: { a: 'A', b: 'B' } },
}
const authenticators: Record<string, Authenticator> = {
  oauth: { authenticate, scheme: 'Bearer', openapi: { type: 'oauth2', flows } },
  oidc: {
    authenticate,
    openapi: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example.org/' },
  },
  key: { authenticate, openapi: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
  unknown: { authenticate },
  own: {
    authenticate,
    scheme: 'Bearer',
    openapi: { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' },
    onUnauthorized: (error, _, reply) => reply.code(error.statusCode).send('no'),
  },
  lenient: jwtAuthenticator({ optional: true }),
  members: anyOf(jwtAuthenticator(), basicAuthenticator()),
}

/** The document of an app, which has to be valid, and has nothing of ours left. */
async function documentOf(
  t: Test,
  version: Version,
  declare: (app: FastifyInstance) => unknown,
  { swagger: more = {}, ...options }: AuthnOptions & { swagger?: object } = {},
): Promise<Node> {
  const app = Fastify()
  t.teardown(() => app.close())
  const given = versions[version]
  await app.register(swagger, {
    ...('openapi' in given ? { openapi: { ...given.openapi, ...more } } : given),
    exposeHeadRoutes: 'exposeHead' in more,
  })
  await app.register(authn, { ...standardOptions(), authenticators, ...options } as AuthnOptions)
  await declare(app)
  await app.ready()
  const document = app.swagger() as Node
  const { result } = await validated(document)
  t.strictSame(result, { valid: true }, `the document is valid (${version})`)
  t.notMatch(app.swagger({ yaml: true }), 'x-fastify-authn')
  return document
}

t.test('lists of scopes', (t) => {
  t.strictSame(scopeLists(null), [[]])
  t.strictSame(scopeLists({ all: ['a', 'b', 'a'] }), [['a', 'b']])
  t.strictSame(scopeLists({ any: ['a', 'b', 'a'] }), [['a'], ['b']])
  t.end()
})

t.test('needs in words', (t) => {
  const need = (...names: string[]) => ({ all: names })
  const rows: [Parameters<typeof needsInWords>[0], string][] = [
    [{ scope: null, role: null }, ''],
    [{ scope: need('a:b'), role: null }, 'the scope `a:b`'],
    [{ scope: need('a', 'b'), role: null }, 'the scopes `a` and `b`'],
    [{ scope: { any: ['a', 'b', 'c'] }, role: null }, 'one of the scopes `a`, `b` or `c`'],
    [{ scope: { any: ['a', 'a'] }, role: null }, 'the scope `a`'],
    [{ scope: null, role: { any: ['x', 'y'] } }, 'one of the roles `x` or `y`'],
    [{ scope: need('a'), role: need('x') }, 'the scope `a`, and the role `x`'],
    // CommonMark 0.31 section 6.1: a longer fence, and one space on each side that is not shown.
    [{ scope: null, role: need('a`b``c') }, 'the role ```a`b``c```'],
    [{ scope: null, role: need('`a') }, 'the role `` `a ``'],
    [{ scope: null, role: need(' a ') }, 'the role `  a  `'],
    [{ scope: null, role: need('<b>*x*</b>') }, 'the role `<b>*x*</b>`'],
  ]
  for (const [needs, words] of rows) t.equal(needsInWords(needs), words)
  t.end()
})

const all = { all: ['a', 'b'] } as const
const any = { any: ['a', 'b'] } as const
const words = {
  a: 'Needs the scope `a`.',
  all: 'Needs the scopes `a` and `b`.',
  any: 'Needs one of the scopes `a` or `b`.',
  role: 'Needs the role `x`.',
}
const [insufficient, forbidden] = [
  'Your credentials do not allow this action.',
  'You are not allowed to do this.',
]

interface Shown {
  security?: unknown
  description?: unknown
}

/** For each mark, what is shown in 3.1, and in 3.0. */
const marks: [AuthMark, now: Shown, before: Shown, error: string][] = [
  [
    { scope: 'a' },
    { security: [{ bearerAuth: ['a'] }] },
    { security: [{ bearerAuth: [] }], description: words.a },
    insufficient,
  ],
  [
    { scope: all },
    { security: [{ bearerAuth: ['a', 'b'] }] },
    { security: [{ bearerAuth: [] }], description: words.all },
    insufficient,
  ],
  [
    { scope: any },
    { security: [{ bearerAuth: ['a'] }, { bearerAuth: ['b'] }] },
    { security: [{ bearerAuth: [] }], description: words.any },
    insufficient,
  ],
  [
    { role: 'x' },
    { security: [{ bearerAuth: [] }], description: words.role },
    { security: [{ bearerAuth: [] }], description: words.role },
    forbidden,
  ],
  [
    { scope: 'a', role: { any: ['x', 'y'] } },
    { security: [{ bearerAuth: ['a'] }], description: 'Needs one of the roles `x` or `y`.' },
    {
      security: [{ bearerAuth: [] }],
      description: 'Needs the scope `a`, and one of the roles `x` or `y`.',
    },
    insufficient,
  ],
  [
    { use: 'oauth', scope: any },
    { security: [{ oauth: ['a'] }, { oauth: ['b'] }] },
    { security: [{ oauth: ['a'] }, { oauth: ['b'] }] },
    insufficient,
  ],
  [
    { use: 'oidc', scope: all, role: 'x' },
    { security: [{ oidc: ['a', 'b'] }], description: words.role },
    { security: [{ oidc: ['a', 'b'] }], description: words.role },
    insufficient,
  ],
  [
    { use: ['oidc', 'jwt'], scope: any },
    {
      security: [{ oidc: ['a'] }, { oidc: ['b'] }, { bearerAuth: ['a'] }, { bearerAuth: ['b'] }],
    },
    {
      security: [{ oidc: ['a'] }, { oidc: ['b'] }, { bearerAuth: [] }],
      description: words.any,
    },
    insufficient,
  ],
  [
    { use: 'members', scope: all },
    { security: [{ bearerAuth: ['a', 'b'] }, { basicAuth: ['a', 'b'] }] },
    { security: [{ bearerAuth: [] }, { basicAuth: [] }], description: words.all },
    insufficient,
  ],
  [
    { use: 'key', scope: 'a' },
    { security: [{ key: ['a'] }] },
    { security: [{ key: [] }], description: words.a },
    insufficient,
  ],
  [
    { use: 'lenient', scope: 'a' },
    { security: [{ bearerAuth: ['a'] }] },
    { security: [{ bearerAuth: [] }], description: words.a },
    insufficient,
  ],
  [
    { use: 'unknown', scope: 'a' },
    { description: words.a },
    { description: words.a },
    insufficient,
  ],
]

for (const version of ['3.0', '3.1'] as const) {
  t.test(`every form in ${version}`, async (t) => {
    const document = await documentOf(t, version, (app) => {
      marks.forEach(([auth], index) => app.get(`/${index}`, { config: { auth } }, answer))
    })
    const lists = Object.values(document.paths as Node).flatMap(({ get }) =>
      ((get as Node)?.security ?? []).flatMap(Object.values),
    )
    t.equal(new Set(lists).size, lists.length, 'YAML would write a shared list as an alias')
    for (const [index, [auth, now, before, error]] of marks.entries()) {
      const { security, description, responses } = document.paths[`/${index}`].get as Node
      const expected = version === '3.1' ? now : before
      const name = JSON.stringify(auth)
      t.strictSame(
        { security, description },
        { security: undefined, description: undefined, ...expected },
        name,
      )
      t.ok(responses['401'], name)
      t.strictSame(
        responses['403'].content,
        {
          'application/json': {
            schema: { $ref: '#/components/schemas/AuthnError' },
            example: { error },
          },
        },
        name,
      )
    }
  })
}

t.test('Swagger 2.0 has it in words', async (t) => {
  const document = await documentOf(t, '2.0', (app) => {
    app.get('/a', { config: { auth: { scope: all } } }, answer)
    app.get('/b', { config: { auth: { use: 'oauth', scope: any } } }, answer)
  })
  t.match(document.paths['/a'].get, {
    security: [{ bearerAuth: [] }],
    description: words.all,
    responses: { 403: { examples: { 'application/json': { error: insufficient } } } },
  })
  const { security, description } = document.paths['/b'].get as Node
  t.strictSame([security, description], [undefined, words.any])
})

t.test('the refusal, as it is shown', async (t) => {
  const declare = (app: FastifyInstance): void => {
    app.get('/both', { config: { auth: { scope: 'a', role: 'x' } } }, answer)
    app.get('/role', { config: { auth: { role: 'x' } } }, answer)
    app.get('/key', { config: { auth: { use: 'key', scope: 'a' } } }, answer)
    app.get('/own', { config: { auth: { use: ['jwt', 'own'], scope: 'a' } } }, answer)
    app.get('/plain', { config: { auth: true } }, answer)
  }
  const { paths } = await documentOf(t, '3.1', declare, { defaultLanguage: 'fr' })
  const shown = (path: string): Node => paths[path].get.responses['403'] as Node
  t.match(shown('/both'), {
    description: 'The user lacks what is needed: the scope `a`, and the role `x`.',
    headers: { 'WWW-Authenticate': { description: /RFC 6750/, schema: { type: 'string' } } },
    content: {
      'application/json': {
        example: { error: 'Vos identifiants ne permettent pas cette action.' },
      },
    },
  })
  t.equal(shown('/role').description, 'The user lacks what is needed: the role `x`.')
  t.notOk('headers' in shown('/role'), 'there is no challenge for a role')
  t.notOk('headers' in shown('/key'), 'nor without a Bearer token')
  t.strictSame(
    shown('/own'),
    { description: 'The user lacks what is needed: the scope `a`.' },
    'the app writes the body itself',
  )
  t.equal(shown('/plain'), undefined)
})

t.test('what the app says stays', async (t) => {
  const own = { description: 'Mine', type: 'object', properties: { code: { type: 'string' } } }
  const config = { auth: { scope: 'a', role: 'x' } } as const
  const document = await documentOf(
    t,
    '3.1',
    (app) => {
      app.get('/description', { config, schema: { description: 'All notes.' } }, answer)
      app.get('/empty', { config, schema: { description: '' } }, answer)
      app.get('/security', { config, schema: { security: [{ bearerAuth: [] }] } }, answer)
      app.get('/open', { config, schema: { security: [] } }, answer)
      app.get('/reply', { config, schema: { response: { 403: own } } }, answer)
      app.get('/range', { config, schema: { response: { '4xx': own } } }, answer)
      app.get('/hidden', { config, schema: { hide: true } }, answer)
    },
    { swagger: { components: { securitySchemes: { bearerAuth: { type: 'oauth2', flows } } } } },
  )
  const both = 'Needs the scope `a`, and the role `x`.'
  const get = (path: string): Node => document.paths[path].get as Node
  t.match(get('/description'), {
    description: `All notes.\n\n${words.role}`,
    security: [{ bearerAuth: ['a'] }],
  })
  t.equal(get('/empty').description, words.role)
  // What the app has written of it may leave the scope out, so the words have it.
  t.match(get('/security'), { description: both, security: [{ bearerAuth: [] }] })
  t.strictSame([get('/open').description, get('/open').security], [both, []])
  t.match(get('/reply').responses['403'], {
    description: 'Mine',
    content: { 'application/json': { schema: { properties: { code: {} } } } },
  })
  t.strictSame(Object.keys(get('/range').responses as object), ['401', '403', '4XX'])
  t.notOk('/hidden' in document.paths)
})

t.test('a scheme of the app that stands in for ours decides by its own type', async (t) => {
  const declare = (app: FastifyInstance): unknown =>
    app.get('/', { config: { auth: { scope: 'a' } } }, answer)
  const components = { securitySchemes: { bearerAuth: { type: 'oauth2', flows } } }
  const { paths } = await documentOf(t, '3.0', declare, { swagger: { components } })
  t.strictSame(paths['/'].get.security, [{ bearerAuth: ['a'] }])
  t.notOk('description' in paths['/'].get)
})

t.test('groups, inner registrations, HEAD and several methods', async (t) => {
  const inner: AuthnOptions = {
    userService: { findByUsername: () => null },
    authenticators: { basic: basicAuthenticator() },
    jwt: { secret: 'another-secret-another-secret-an' },
    login: false,
    auth: { use: 'basic', role: 'x' },
  }
  const document = await documentOf(
    t,
    '3.1',
    async (app) => {
      await app.register(
        async (group) => {
          group.get('/', answer)
          group.get('/plain', { config: { auth: true } }, answer)
          group.route({ method: ['PUT', 'PATCH'], url: '/', handler: answer })
        },
        { prefix: '/group', auth: { scope: any } },
      )
      await app.register(
        async (scope) => {
          await scope.register(authn, inner)
          scope.get('/', answer)
          scope.get('/token', { config: { auth: { use: 'jwt', scope: 'c' } } }, answer)
        },
        { prefix: '/inner' },
      )
    },
    { swagger: { exposeHead: undefined } },
  )
  const scopes = [{ bearerAuth: ['a'] }, { bearerAuth: ['b'] }]
  for (const method of ['get', 'head', 'put', 'patch']) {
    t.match(document.paths['/group/'][method], { security: scopes, responses: { 403: {} } }, method)
  }
  t.strictSame(document.paths['/group/plain'].get.security, [{ bearerAuth: [] }])
  t.notOk('403' in document.paths['/group/plain'].get.responses)
  t.match(document.paths['/inner/'].get, {
    security: [{ basicAuth: [] }],
    description: words.role,
    responses: { 403: { content: { 'application/json': { example: { error: forbidden } } } } },
  })
  t.strictSame(document.paths['/inner/token'].get.security, [{ hs256Auth: ['c'] }])
})

t.test('a function of access that takes too long is a 503', async (t) => {
  const names = (): string[] => ['a']
  const statuses = async (auth: AuthMark, options: AuthnOptions): Promise<string[]> => {
    const { paths } = await documentOf(
      t,
      '3.0',
      (app) => app.get('/', { config: { auth } }, answer),
      options,
    )
    return Object.keys(paths['/'].get.responses as object)
  }
  const slow = { access: { scopesOf: names, rolesOf: names }, userServiceTimeout: 1 }
  const scoped = { use: 'key', scope: 'a' } as const
  t.strictSame(await statuses(scoped, slow), ['200', '401', '403', '503'])
  t.strictSame(await statuses({ use: 'key', role: 'a' }, slow), ['200', '401', '403', '503'])
  t.strictSame(await statuses({ use: 'key' }, slow), ['200', '401'])
  t.strictSame(await statuses(scoped, { access: { scopesOf: names } }), ['200', '401', '403'])
  const roles = { access: { rolesOf: names }, userServiceTimeout: 1 }
  t.strictSame(await statuses(scoped, roles), ['200', '401', '403'], 'it is not asked for')
})

t.test('a token of an issuer: scopes, and the 503 of its key set', async (t) => {
  const url = 'http://127.0.0.1:9'
  const corp = {
    issuer: url,
    audience: 'api',
    jwksUri: `${url}/keys`,
    user: ({ sub }: { sub?: unknown }) => ({ id: 1, name: String(sub) }),
  }
  const document = await documentOf(
    t,
    '3.1',
    (app) => app.get('/', { config: { auth: { use: 'corp', scope: 'a' } } }, answer),
    { issuers: { corp } },
  )
  const { responses, security } = document.paths['/'].get
  t.strictSame(Object.keys(responses as object), ['200', '401', '403', '503'])
  const [name = ''] = Object.keys((security as object[])[0] ?? {})
  t.strictSame(security, [{ [name]: ['a'] }])
  t.match(document.components.securitySchemes[name], {
    type: 'http',
    scheme: 'bearer',
    description: `An access token of ${url}`,
  })
})

t.test('the document says what the guard does', async (t) => {
  const urls: Record<string, AuthMark> = {
    '/one': { scope: 'a' },
    '/all': { scope: all },
    '/any': { use: ['oauth', 'jwt'], scope: any },
    '/plain': true,
    '/role': { role: 'x' },
  }
  const app = Fastify({ exposeHeadRoutes: true })
  t.teardown(() => app.close())
  await app.register(swagger, { ...versions['3.1'], exposeHeadRoutes: true })
  await app.register(authn, { ...standardOptions(), authenticators } as AuthnOptions)
  for (const [url, auth] of Object.entries(urls)) app.get(url, { config: { auth } }, answer)
  await app.register(async (group) => void group.get('/group', answer), { auth: { scope: all } })
  await app.ready()
  const { paths } = app.swagger() as Node
  const statusFor = async (url: string, method: string, scopes: string[]): Promise<number> => {
    const claims = { sub: 'alice', scope: scopes.join(' ') }
    const headers = bearer(tokensOf(app).generateTokenWithClaims(claims))
    return (await app.inject({ url, method: method as 'GET', headers })).statusCode
  }
  let checked = 0
  for (const [url, operations] of Object.entries(paths as Record<string, Node>)) {
    for (const [method, { security, description, responses }] of Object.entries(operations)) {
      if (security === undefined) continue
      checked += 1
      const lists = (security as Record<string, string[]>[]).flatMap(Object.values) as string[][]
      const isMore = description !== undefined
      for (const list of lists) {
        const name = `${method} ${url} with ${list.join(' and ')}`
        t.equal(await statusFor(url, method, list), isMore ? 403 : 200, name)
        for (const missing of list)
          t.equal(
            await statusFor(
              url,
              method,
              list.filter((each) => each !== missing),
            ),
            403,
            `${name}, without ${missing}`,
          )
      }
      const isFree = lists.every((list) => list.length === 0) && !isMore
      t.equal('403' in responses, !isFree, `${method} ${url}: 403`)
    }
  }
  t.equal(checked, 12, 'each GET and its HEAD')
})

t.test('schemas of the app that are referred to', async (t) => {
  const config = { auth: { scope: 'a' } } as const
  const problem = { type: 'object', properties: { title: { type: 'string' } } }
  const document = await documentOf(t, '3.0', (app) => {
    app.addSchema({ $id: 'problem', ...problem })
    app.addSchema({ $id: 'AuthnError', ...problem })
    const response = { 200: { $ref: 'AuthnError#' }, 403: { $ref: 'problem#' } }
    app.get('/own', { config, schema: { response } }, answer)
    app.get('/ours', { config }, answer)
  })
  const refOf = (path: string, status: number): unknown =>
    document.paths[path].get.responses[status].content['application/json'].schema
  t.notSame(refOf('/own', 403), refOf('/own', 401))
  t.strictSame(refOf('/own', 401), refOf('/ours', 403))
  const shown = (schema: unknown): unknown => {
    const { $ref } = schema as { $ref: string }
    return document.components.schemas[$ref.replace('#/components/schemas/', '')].properties
  }
  t.strictSame(shown(refOf('/own', 403)), problem.properties)
  t.strictSame(shown(refOf('/own', 200)), problem.properties)
  t.strictSame(shown(refOf('/ours', 403)), { error: { type: 'string' } })
})
