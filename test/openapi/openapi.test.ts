// program: requests
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyPluginCallback } from 'fastify'
import fp from 'fastify-plugin'
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import { z } from 'zod'
import {
  anyOf,
  authn,
  basicAuthenticator,
  jwtAuthenticator,
  type AuthMark,
  type Authenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { bearer, standardOptions } from '../helpers/app.js'
import { validated } from '../helpers/documents.js'
import { clientOf } from '../helpers/sessions.js'

// oxlint-disable-next-line typescript/no-explicit-any -- documents are deep
type Node = Record<string, any>
type SwaggerOptions = FastifyDynamicSwaggerOptions

const info = { title: 'Test', version: '1.0.0' }
const versions = {
  '2.0': { swagger: { info } },
  '3.0': { openapi: { openapi: '3.0.3', info } },
  '3.1': { openapi: { openapi: '3.1.0', info } },
} satisfies Record<string, SwaggerOptions>
const everyVersion = Object.entries(versions) as [keyof typeof versions, SwaggerOptions][]

const answer = (): string => 'answer'
const authenticate = (): null => null
const flows = {
  clientCredentials: { tokenUrl: 'https://id.example.org/token', scopes: { a: 'A', b: 'B' } },
}
const apiKey = { type: 'apiKey', in: 'header', name: 'X-Api-Key' } as const
const oidc = { type: 'openIdConnect', openIdConnectUrl: 'https://id.example.org/' } as const
const jwtScheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
const basicScheme = { type: 'http', scheme: 'basic' }
const authenticators: Record<string, Authenticator> = {
  'api key': { authenticate, openapi: apiKey },
  cookie: { authenticate, openapi: { type: 'apiKey', in: 'cookie', name: 'sid' } },
  oauth: { authenticate, openapi: { type: 'oauth2', flows } },
  oidc: { authenticate, openapi: oidc },
  digest: { authenticate, scheme: 'Digest' },
  opaque: { authenticate, scheme: 'Bearer' },
  unknown: { authenticate },
  lenient: jwtAuthenticator({ optional: true }),
  reader: jwtAuthenticator({ audience: 'reader' }),
  members: anyOf(jwtAuthenticator(), basicAuthenticator()),
}
const everything = (): AuthnOptions => ({
  ...standardOptions(),
  basic: { username: 'admin', password: 'open sesame' },
  authenticators,
})

interface Wanted {
  authn?: AuthnOptions | null
  swagger?: SwaggerOptions
  /** Declares routes after both plugins. */
  declare?: (app: FastifyInstance) => unknown
  /** Registers both plugins in its own way. */
  register?: (app: FastifyInstance) => unknown
}

async function appOf(t: Test, wanted: Wanted): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  if (wanted.register === undefined) {
    await app.register(swagger, wanted.swagger ?? versions['3.1'])
    if (wanted.authn !== null) await app.register(authn, wanted.authn ?? everything())
  } else {
    await wanted.register(app)
  }
  await wanted.declare?.(app)
  await app.ready()
  return app
}

/** The document of an app, which has to be valid, and say the same in YAML. */
async function checked(t: Test, app: FastifyInstance): Promise<Node> {
  const document = app.swagger() as Node
  const { result, specification } = await validated(app.swagger({ yaml: true }))
  t.strictSame(result, { valid: true }, 'its YAML is valid')
  t.strictSame(specification, JSON.parse(JSON.stringify(document)), 'and says the same')
  return document
}

const documentOf = async (t: Test, wanted: Wanted) => checked(t, await appOf(t, wanted))

/** Declares a GET route for each mark. */
const gets =
  (marks: Record<string, AuthMark | undefined>) =>
  (app: FastifyInstance): void => {
    for (const [url, auth] of Object.entries(marks))
      app.get(url, auth === undefined ? {} : { config: { auth } }, answer)
  }
const numbered = (rows: readonly (readonly [AuthMark | undefined, ...unknown[]])[]) =>
  gets(Object.fromEntries(rows.map(([auth], index) => [`/${index}`, auth])))

/** What a document says of a GET route with a mark. */
async function operationFor(t: Test, auth: AuthMark, options: AuthnOptions): Promise<Node> {
  const document = await documentOf(t, { authn: options, declare: gets({ '/': auth }) })
  return document.paths['/'].get as Node
}

/** The schema of the body of a response. */
const bodyIn = ({ schema, content }: Node) => (schema ?? content['application/json'].schema) as Node
const anyMembers = { type: 'object', additionalProperties: true }
const integer = { type: 'integer' }

const statusesOf = ({ responses }: Node): string[] => Object.keys(responses as object)

/** The security requirements of each path. */
function securityIn({ paths }: Node): Record<string, unknown> {
  const items = Object.entries(paths as Record<string, Record<string, Node>>)
  return Object.fromEntries(items.map(([path, item]) => [path, Object.values(item)[0]?.security]))
}

const schemesIn = (document: Node): Node =>
  (document.securityDefinitions ?? document.components.securitySchemes) as Node

const jwt = { bearerAuth: [] }
const password = { basicAuth: [] }
const busy = ['429', '503']

/** For each mark: alternatives, and statuses besides 200. */
const marks: [AuthMark | undefined, object[] | undefined, string[]][] = [
  [undefined, undefined, []],
  [false, undefined, []],
  [{ mode: false, use: 'basic' }, undefined, []],
  [true, [jwt], ['401']],
  ['optional', [{}, jwt], ['401']],
  ['try', [{}, jwt], []],
  [{ use: 'lenient' }, [{}, jwt], ['401']],
  [{ use: 'basic' }, [password], ['401', ...busy]],
  [{ mode: 'optional', use: 'basic' }, [{}, password], ['401', ...busy]],
  [{ mode: 'try', use: 'basic' }, [{}, password], busy],
  [{ use: 'configBasic' }, [password], ['401', '429']],
  [{ use: ['jwt', 'basic'] }, [jwt, password], ['401', ...busy]],
  [{ use: ['basic', 'configBasic'] }, [password], ['401', ...busy]],
  [{ use: ['reader', 'jwt', 'opaque'] }, [jwt], ['401']],
  [{ use: 'members' }, [jwt, password], ['401', ...busy]],
  [{ use: 'api key' }, [{ api_key: [] }], ['401']],
  [{ use: 'digest' }, [{ digest: [] }], ['401']],
  [{ use: 'unknown' }, undefined, ['401']],
]

for (const [version, options] of everyVersion) {
  t.test(`${version} lists the requirements and statuses of every mark`, async (t) => {
    const document = await documentOf(t, { swagger: options, declare: numbered(marks) })
    for (const [index, [auth, security, statuses]] of marks.entries()) {
      const operation = document.paths[`/${index}`].get as Node
      t.strictSame(
        { security: operation.security, statuses: statusesOf(operation) },
        { security, statuses: ['200', ...statuses] },
        JSON.stringify(auth),
      )
    }
    const schemes = schemesIn(document)
    const authorization = { ...apiKey, name: 'Authorization' }
    const old = { bearerAuth: authorization, basicAuth: { type: 'basic' }, digest: authorization }
    const http = { bearerAuth: jwtScheme, basicAuth: basicScheme, digest: { scheme: 'digest' } }
    t.match(schemes, { ...(version === '2.0' ? old : http), api_key: apiKey })
    t.equal(Object.keys(schemes as object).length, 4, 'one for authenticators of one header')
  })
}

for (const [version, options] of everyVersion) {
  for (const header of [undefined, 'X-API-Key']) {
    t.test(`${version} describes API keys with the option header: ${header}`, async (t) => {
      const store = memoryApiKeys({ prefix: 'shop' })
      const apiKeys = { prefix: 'acme', store, ...(header !== undefined && { header }) }
      const document = await documentOf(t, {
        authn: { ...standardOptions(), apiKeys },
        swagger: options,
        declare: gets({
          '/key': { use: 'apiKey' },
          '/any': { use: ['jwt', 'apiKey'], scope: any },
          '/optional': { mode: 'optional', use: 'apiKey' },
        }),
      })
      const names = ['apiKeyAuth', ...(header === undefined ? [] : ['apiKeyHeader'])]
      const keys = names.map((name) => ({ [name]: [] }))
      const lists = version === '3.1' ? [['a'], ['b']] : [[]]
      const all = ['bearerAuth', ...names]
      t.strictSame(securityIn(document), {
        '/login': undefined,
        '/key': keys,
        '/any': all.flatMap((name) => lists.map((list) => ({ [name]: list }))),
        '/optional': [{}, ...keys],
      })
      t.strictSame(statusesOf(document.paths['/key'].get as Node), ['200', '401', ...busy])
      t.match(document.paths['/any'].get.responses['403'].description, either)
      const schemes = schemesIn(document)
      const asHeader = { type: 'apiKey', in: 'header' }
      t.match(schemes, {
        apiKeyAuth:
          version === '2.0'
            ? { ...asHeader, name: 'Authorization' }
            : { type: 'http', scheme: 'bearer', bearerFormat: undefined },
        ...(header !== undefined && { apiKeyHeader: { ...asHeader, name: /^x-api-key$/i } }),
      })
      t.strictSame(Object.keys(schemes).toSorted(), all.toSorted())
    })
  }
}

t.test('throttle, userServiceTimeout and access decide which statuses are listed', async (t) => {
  const names = (): string[] => ['a']
  const slow = { access: { scopesOf: names, rolesOf: names }, userServiceTimeout: 1 }
  const wrapped = { authenticators: { wrapped: { ...basicAuthenticator() } } }
  const store = memoryApiKeys({ prefix: 'shop' })
  const apiKeys = { apiKeys: { prefix: 'acme', store }, throttle: false } as const
  const rows: [AuthnOptions, AuthMark, string[]][] = [
    [{}, { use: 'basic', role: 'x' }, ['401', '403', ...busy]],
    [{ throttle: false }, { use: 'basic' }, ['401', '503']],
    [{ userServiceTimeout: 1 }, true, ['401', '503']],
    [wrapped, { use: 'wrapped' }, ['401', ...busy]],
    [slow, { use: 'api key', scope: 'a' }, ['401', '403', '503']],
    [slow, { use: 'api key', role: 'a' }, ['401', '403', '503']],
    [apiKeys, { use: 'apiKey' }, ['401', '503']],
  ]
  for (const [options, auth, statuses] of rows) {
    const { responses } = await operationFor(t, auth, { ...everything(), ...options })
    t.strictSame(Object.keys(responses), ['200', ...statuses], JSON.stringify(auth))
    for (const { description } of Object.values(responses) as Node[]) t.notMatch(description, /\n/)
  }
})

const all = { all: ['a', 'b'] } as const
const any = { any: ['a', 'b'] } as const
const one = 'scope `a`'
const both = 'scope `a` and `b`'
const either = 'scope `a` or `b`'
const oauth = [{ oauth: ['a'] }, { oauth: ['b'] }]
const bearers = [{ bearerAuth: ['a'] }, { bearerAuth: ['b'] }]

/** For each mark: what is needed, and the requirements in 3.1 and in 3.0. */
const needs: [AuthMark, needs: string, now: object[], before: object[]][] = [
  [{ scope: 'a' }, one, [{ bearerAuth: ['a'] }], [jwt]],
  [{ scope: all }, both, [{ bearerAuth: ['a', 'b'] }], [jwt]],
  [{ scope: any }, either, bearers, [jwt]],
  [{ role: 'x' }, 'role `x`', [jwt], [jwt]],
  [
    { scope: 'a', role: { any: ['x', 'y', 'z'] } },
    `${one}; role \`x\` or \`y\` or \`z\``,
    [{ bearerAuth: ['a'] }],
    [jwt],
  ],
  [{ use: 'oauth', scope: any }, either, oauth, oauth],
  [{ use: ['oauth', 'jwt'], scope: any }, either, [...oauth, ...bearers], [...oauth, jwt]],
  [{ use: 'oidc', scope: all }, both, [{ oidc: ['a', 'b'] }], [{ oidc: ['a', 'b'] }]],
]

for (const [version, options] of everyVersion) {
  t.test(`${version} names the scopes and roles that a route needs`, async (t) => {
    const document = await documentOf(t, { swagger: options, declare: numbered(needs) })
    for (const [index, [auth, needed, now, before]] of needs.entries()) {
      const { security, description, responses } = document.paths[`/${index}`].get as Node
      const name = JSON.stringify(auth)
      t.ok(responses['403'].description.includes(` ${needed}.`), name)
      if (version === '2.0') t.equal(description, `Needs ${needed}.`, name)
      else t.strictSame(security, version === '3.1' ? now : before, name)
    }
    const described = ['/4', '/5'].map((path) => document.paths[path].get.description as unknown)
    const listed = described.map((text) => !String(text).includes('scope'))
    t.strictSame(
      listed,
      [version === '3.1', version !== '2.0'],
      'the description names scopes that no requirement lists',
    )
  })
}

t.test('requests pass if they meet a documented requirement, others get 401 or 403', async (t) => {
  const urls: Record<string, AuthMark> = {
    '/one': { scope: 'a' },
    '/all': { scope: all },
    '/any': { use: ['oauth', 'jwt'], scope: any },
    '/plain': true,
    '/role': { role: 'x' },
    '/optional': 'optional',
    '/open': false,
  }
  const app = await appOf(t, {
    swagger: { ...versions['3.1'], exposeHeadRoutes: true },
    declare: async (app) => {
      gets(urls)(app)
      const group = { auth: { scope: all } }
      await app.register(async (inner) => void inner.get('/group', answer), group)
    },
  })
  const { paths } = (await checked(t, app)) as { paths: Record<string, Node> }
  const statusFor = async (url: string, method: string, scopes?: string[]): Promise<number> => {
    const claims = { sub: 'alice', scope: scopes?.join(' ') }
    const headers = scopes && bearer(app.jwtService.generateTokenWithClaims(claims))
    const request = { url, method: method as 'GET', headers: headers ?? {} }
    return (await app.inject(request)).statusCode
  }
  const operations = Object.entries(paths).flatMap(([url, item]) =>
    Object.entries(item as Record<string, Node>).map(([method, node]) => ({ url, method, node })),
  )
  for (const { url, method, node } of operations.filter(({ method }) => method !== 'post')) {
    const security = (node.security ?? []) as Record<string, string[]>[]
    const lists = security.flatMap(Object.values) as string[][]
    const needsMore = node.description !== undefined
    const isOpen = security.length === 0 || security.some((each) => Object.keys(each).length === 0)
    t.equal(await statusFor(url, method), isOpen ? 200 : 401, `${method} ${url}, anonymous`)
    for (const list of lists) {
      const name = `${method} ${url} with ${list.join(' and ')}`
      t.equal(await statusFor(url, method, list), needsMore ? 403 : 200, name)
      for (const missing of list) {
        const rest = list.filter((each) => each !== missing)
        t.equal(await statusFor(url, method, rest), 403, `${name}, without ${missing}`)
      }
    }
    t.equal('403' in node.responses, needsMore || lists.flat().length > 0, `${method} ${url}: 403`)
  }
  t.equal(operations.length, 17, 'each GET and its HEAD, and the login')
})

for (const [version, options] of everyVersion) {
  t.test(`${version} describes login, refresh and logout, whose examples work`, async (t) => {
    const app = await appOf(t, { swagger: options, authn: { ...everything(), sessions: true } })
    const { paths } = await checked(t, app)
    const bodyOf = (path: string): Node => {
      const { parameters, requestBody } = paths[path].post as Node
      return (parameters?.[0] ?? requestBody.content['application/json']).schema as Node
    }
    const security = {
      '/login': undefined,
      '/login/refresh': undefined,
      '/login/confirm': [jwt],
      '/logout': [{}, jwt],
    }
    t.strictSame(securityIn({ paths }), security)
    for (const [path, success] of [
      ['/login', '200'],
      ['/login/refresh', '200'],
      ['/logout', '204'],
    ] as const) {
      const statuses = [success, '400', '401', ...busy]
      t.strictSame(statusesOf(paths[path].post as Node), statuses, path)
    }
    t.strictSame(bodyOf('/login').required, ['username', 'password'])
    t.strictSame(bodyOf('/login/refresh').required, ['refreshToken'])
    const fields = Object.keys(bodyOf('/logout').properties as object)
    t.strictSame(fields, ['refreshToken', 'everywhere'])
    for (const path of ['/login', '/login/refresh']) {
      const { properties, required } = bodyIn((paths[path].post as Node).responses['200'])
      t.strictSame(Object.keys(properties as object), ['token', 'refreshToken', 'expiresIn'], path)
      t.strictSame(required, ['token', 'refreshToken', 'expiresIn'])
    }
    t.match(paths['/logout'].post, { tags: ['authentication'], summary: 'Log out' })

    // As a page of documents calls it: with the credentials that its `security` asks for, and the default of its body.
    const { login, post } = clientOf(app)
    const { token } = await login()
    const { everywhere } = bodyOf('/logout').properties as Node
    const body = { refreshToken: 'string', everywhere: everywhere.default as boolean }
    t.equal((await post('/logout', body, bearer(token))).statusCode, 204)
  })
}

const ownError = {
  type: 'object',
  properties: { code: { type: 'string' }, detail: { type: 'string' } },
  required: ['code'],
}
const errorBody = ({ code, message }: { code: string; message: string }) => ({
  code,
  detail: message,
})
const error = { type: 'string' }
const defaultError = { type: 'object', properties: { error }, required: ['error'] }

/** For each set of options: the schema of the bodies of rejections, and of malformed bodies. */
const bodies: Record<string, [AuthnOptions, rejected: object, malformed: object]> = {
  'the default': [{}, defaultError, {}],
  errorBody: [{ errorBody }, anyMembers, anyMembers],
  'errorBody and errorSchema': [{ errorBody, errorSchema: ownError }, ownError, ownError],
}

for (const [version, options] of everyVersion) {
  t.test(`${version} describes the bodies that rejections have`, async (t) => {
    for (const [name, [given, rejected, malformed]] of Object.entries(bodies)) {
      const app = await appOf(t, {
        swagger: options,
        authn: { ...everything(), cookies: true, sessions: true, ...given },
        declare(app) {
          const auth = { use: ['jwt', 'basic'], scope: 'a' }
          app.post('/notes', { config: { auth } }, answer)
        },
      })
      const { paths } = await checked(t, app)
      for (const path of ['/notes', '/login', '/login/refresh', '/logout']) {
        const responses = paths[path].post.responses as Record<string, Node>
        const { 400: bad, 401: _, 403: __, 429: tooMany, 503: busy, ...others } = responses
        t.strictSame(Object.keys(others).length, 1, `${name}: ${path}`)
        for (const status of ['401', '403', '429', '503']) {
          const { description, ...schema } = bodyIn(responses[status] as Node)
          t.strictSame(schema, rejected, `${name}: ${status} of ${path}`)
          t.equal(description, responses[status]?.description)
        }
        for (const { headers } of [tooMany, busy] as Node[])
          t.match(headers, { 'Retry-After': version === '2.0' ? integer : { schema: integer } })
        if (bad === undefined) continue
        const { description: ___, ...schema } = bodyIn(bad)
        t.strictSame(schema, malformed, `${name}: 400 of ${path}`)
      }
      const response = await app.inject({ method: 'POST', url: '/notes' })
      const properties = Object.keys((rejected as Node).properties ?? { code: 0, detail: 0 })
      t.strictSame(Object.keys(response.json<object>()), properties, 'the body that is sent')
    }
  })
}

t.test('responses refer to an errorSchema that is a $ref, also in inner scopes', async (t) => {
  const document = await documentOf(t, {
    register: async (app) => {
      const options = everything()
      app.addSchema({ $id: 'Problem', ...ownError })
      await app.register(swagger, versions['3.1'])
      const errorSchema = { $ref: 'Problem#' }
      await app.register(authn, { ...options, errorBody, errorSchema })
      for (const [url, more] of [
        ['/inherited', {}],
        ['/other', { errorBody: () => ({}) }],
      ] as const)
        await app.register(async (scope) => {
          await scope.register(authn, { ...options, login: false, ...more })
          scope.post(url, { config: { auth: true } }, answer)
        })
    },
  })
  const [name] = Object.keys(document.components.schemas as object)
  const $ref = `#/components/schemas/${name}`
  for (const path of ['/login', '/inherited']) {
    const response = document.paths[path].post.responses['401'] as Node
    t.match(bodyIn(response), { $ref }, path)
    t.match(response.description, /wrong|accepted/)
  }
  const { description: _, ...other } = bodyIn(
    document.paths['/other'].post.responses['401'] as Node,
  )
  t.strictSame(other, anyMembers, 'errorBody without errorSchema: any members')
})

t.test('no body is described for authenticators with onUnauthorized', async (t) => {
  const own = { authenticate, onUnauthorized: () => undefined }
  const options = { ...everything(), authenticators: { own } }
  for (const use of ['own', ['jwt', 'own']]) {
    const { responses } = await operationFor(t, { use }, options)
    const { description } = responses['401'] as Node
    t.strictSame(bodyIn(responses['401'] as Node), { description })
  }
})

t.test('without sessions, a login returns a token and nothing else', async (t) => {
  const { paths } = await documentOf(t, { authn: { ...everything(), sessions: false } })
  const { properties, required } = bodyIn(paths['/login'].post.responses['200'] as Node)
  t.strictSame([Object.keys(properties as object), required], [['token'], ['token']])
})

t.test('own routes get short operation ids, or ids made of the path if not unique', async (t) => {
  const namesOf = ({ paths }: Node): Record<string, string> => {
    const found = Object.entries(paths as Record<string, Record<string, Node>>).flatMap(
      ([path, item]) =>
        Object.entries(item).map(([method, { operationId }]) => [`${method} ${path}`, operationId]),
    )
    return Object.fromEntries(found.filter(([, operationId]) => operationId !== undefined)) as never
  }
  const only = await documentOf(t, {
    register: async (app) => {
      await app.register(swagger, versions['3.1'])
      const v1 = async (scope: FastifyInstance): Promise<void> => {
        await scope.register(authn, { ...everything(), sessions: true })
        scope.get('/refresh', { schema: { operationId: 'refresh' } }, answer)
        scope.get('/plain', { config: { auth: true } }, answer)
      }
      await app.register(v1, { prefix: '/v1' })
    },
  })
  t.strictSame(namesOf(only), {
    'post /v1/login': 'login',
    'post /v1/login/refresh': 'v1LoginRefresh',
    'post /v1/logout': 'logout',
    'get /v1/login/confirm': 'v1LoginConfirmMethods',
    'post /v1/login/confirm': 'confirm',
    'get /v1/refresh': 'refresh',
  })
  const routeOptions = { schema: { operationId: 'signIn' } }
  const several = await documentOf(t, {
    register: async (app) => {
      await app.register(swagger, versions['3.1'])
      app.get('/logout', { schema: { operationId: 'logout' } }, answer)
      const add = (secret: string, options: AuthnOptions, prefix = '') =>
        app.register(
          async (scope) => scope.register(authn, { ...everything(), jwt: { secret }, ...options }),
          { prefix },
        )
      await add('a'.repeat(31) + 'b', { sessions: { name: 'a' } })
      await add('b'.repeat(31) + 'c', { sessions: { name: 'b' } }, '/admin')
      await add('d'.repeat(31) + 'e', { login: { path: '/shop/sign-in', routeOptions } })
    },
  })
  t.strictSame(namesOf(several), {
    'post /login': 'login',
    'post /login/refresh': 'loginRefresh',
    'get /logout': 'logout',
    'post /logout': 'postLogout',
    'get /login/confirm': 'loginConfirmMethods',
    'post /login/confirm': 'loginConfirm',
    'post /admin/login': 'adminLogin',
    'post /admin/login/refresh': 'adminLoginRefresh',
    'post /admin/logout': 'adminLogout',
    'get /admin/login/confirm': 'adminLoginConfirmMethods',
    'post /admin/login/confirm': 'adminLoginConfirm',
    'post /shop/sign-in': 'signIn',
  })
})

t.test('the schema of login.routeOptions overrides or hides the login route', async (t) => {
  const loginOf = async (login: AuthnOptions['login']): Promise<Node> => {
    const { paths } = await documentOf(t, {
      register: async (app) => {
        await app.register(swagger, versions['3.0'])
        await app.register(
          async (scope) => scope.register(authn, { ...everything(), auth: true, login }),
          { prefix: '/v1' },
        )
      },
    })
    return (paths['/v1/session'] ?? {}) as Node
  }
  const path = '/session'
  const example = { email: 'demo', pass: 'demo-2026' }
  const schema = {
    summary: 'Sign in',
    body: { examples: [example] },
    response: { 401: { description: 'Mine', type: 'null' } },
  }
  const fields = { usernameField: 'email', passwordField: 'pass' }
  const { post } = await loginOf({ path, ...fields, routeOptions: { schema } })
  t.equal(post.summary, 'Sign in')
  t.strictSame(post.responses['401'], { description: 'Mine' })
  t.match(post.requestBody.content['application/json'].schema, {
    required: ['email', 'pass'],
    example,
  })
  t.strictSame(await loginOf({ path, routeOptions: { schema: { hide: true } } }), {})
})

t.test('cookies add cookieAuth, and a 403 for CSRF on methods other than GET', async (t) => {
  const wanted: Wanted = {
    authn: { ...everything(), cookies: { name: 'shop' }, sessions: true },
    declare(app) {
      app.route({ method: ['GET', 'POST'], url: '/notes', config: { auth: true }, handler: answer })
      app.get('/safe', { config: { auth: { use: ['jwt', 'basic'] } } }, answer)
      app.post('/try', { config: { auth: 'try' } }, answer)
      app.post('/scope', { config: { auth: { scope: 'a' } } }, answer)
      app.post('/basic', { config: { auth: { use: 'basic' } } }, answer)
    },
  }
  const cookie = { cookieAuth: [] }
  const document = await documentOf(t, wanted)
  const { paths, components } = document
  const scheme = { type: 'apiKey', in: 'cookie', name: '__Host-shop-token' }
  t.strictSame(components.securitySchemes.cookieAuth, scheme)
  t.strictSame(securityIn(document), {
    '/login': undefined,
    '/login/refresh': undefined,
    '/login/confirm': [jwt, cookie],
    '/logout': [{}, jwt, cookie],
    '/notes': [jwt, cookie],
    '/safe': [jwt, cookie, password],
    '/try': [{}, jwt, cookie],
    '/scope': [{ bearerAuth: ['a'] }, { cookieAuth: ['a'] }],
    '/basic': [password],
  })
  const crossSite = Object.entries(paths as Record<string, Record<string, Node>>)
    .filter(([, { post }]) => post?.responses['403']?.description.includes('another site'))
    .map(([path]) => path)
  const own = ['/login', '/login/refresh', '/logout', '/login/confirm']
  t.strictSame(crossSite, [...own, '/notes', '/try', '/scope', '/basic'])
  t.match(paths['/scope'].post.responses['403'].description, one)
  t.notOk('403' in paths['/safe'].get.responses, 'a GET changes nothing')
  t.notMatch(JSON.stringify(paths['/login'].post.responses['200']), '"token"')
  t.notOk('required' in paths['/login/refresh'].post.requestBody.content['application/json'].schema)
  const old = await documentOf(t, { ...wanted, swagger: versions['2.0'] })
  t.strictSame(Object.keys(old.securityDefinitions as object), ['bearerAuth', 'basicAuth'])
})

for (const [version, options] of everyVersion) {
  t.test(`${version} has the header of cookies.apps, and both bodies`, async (t) => {
    const accounts = {
      url: 'https://shop.example/account',
      create: () => true,
      update: () => true,
      sendMail: () => undefined,
    }
    const documentWith = (apps: boolean) =>
      documentOf(t, {
        swagger: options,
        authn: {
          ...standardOptions(),
          login: { subject: () => 1 },
          cookies: { apps },
          sessions: true,
          accounts,
        },
      })
    const routes = (document: Node) =>
      Object.entries(document.paths as Record<string, Node>).map(([path, { post }]) => {
        const { 200: ok } = post.responses as Record<string, Node>
        const [header, ...others] =
          (post.parameters as Node[] | undefined)?.filter((each) => each.in === 'header') ?? []
        t.strictSame(others, [])
        const members = ok && Object.keys(bodyIn(ok).properties as object)
        return { path, header, ok, members, required: ok && bodyIn(ok).required }
      })
    const found = routes(await documentWith(true))
    const giving = found.filter(({ members }) => members?.includes('token'))
    t.equal(found.filter(({ header }) => header).length, 4)
    t.strictSame(
      giving.map(({ path, header }) => [path, header !== undefined]),
      [
        ['/login', true],
        // It goes by where the refresh token is.
        ['/login/refresh', false],
        ['/login/confirm', true],
        ['/sign-up/finish', true],
        ['/password/change', true],
      ],
    )
    for (const { header, ok, members, required } of giving) {
      t.strictSame([members, required], [['token', 'refreshToken', 'expiresIn'], undefined])
      t.match(ok?.description, /cookies.*Token-Delivery: body/)
      if (header === undefined) continue
      t.match(header, { name: 'Token-Delivery', description: /400/ })
      t.not(header.required, true)
      t.strictSame((header.schema ?? header).enum, ['body'])
    }
    for (const { header, members } of routes(await documentWith(false))) {
      t.equal(header, undefined)
      t.notOk(members?.includes('token'))
    }
  })
}

t.test('security, responses and hide of a route override what the plugin says', async (t) => {
  const own = { description: 'Mine', type: 'object', properties: { code: { type: 'string' } } }
  const config = { auth: { use: ['jwt', 'basic'], scope: 'a', role: 'x' } } as const
  const mtls = { type: 'http', scheme: 'mutual' } as const
  const components = { securitySchemes: { mtls } }
  const { paths, components: shown } = await documentOf(t, {
    swagger: { openapi: { ...versions['3.1'].openapi, components } },
    declare(app) {
      app.get('/own', { config, schema: { security: [{ mtls: [] }] } }, answer)
      app.get('/ours', { config, schema: { security: [{ bearerAuth: [] }] } }, answer)
      app.get('/none', { config, schema: { security: [] } }, answer)
      app.get('/reply', { config, schema: { response: { 401: own, '5xx': own } } }, answer)
      app.get('/described', { config, schema: { description: 'All notes.' } }, answer)
      const hidden = { config: { auth: { use: 'api key' } }, schema: { hide: true } }
      app.get('/hidden', hidden, answer)
    },
  })
  t.strictSame(paths['/own'].get.security, [{ mtls: [] }])
  t.match(paths['/own'].get.description, one, 'its own requirement may not list the scope')
  t.strictSame(paths['/ours'].get.security, [jwt])
  t.strictSame(paths['/none'].get.security, [])
  t.match(paths['/reply'].get.responses['401'], {
    description: 'Mine',
    content: { 'application/json': { schema: { properties: { code: {} } } } },
  })
  t.strictSame(statusesOf(paths['/reply'].get as Node), ['401', '403', ...busy, '5XX'])
  t.equal(paths['/described'].get.description, 'All notes.\n\nNeeds role `x`.')
  t.notOk('/hidden' in paths)
  t.strictSame(Object.keys(shown.securitySchemes as object), ['mtls', 'bearerAuth', 'basicAuth'])
})

t.test('a security scheme of the app replaces that of the plugin with its name', async (t) => {
  const securitySchemes = { bearerAuth: { type: 'oauth2', flows } } as const
  const before = structuredClone(securitySchemes)
  const document = await documentOf(t, {
    swagger: { openapi: { ...versions['3.0'].openapi, components: { securitySchemes } } },
    declare: gets({ '/': { use: ['jwt', 'basic'] } }),
  })
  t.strictSame(document.components.securitySchemes, { ...before, basicAuth: basicScheme })
  t.strictSame(securitySchemes, before, 'the object of the app is not changed')
})

t.test('unnamed authenticators are customAuth, and Swagger 2.0 omits OpenID Connect', async (t) => {
  const options = { authenticator: { authenticate, openapi: apiKey } }
  const { components } = await documentOf(t, { authn: options, declare: gets({ '/': true }) })
  t.strictSame(components.securitySchemes, { customAuth: apiKey })
  const old = await documentOf(t, {
    swagger: versions['2.0'],
    declare: gets({ '/oidc': { use: 'oidc' }, '/both': { use: ['oidc', 'jwt'] } }),
  })
  t.match(securityIn(old), { '/oidc': undefined, '/both': [jwt] })
})

t.test('a route for tokens of an issuer lists bearerAuth and a 503', async (t) => {
  const url = 'http://127.0.0.1:9'
  const corp = {
    issuer: url,
    audience: 'api',
    jwksUri: `${url}/keys`,
    user: ({ sub }: { sub?: unknown }) => ({ id: 1, name: String(sub) }),
  }
  const options = { ...everything(), issuers: { corp } }
  const operation = await operationFor(t, { use: 'corp', scope: 'a' }, options)
  t.strictSame(operation.security, [{ bearerAuth: ['a'] }])
  t.strictSame(statusesOf(operation), ['200', '401', '403', '503'])
  const introspection = { clientId: 'api', clientSecret: 'a secret of the test', endpoint: url }
  for (const more of [{}, { introspection }]) {
    const issuers = { corp: { ...corp, ...more } }
    const declare = gets({ '/': { use: 'corp' } })
    const document = await documentOf(t, { authn: { issuers }, declare })
    const { bearerFormat } = schemesIn(document).bearerAuth as { bearerFormat?: unknown }
    t.equal(bearerFormat, 'introspection' in more ? undefined : 'JWT')
  }
})

for (const [version, options] of everyVersion.slice(1)) {
  t.test(`${version} describes bearerAuth by all that the registrations accept`, async (t) => {
    const url = 'http://127.0.0.1:9'
    const issuerAt = (path: string) => ({
      issuer: `${url}/${path}`,
      audience: 'api',
      jwksUri: `${url}/keys`,
      user: ({ sub }: { sub?: unknown }) => ({ id: 1, name: String(sub) }),
    })
    const partner = { type: 'http', scheme: 'Bearer', description: 'A ticket' } as const
    const own = {
      ...standardOptions(),
      apiKeys: { prefix: 'acme', store: memoryApiKeys({ prefix: 'shop' }) },
      authenticators: { partner: { authenticate, scheme: 'Bearer', openapi: partner } },
    }
    const both = { ...own, issuers: { corp: issuerAt('corp'), shop: issuerAt('shop') } }
    const describedIn = async (wanted: Wanted) => {
      const document = await documentOf(t, { swagger: options, ...wanted })
      return schemesIn(document) as Record<string, Node>
    }

    for (const use of ['shop', 'corp', 'jwt', 'partner', ['corp', 'jwt'], 'apiKey']) {
      const schemes = await describedIn({
        authn: both,
        declare: gets({ '/first': { use, scope: 'a' }, '/second': true }),
      })
      const { description } = schemes.bearerAuth as Node
      for (const part of ['this API', `${url}/corp`, `${url}/shop`, 'A ticket']) {
        t.equal(String(description).split(part).length, 2, `${String(use)}: ${part}, once`)
      }
      t.notMatch(description, /API key/)
      if (use === 'apiKey') t.match(schemes.apiKeyAuth, { description: /^An API key/ })
    }
    const alone = await describedIn({ authn: standardOptions(), declare: gets({ '/': true }) })
    t.equal((alone.bearerAuth as Node).description, 'An access token of this API')

    const siblings = await describedIn({
      register: async (app) => {
        await app.register(swagger, options)
        for (const path of ['corp', 'shop']) {
          await app.register(async (scope) => {
            await scope.register(authn, { issuers: { [path]: issuerAt(path) } })
            gets({ [`/${path}`]: true })(scope)
          })
        }
      },
    })
    t.match((siblings.bearerAuth as Node).description, /\/corp[^]*\/shop/)

    const securitySchemes = { bearerAuth: { type: 'http', scheme: 'bearer' } } as const
    const given = await describedIn({
      authn: both,
      swagger: { openapi: { ...options.openapi, components: { securitySchemes } } },
      declare: gets({ '/': true }),
    })
    t.strictSame(given.bearerAuth, securitySchemes.bearerAuth, 'that of the app stays')
  })
}

t.test('marks of scopes, sibling registrations and earlier routes are documented', async (t) => {
  const document = await documentOf(t, {
    register: async (app) => {
      await app.register(swagger, versions['3.1'])
      app.get('/none', answer)
      await app.register(
        async (a) => {
          a.get('/before', { config: { auth: true } }, answer)
          await a.register(authn, everything())
          const inner = async (scope: FastifyInstance): Promise<void> => {
            gets({ '/': undefined, '/open': false })(scope)
            scope.post<{ Params: { id: string } }>('/:id', answer)
          }
          await a.register(inner, { prefix: '/inner', auth: { use: 'basic' } })
        },
        { prefix: '/a' },
      )
      await app.register(
        async (b) => {
          const key = { authenticate, openapi: apiKey }
          await b.register(authn, { authenticators: { key }, auth: true })
          b.get('/key', answer)
        },
        { prefix: '/b' },
      )
    },
  })
  t.strictSame(securityIn(document), {
    '/none': undefined,
    '/a/before': [jwt],
    '/a/login': undefined,
    '/a/inner/': [password],
    '/a/inner/open': undefined,
    '/a/inner/{id}': [password],
    '/b/key': [{ key: [] }],
  })
})

t.test('every method of a route is documented, also HEAD and COPY (OpenAPI 3.2)', async (t) => {
  const config = { auth: true } as const
  const app = await appOf(t, {
    swagger: { openapi: { openapi: '3.2.0', info }, exposeHeadRoutes: true },
    declare(app) {
      app.addHttpMethod('COPY')
      app.get('/', { config, schema: { operationId: 'x' } }, answer)
      app.route({ method: ['PUT', 'PATCH', 'COPY'], url: '/', config, handler: answer })
    },
  })
  const { additionalOperations, ...methods } = (app.swagger() as Node).paths['/'] as Node
  t.strictSame(Object.keys(methods), ['get', 'head', 'put', 'patch'])
  for (const operation of [...Object.values(methods), additionalOperations.COPY] as Node[])
    t.match(operation, { security: [jwt], responses: { 401: {} } })
})

t.test('transform, transformObject and swaggerTransform of the app still run', async (t) => {
  const config = { auth: { role: 'x' } } as const
  const own = ({ url }: { url: string }) => ({ schema: { summary: 'own' }, url: `${url}/own` })
  const document = await documentOf(t, {
    swagger: {
      ...versions['3.1'],
      transform: ({ schema, url }) => ({ schema: { ...schema, tags: ['all'] }, url: `/api${url}` }),
      transformObject: (input) => ({
        ...(input as { openapiObject: object }).openapiObject,
        info: { ...info, title: 'Changed' },
      }),
      exposeHeadRoutes: true,
    },
    declare(app) {
      app.get('/a', { config }, answer)
      app.get('/b', { config: { ...config, swaggerTransform: false } }, answer)
      app.get('/c', { config: { ...config, swaggerTransform: own } }, answer)
      app.get('/d', answer)
    },
  })
  t.equal(document.info.title, 'Changed')
  t.strictSame(securityIn(document), {
    '/api/login': undefined,
    '/api/a': [jwt],
    '/b': [jwt],
    '/c/own': [jwt],
    '/api/d': undefined,
  })
  t.match(document.paths['/c/own'].head, { summary: 'own', description: /^Needs role `x`.$/ })
})

t.test('Zod schemas of the app are documented and validate requests', async (t) => {
  const app = await appOf(t, {
    register: async (app) => {
      app.setValidatorCompiler(validatorCompiler)
      app.setSerializerCompiler(serializerCompiler)
      await app.register(swagger, {
        ...versions['3.0'],
        transform: jsonSchemaTransform,
        transformObject: jsonSchemaTransformObject,
      })
      const routeOptions = {
        schema: { tags: ['entry'] },
        bodyLimit: 200,
        preHandler: () => {
          throw new Error('of the login route alone')
        },
      }
      await app.register(authn, { ...everything(), sessions: true, login: { routeOptions } })
    },
    declare: (app) => {
      const [body, answer] = [z.object({ a: z.string() }), z.object({ b: z.number() })]
      const schema = { body, response: { 200: answer } }
      app.post('/', { config: { auth: true }, schema }, () => ({ b: 1 }))
    },
  })
  const { paths } = await checked(t, app)
  const body = (schema: object) => ({ content: { 'application/json': { schema } } })
  t.match(paths['/'].post, {
    security: [jwt],
    requestBody: body({ properties: { a: {} } }),
    responses: { 200: { content: {} }, 401: {} },
  })
  t.match(paths['/login/refresh'].post.requestBody, body({ required: ['refreshToken'] }))
  t.strictSame(paths['/logout'].post.tags, ['entry'], 'the tags of the login route')
  const { post, refresh } = clientOf(app)
  const found = [await refresh('x'), await refresh('x'.repeat(300))]
  const statuses = found.map(({ statusCode }) => statusCode)
  t.strictSame(statuses, [401, 413], 'the body limit of the login route, without its hooks')
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await post('/', { a: 'a' }, headers)).body, '{"b":1}')
})

t.test('marks are documented however, and whenever, @fastify/swagger is registered', async (t) => {
  const declare = gets({ '/': true })
  type Module = Promise<{ default: FastifyPluginCallback<SwaggerOptions> }>
  const module = import('@fastify/swagger') as Module
  const shared: SwaggerOptions = {
    ...versions['3.1'],
    transform: ({ schema, url }) => ({ schema, url }),
  }
  const ways: Record<string, (app: FastifyInstance) => unknown> = {
    'with a function of options': (app) => app.register(swagger, () => versions['3.1']),
    'as a module that is loaded': (app) => app.register(module, { ...versions['3.1'] }),
    'as a module, with a function of options': (app) => app.register(module, () => versions['3.1']),
    'by a plugin that is shared': (app) =>
      app.register(fp(async (inner) => inner.register(swagger, versions['3.1']))),
    'as a module, with options that cannot be changed': (app) =>
      app.register(module, Object.freeze({ ...versions['3.1'] })),
    'with options that apps share': (app) => app.register(module, shared),
    'without options': (app) => app.register(swagger),
  }
  for (const [name, way] of Object.entries(ways)) {
    for (const order of ['before', 'after']) {
      const register = async (app: FastifyInstance): Promise<void> => {
        if (order === 'before') await way(app)
        await app.register(authn, everything())
        if (order === 'after') await way(app)
      }
      const { paths } = await documentOf(t, { register, declare })
      t.match(paths['/'].get, { security: [jwt], responses: { 401: {} } }, `${name}, ${order}`)
    }
  }
})

t.test('a static document of the app is not changed', async (t) => {
  const responses = { 200: { description: 'Mine' } }
  const document = { openapi: '3.0.3', info, paths: { '/': { get: { responses } } } }
  const specification = { document: structuredClone(document) as never }
  const app = await appOf(t, {
    register: async (app) => {
      await app.register(swagger, { mode: 'static', specification })
      await app.register(authn, everything())
    },
    declare: gets({ '/': true }),
  })
  t.strictSame(app.swagger(), document)
})

t.test('open and optional routes override security of the whole document', async (t) => {
  const key = { authenticate }
  const mine = { type: 'apiKey', in: 'header', name: 'x' } as const
  const security = [{ mine: [] }]
  const rows: SwaggerOptions[] = [
    { swagger: { info, security, securityDefinitions: { mine } } },
    { openapi: { openapi: '3.1.0', info, security, components: { securitySchemes: { mine } } } },
  ]
  for (const swagger of rows) {
    const document = await documentOf(t, {
      swagger,
      authn: { ...everything(), authenticators: { key } },
      declare: gets({
        '/jwt': 'optional',
        '/key': { mode: 'optional', use: 'key' },
        '/required': true,
        '/unmarked': undefined,
        '/open': false,
      }),
    })
    t.strictSame(securityIn(document), {
      '/login': [],
      '/jwt': [{}, jwt],
      '/key': [{}],
      '/required': [jwt],
      '/unmarked': undefined,
      '/open': [],
    })
  }
})
