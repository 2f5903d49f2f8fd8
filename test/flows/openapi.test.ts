// Also holds lib/openapi/dialects.ts, lib/openapi/document.ts, lib/openapi/facts.ts, lib/openapi/login.ts,
// lib/openapi/replies.ts, lib/openapi/swagger.ts, lib/openapi/route.ts and lib/openapi/transform.ts.
import type { KeyPairKeyObjectResult } from 'node:crypto'
import cors from '@fastify/cors'
import formbody from '@fastify/formbody'
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import Fastify, {
  type FastifyInstance,
  type FastifyPluginCallback,
  type RouteOptions,
} from 'fastify'
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
  authn,
  basicAuthenticator,
  jwtAuthenticator,
  JwtService,
  type AuthMark,
  type Authenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { basic, bearer, passwords, secret, standardOptions } from '../helpers/app.js'
import { validated } from '../helpers/documents.js'
import { keys, privatePem } from '../helpers/tokens.js'
import { basicChallenge, bearerChallenge, bootError, isRefusal, texts } from '../helpers/flows.js'

// oxlint-disable-next-line typescript/no-explicit-any -- documents are deep
type Node = Record<string, any>
type SwaggerOptions = FastifyDynamicSwaggerOptions

const info = { title: 'Test', version: '1.0.0' }
const dialects = {
  '2.0': { swagger: { info } },
  '3.0': { openapi: { openapi: '3.0.3', info } },
  '3.1': { openapi: { openapi: '3.1.0', info } },
} satisfies Record<string, SwaggerOptions>

const everything = (): AuthnOptions => ({
  ...standardOptions(),
  basic: { username: 'admin', password: 'open sesame' },
})
const jwtScheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
const basicScheme = { type: 'http', scheme: 'basic' }
const defaultResponse = { description: 'Default Response' }
const answer = (): string => 'answer'

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
    await app.register(swagger, wanted.swagger ?? dialects['3.1'])
    if (wanted.authn !== null) await app.register(authn, wanted.authn ?? everything())
  } else {
    await wanted.register(app)
  }
  await wanted.declare?.(app)
  await app.ready()
  return app
}

/** The document of an app, which has to be valid, say the same in YAML, and have nothing of ours left. */
async function checked(t: Test, app: FastifyInstance): Promise<Node> {
  const document = app.swagger() as Node
  const yaml = app.swagger({ yaml: true })
  const { result, specification } = await validated(yaml)
  t.strictSame(result, { valid: true }, 'its YAML is valid')
  t.strictSame(specification, JSON.parse(JSON.stringify(document)), 'and says the same')
  t.notMatch(yaml, 'x-fastify-authn')
  return document
}

const documentOf = async (t: Test, wanted: Wanted): Promise<Node> =>
  checked(t, await appOf(t, wanted))

/** Status and description of the responses of an operation. */
const statusesOf = ({ responses }: Node): string[] => Object.keys(responses as object)

const jwt = { bearerAuth: [] }
const password = { basicAuth: [] }
const [late, wait] = [['429', '503'], ['503']]
const throttled = ['401', '429']

/** For each mark: alternatives, and statuses besides 200. */
const marks: [AuthMark | undefined, object[] | undefined, string[]][] = [
  [undefined, undefined, []],
  [false, undefined, []],
  [{ mode: false, use: 'basic' }, undefined, []],
  [true, [jwt], ['401']],
  ['optional', [jwt, {}], ['401']],
  ['try', [jwt, {}], []],
  [{ use: 'lenient' }, [jwt, {}], ['401']],
  [{ use: 'basic' }, [password], ['401', ...late]],
  [{ mode: 'optional', use: 'basic' }, [password, {}], ['401', ...late]],
  [{ mode: 'try', use: 'basic' }, [password, {}], late],
  [{ use: 'configBasic' }, [password], throttled],
  [{ use: ['jwt', 'basic'] }, [jwt, password], ['401', ...late]],
  [{ use: ['basic', 'configBasic'] }, [password], ['401', ...late]],
  [{ mode: 'optional', use: ['jwt', 'configBasic'] }, [jwt, password, {}], throttled],
]

for (const [version, options] of Object.entries(dialects)) {
  for (const order of ['before', 'after'] as const) {
    t.test(`every mark in ${version}, @fastify/swagger ${order} the plugin`, async (t) => {
      const document = await documentOf(t, {
        async register(app) {
          if (order === 'before') await app.register(swagger, options)
          await app.register(authn, {
            ...everything(),
            authenticators: { lenient: jwtAuthenticator({ optional: true }) },
          })
          if (order === 'after') await app.register(swagger, options)
        },
        declare(app) {
          marks.forEach(([auth], index) =>
            app.get(`/${index}`, auth === undefined ? {} : { config: { auth } }, answer),
          )
        },
      })
      for (const [index, [auth, security, statuses]] of marks.entries()) {
        const operation = document.paths[`/${index}`].get as Node
        t.strictSame(
          { security: operation.security, statuses: statusesOf(operation) },
          { security, statuses: ['200', ...statuses] },
          JSON.stringify(auth),
        )
      }
      const schemes =
        version === '2.0' ? document.securityDefinitions : document.components.securitySchemes
      t.strictSame(
        schemes,
        version === '2.0'
          ? {
              bearerAuth: {
                type: 'apiKey',
                in: 'header',
                name: 'Authorization',
                description: 'The word Bearer, a space, and the JWT.',
              },
              basicAuth: { type: 'basic' },
            }
          : { bearerAuth: jwtScheme, basicAuth: basicScheme },
      )
    })
  }
}

t.test('refusals, as they are shown', async (t) => {
  const document = await documentOf(t, {
    authn: { ...everything(), defaultLanguage: 'fr' },
    declare: (app) => app.get('/', { config: { auth: { use: 'basic' } } }, answer),
  })
  const schema = { $ref: '#/components/schemas/AuthnError' }
  const content = (error: string) => ({ 'application/json': { schema, example: { error } } })
  const retryAfter = {
    'Retry-After': {
      description: 'Seconds after which another attempt may succeed.',
      schema: { type: 'integer' },
    },
  }
  t.strictSame(document.paths['/'].get, {
    security: [{ basicAuth: [] }],
    responses: {
      200: defaultResponse,
      401: {
        description: 'The credentials are missing or not accepted.',
        headers: {
          'WWW-Authenticate': {
            description: 'The schemes that are accepted (RFC 9110 §11.6.1).',
            schema: { type: 'string' },
          },
        },
        content: content('L’en-tête d’authentification est absent ou non valide.'),
      },
      429: {
        description: 'Too many failed attempts.',
        headers: retryAfter,
        content: content('Trop de tentatives infructueuses. Veuillez réessayer plus tard.'),
      },
      503: {
        description: 'The server is busy.',
        headers: retryAfter,
        content: content('Le serveur est surchargé. Veuillez réessayer plus tard.'),
      },
    },
  })
  t.strictSame(document.components.schemas, {
    AuthnError: {
      type: 'object',
      description: 'Why the request was refused, in the language of the client.',
      required: ['error'],
      properties: { error: { type: 'string' } },
    },
  })
})

t.test('statuses follow the options', async (t) => {
  const statuses = async (options: AuthnOptions, auth: AuthMark): Promise<string[]> => {
    const document = await documentOf(t, {
      authn: { ...everything(), ...options },
      declare: (app) => app.get('/', { config: { auth } }, answer),
    })
    return statusesOf(document.paths['/'].get as Node)
  }
  t.strictSame(await statuses({ throttle: false }, { use: 'basic' }), ['200', '401', ...wait])
  t.strictSame(await statuses({ userServiceTimeout: 1 }, true), ['200', '401', ...wait])
  const config = { use: 'configBasic' } as const
  t.strictSame(await statuses({ userServiceTimeout: 1 }, config), ['200', ...throttled])
  t.strictSame(await statuses({ throttle: false }, config), ['200', '401'])
  const wrapped: Authenticator = { ...basicAuthenticator() }
  t.strictSame(
    await statuses({ authenticators: { wrapped } }, { use: 'wrapped' }),
    ['200', '401', ...late],
    'also of an authenticator that is wrapped by spreading',
  )
})

t.test('the login route', async (t) => {
  const statuses = ['200', '400', '401', ...late]
  const example = { username: 'alice', password: 'correct horse battery staple' }
  const schema = {
    type: 'object',
    required: ['username', 'password'],
    properties: {
      username: { type: 'string', minLength: 1 },
      password: { type: 'string', minLength: 1, format: 'password' },
    },
  }

  await t.test('OpenAPI 3', async (t) => {
    const { post } = (await documentOf(t, {})).paths['/login'] as { post: Node }
    t.strictSame(
      { ...post, responses: statusesOf(post) },
      {
        summary: 'Log in',
        description: 'Answers with a token for a username and a password.',
        tags: ['authentication'],
        requestBody: { required: true, content: { 'application/json': { schema, example } } },
        responses: statuses,
      },
    )
    t.match(post.responses['200'], {
      description: 'A token, for the header `Authorization: Bearer <token>`.',
      content: {
        'application/json': { schema: { required: ['token'] }, example: { token: /^eyJ/ } },
      },
    })
    t.match(post.responses['401'].content['application/json'].example, { error: texts.invalid })
  })

  await t.test('Swagger 2.0', async (t) => {
    const document = await documentOf(t, {
      swagger: dialects['2.0'],
      authn: {
        ...everything(),
        login: {
          routeOptions: {
            schema: { headers: { type: 'object', properties: { 'x-device': { type: 'string' } } } },
          },
        },
      },
    })
    const { post } = document.paths['/login'] as { post: Node }
    t.strictSame(post.parameters.slice(1), [
      { in: 'body', name: 'body', required: true, schema: { ...schema, example } },
    ])
    t.match(post.parameters[0], { in: 'header', name: 'x-device' })
    t.strictSame(statusesOf(post), statuses)
    t.match(post.responses['200'], { examples: { 'application/json': { token: /^eyJ/ } } })
  })

  await t.test('an example of the app', async (t) => {
    const shownFor = async (body: unknown): Promise<unknown> => {
      const login = { routeOptions: { schema: { body } } }
      const app = await appOf(t, { authn: { ...everything(), login } })
      const { post } = (await checked(t, app)).paths['/login'] as { post: Node }
      const wrong = await app.inject({ method: 'POST', url: '/login', payload: { name: 'alice' } })
      t.equal(wrong.statusCode, 400, 'what is valid stays')
      t.strictSame(post.requestBody.content['application/json'].schema, schema)
      return post.requestBody.content['application/json'].example
    }
    const own = { username: 'bob', password: 'le bricoleur' }
    t.strictSame(await shownFor({ examples: [own, example] }), own)
    t.strictSame(await shownFor({ type: 'object', required: ['name'], examples: [own] }), own)
    const others = [null, {}, 'body', { examples: [] }, { examples: ['bob'] }, { examples: [null] }]
    for (const body of [...others, { examples: own }, z.object({ name: z.string() })])
      t.strictSame(await shownFor(body), example, JSON.stringify(body))
  })

  await t.test('its fields, its path, and where it lies', async (t) => {
    const document = await documentOf(t, {
      register: async (app) => {
        await app.register(swagger, dialects['3.0'])
        await app.register(formbody)
        await app.register(
          async (scope) =>
            scope.register(authn, {
              ...everything(),
              auth: true,
              throttle: false,
              login: { path: '/session', usernameField: 'email', passwordField: 'pass' },
            }),
          { prefix: '/v1' },
        )
      },
    })
    const { post } = document.paths['/v1/session'] as { post: Node }
    t.notOk('security' in post)
    t.strictSame(statusesOf(post), ['200', '400', '401', '503'])
    const { content } = post.requestBody as Node
    t.strictSame(Object.keys(content as object), [
      'application/json',
      'application/x-www-form-urlencoded',
    ])
    for (const body of Object.values(content as Record<string, Node>)) {
      t.strictSame(body.schema.required, ['email', 'pass'])
      t.strictSame(Object.keys(body.example as object), ['email', 'pass'])
    }
  })

  await t.test('what the app says of it wins', async (t) => {
    const schema = {
      summary: 'Sign in',
      tags: ['session'],
      consumes: ['application/json'],
      response: {
        '2xx': { type: 'object', properties: { token: { type: 'string' } } },
        400: { description: 'Mine', type: 'null' },
        401: { description: 'Mine too', type: 'null' },
      },
    }
    const app = await appOf(t, {
      authn: { ...everything(), login: { routeOptions: { schema } } },
    })
    const { post } = (await checked(t, app)).paths['/login'] as { post: Node }
    t.strictSame(
      { summary: post.summary, tags: post.tags, statuses: statusesOf(post) },
      { summary: 'Sign in', tags: ['session'], statuses: ['400', '401', ...late, '2XX'] },
    )
    t.strictSame(post.responses['401'], { description: 'Mine too' })
    t.strictSame(Object.keys(post.requestBody.content as object), ['application/json'])
  })

  await t.test('it is hidden where the app says so', async (t) => {
    const document = await documentOf(t, {
      authn: { ...everything(), login: { routeOptions: { schema: { hide: true } } } },
    })
    t.strictSame(document.paths, {})
  })
})

t.test('tokens in cookies', async (t) => {
  const declare = (app: FastifyInstance): void => {
    const config = { auth: true } as const
    app.route({ method: ['GET', 'POST'], url: '/notes', config, handler: answer })
    app.post('/try', { config: { auth: 'try' } }, answer)
    app.post('/scope', { config: { auth: { scope: 'a' } } }, answer)
    app.post('/basic', { config: { auth: { use: 'basic' } } }, answer)
    app.get('/both', { config: { auth: { use: ['jwt', 'basic'] } } }, answer)
    app.post('/open', answer)
  }
  const cookie = { cookieAuth: [] }
  const otherSite = 'A page of another site may have sent the request.'
  const wanted = { authn: { ...everything(), cookies: { name: 'shop' } }, declare }
  const { paths, components } = await documentOf(t, wanted)
  t.strictSame(components.securitySchemes, {
    bearerAuth: jwtScheme,
    cookieAuth: { type: 'apiKey', in: 'cookie', name: '__Host-shop-token' },
    basicAuth: basicScheme,
  })
  const { get, post } = paths['/notes'] as { get: Node; post: Node }
  t.strictSame(
    [get.security, post.security],
    [
      [jwt, cookie],
      [jwt, cookie],
    ],
  )
  t.strictSame(statusesOf(post), ['200', '401', '403'])
  t.equal(post.responses['403'].description, otherSite)
  t.strictSame(post.responses['403'].content['application/json'].example, {
    error: 'Requests from other sites are not accepted.',
  })
  t.strictSame(statusesOf(paths['/try'].post as Node), ['200', '403'])
  t.equal(
    paths['/scope'].post.responses['403'].description,
    `The user lacks what is needed: the scope \`a\`. Or: ${otherSite}`,
  )
  t.notOk(statusesOf(paths['/basic'].post as Node).includes('403'))
  t.notOk(statusesOf(paths['/both'].get as Node).includes('403'), 'it changes nothing')
  t.strictSame(paths['/both'].get.security, [jwt, cookie, password])
  t.equal(paths['/open'].post.security, undefined)
  const login = paths['/login'].post as Node
  t.strictSame(statusesOf(login), ['200', '400', '401', '403', ...late])
  t.strictSame(login.responses['200'], {
    description:
      'The token comes as the cookie `__Host-shop-token`. The body says how many seconds it lives.',
    headers: {
      'Set-Cookie': { description: 'The tokens (RFC 6265 §4.1).', schema: { type: 'string' } },
    },
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['expiresIn'],
          properties: { expiresIn: { type: 'integer' } },
        },
        example: { expiresIn: 300 },
      },
    },
  })
  const old = await documentOf(t, { ...wanted, swagger: dialects['2.0'] })
  t.strictSame(Object.keys(old.securityDefinitions as object), ['bearerAuth', 'basicAuth'])
  t.match(old.paths['/login'].post.responses['200'], {
    headers: { 'Set-Cookie': { type: 'string' } },
    schema: { required: ['expiresIn'] },
  })
  const sessions = await documentOf(t, { authn: { ...everything(), sessions: {} } })
  t.strictSame(
    sessions.paths['/login'].post.responses['200'].content['application/json'].schema.required,
    ['token', 'refreshToken', 'expiresIn'],
  )
})

t.test('what a route says of itself wins', async (t) => {
  const own = { description: 'Mine', type: 'object', properties: { code: { type: 'string' } } }
  const config = { auth: { use: ['jwt', 'basic'] } } as const
  const document = await documentOf(t, {
    swagger: {
      openapi: {
        ...dialects['3.0'].openapi,
        components: { securitySchemes: { mtls: { type: 'http', scheme: 'mutual' } } },
      },
    },
    declare(app) {
      app.get('/own', { config, schema: { security: [{ mtls: [] }] } }, answer)
      app.get('/ours', { config, schema: { security: [{ bearerAuth: [] }] } }, answer)
      app.get('/none', { config, schema: { security: [] } }, answer)
      app.get('/reply', { config, schema: { response: { 401: own, '5xx': own } } }, answer)
      app.get(
        '/hidden',
        { config: { auth: { use: 'configBasic' } }, schema: { hide: true } },
        answer,
      )
    },
  })
  t.strictSame(document.paths['/own'].get.security, [{ mtls: [] }])
  t.strictSame(document.paths['/ours'].get.security, [{ bearerAuth: [] }])
  t.strictSame(document.paths['/none'].get.security, [])
  const { get } = document.paths['/reply'] as { get: Node }
  t.match(get.responses['401'], {
    description: 'Mine',
    content: { 'application/json': { schema: { properties: { code: {} } } } },
  })
  t.strictSame(statusesOf(get), ['401', ...late, '5XX'], 'a range says less than a status')
  t.strictSame(Object.keys(document.paths as object), [
    '/login',
    '/own',
    '/ours',
    '/none',
    '/reply',
  ])
})

t.test('schemes of hidden routes are not there', async (t) => {
  const document = await documentOf(t, {
    swagger: { ...dialects['3.1'], hideUntagged: true },
    declare(app) {
      app.get('/', { config: { auth: true } }, answer)
      app.get('/x', { config: { auth: { use: 'basic' } }, schema: { tags: ['x'] } }, answer)
    },
  })
  t.strictSame(Object.keys(document.paths as object), ['/login', '/x'])
  t.strictSame(document.components.securitySchemes, { basicAuth: basicScheme })
})

t.test('open routes in a document that asks for credentials everywhere', async (t) => {
  const securitySchemes = { session: { type: 'apiKey', in: 'cookie', name: 'sid' } } as const
  const document = await documentOf(t, {
    swagger: {
      openapi: {
        ...dialects['3.1'].openapi,
        security: [{ session: [] }],
        components: { securitySchemes },
      },
    },
    declare(app) {
      app.get('/unmarked', answer)
      app.get('/open', { config: { auth: false } }, answer)
      app.get('/closed', { config: { auth: true } }, answer)
    },
  })
  const securityOf = (path: string, method = 'get'): unknown =>
    document.paths[path][method].security
  t.equal(securityOf('/unmarked'), undefined, 'nothing is known of it')
  t.strictSame(securityOf('/open'), [])
  t.strictSame(securityOf('/login', 'post'), [])
  t.strictSame(securityOf('/closed'), [jwt])
  t.strictSame(document.components.securitySchemes, { ...securitySchemes, bearerAuth: jwtScheme })
})

t.test('security schemes of the app', async (t) => {
  const schemesOf = async (securitySchemes: Node): Promise<[unknown, unknown]> => {
    const options = { openapi: { ...dialects['3.1'].openapi, components: { securitySchemes } } }
    const before = structuredClone(securitySchemes)
    const document = await documentOf(t, {
      swagger: options,
      declare: (app) => app.get('/', { config: { auth: { use: ['jwt', 'basic'] } } }, answer),
    })
    t.strictSame(securitySchemes, before, 'what the app gave stays as it is')
    return [document.components.securitySchemes, document.paths['/'].get.security]
  }
  const token = { type: 'http', scheme: 'Bearer', description: 'See POST /login.' }
  t.strictSame(
    await schemesOf({ token }),
    [{ token, basicAuth: basicScheme }, [{ token: [] }, password]],
    'one that asks for the same is used',
  )
  const oidc = { type: 'openIdConnect', openIdConnectUrl: 'https://id.example.org/' }
  t.strictSame(
    await schemesOf({ bearerAuth: oidc, token }),
    [{ bearerAuth: oidc, token, basicAuth: basicScheme }, [jwt, password]],
    'one of the same name is used before it',
  )
  const opaque = { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' }
  t.strictSame(
    await schemesOf({ opaque }),
    [{ opaque, bearerAuth: jwtScheme, basicAuth: basicScheme }, [jwt, password]],
    'one that asks for something else is not',
  )
})

t.test('bearer tokens of different keys', async (t) => {
  const { userService } = standardOptions()
  const pem = (pair: KeyPairKeyObjectResult): { private: string } => ({
    private: privatePem(pair.privateKey),
  })
  const jwtService = new JwtService({ secret, rsa: pem(keys.rsa), ecdsa: pem(keys.p256) })
  const opaque = { authenticate: () => null, scheme: 'Bearer' }
  const authenticators = { reader: jwtAuthenticator({ signingMethod: 'ES256' }), opaque }
  const shared = { userService, jwtService, login: false } as const
  const marked = (use?: string | string[]) => ({ config: { auth: use ? { use } : true } }) as object
  const declare = async (app: FastifyInstance): Promise<void> => {
    app.get('/opaque', marked('opaque'), answer)
    app.get('/reader', marked('reader'), answer)
    app.get('/any', marked(['reader', 'jwt']), answer)
    await app.register(async (scope) => {
      const authenticator = jwtAuthenticator({ signingMethod: 'RS256' })
      await scope.register(authn, { ...shared, authenticator })
      scope.get('/rs256', marked(), answer)
      scope.get('/hs256', marked('jwt'), answer)
    })
    await app.register(async (scope) => {
      const jwt = { secret, audience: 'admin', issuer: 'here' }
      await scope.register(authn, { userService, jwt, login: false })
      scope.get('/admin', marked(), answer)
    })
    app.get('/', marked(), answer)
  }
  const authnOptions = { ...shared, authenticators }
  const expected = {
    '/opaque': [{ opaque: [] }],
    '/reader': [{ reader: [] }],
    '/any': [{ reader: [] }, jwt],
    '/rs256': [{ rs256Auth: [] }],
    '/hs256': [jwt],
    '/admin': [{ hs256Auth: [] }],
    '/': [jwt],
  }
  const securityOf = ({ paths }: Node): unknown =>
    Object.fromEntries(
      Object.entries(paths as Node).map(([url, { get }]) => [url, (get as Node).security]),
    )
  const bearerScheme = { type: 'http', scheme: 'bearer' } as const
  const ours = {
    bearerAuth: jwtScheme,
    reader: jwtScheme,
    opaque: bearerScheme,
    rs256Auth: jwtScheme,
    hs256Auth: jwtScheme,
  }
  for (const [version, options] of Object.entries(dialects)) {
    const document = await documentOf(t, { swagger: options, authn: authnOptions, declare })
    t.strictSame(securityOf(document), expected, version)
    const { securitySchemes } = (document.components ?? {}) as Node
    if (version !== '2.0') t.strictSame(securitySchemes, ours)
  }

  // The standard takes what the app says of it, and nobody else does.
  const described = { ...bearerScheme, description: 'See POST /login.' }
  for (const name of ['bearerAuth', 'token']) {
    const components = { securitySchemes: { [name]: described, reader: bearerScheme } }
    const swagger: SwaggerOptions = { openapi: { ...dialects['3.1'].openapi, components } }
    const document = await documentOf(t, { swagger, authn: authnOptions, declare })
    const standard = [{ [name]: [] }]
    const any = [{ reader: [] }, ...standard]
    const changed = { ...expected, '/hs256': standard, '/': standard, '/any': any }
    t.strictSame(securityOf(document), changed, name)
  }
})

t.test('a bearer scheme alone has the usual name', async (t) => {
  const opaque = { authenticate: () => null, scheme: 'Bearer' }
  const document = await documentOf(t, {
    authn: { authenticators: { opaque } },
    declare: (app) => app.get('/', { config: { auth: { use: 'opaque' } } }, answer),
  })
  t.strictSame(document.paths['/'].get.security, [jwt])
})

t.test('authenticators of the app', async (t) => {
  const authenticate = (): null => null
  const apiKey = { type: 'apiKey', in: 'header', name: 'X-Api-Key' } as const
  const cookie = { type: 'apiKey', in: 'cookie', name: 'sid' } as const
  const oidc = { type: 'openIdConnect', openIdConnectUrl: 'https://id.example.org/' } as const
  const authenticators: Record<string, Authenticator> = {
    'api key': { authenticate, openapi: apiKey },
    again: { authenticate, openapi: { ...apiKey, name: 'x-api-key', description: 'The same' } },
    cookie: { authenticate, openapi: cookie },
    oidc: { authenticate, openapi: oidc },
    digest: { authenticate, scheme: 'Digest' },
    opaque: {
      authenticate,
      scheme: 'Bearer',
      openapi: { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' },
    },
    unknown: { authenticate },
    custom: {
      authenticate,
      scheme: 'Basic',
      onUnauthorized: (_, request, reply) => reply.code(401).send({ at: request.url }),
    },
  }
  const declare = (app: FastifyInstance): void => {
    for (const name of Object.keys(authenticators)) {
      app.get(`/${name.replace(' ', '')}`, { config: { auth: { use: name } } }, answer)
    }
    app.get(
      '/several',
      { config: { auth: { mode: 'optional', use: ['jwt', 'unknown', 'api key'] } } },
      answer,
    )
    app.get('/both', { config: { auth: { use: ['basic', 'custom'] } } }, answer)
  }
  const options = { ...everything(), authenticators }
  const document = await documentOf(t, { authn: options, declare })
  const securityOf = (path: string): unknown => document.paths[path].get.security
  t.strictSame(securityOf('/apikey'), [{ api_key: [] }], 'a name that a component may have')
  t.strictSame(securityOf('/again'), [{ api_key: [] }])
  t.strictSame(securityOf('/cookie'), [{ cookie: [] }])
  t.strictSame(securityOf('/oidc'), [{ oidc: [] }])
  t.strictSame(securityOf('/digest'), [{ digest: [] }])
  t.strictSame(securityOf('/opaque'), [{ opaque: [] }])
  t.strictSame(securityOf('/several'), [jwt, { api_key: [] }, {}], 'the standard')
  t.strictSame(securityOf('/unknown'), undefined, 'nothing is known of how it is proved')
  t.strictSame(Object.keys(document.paths['/unknown'].get.responses['401'] as object), [
    'description',
    'content',
  ])
  t.strictSame(securityOf('/custom'), [password])
  t.strictSame(
    document.paths['/custom'].get.responses['401'],
    { description: 'The credentials are missing or not accepted.' },
    'the app writes the body itself',
  )
  t.strictSame(document.paths['/both'].get.responses['429'], {
    description: 'Too many failed attempts.',
  })
  t.strictSame(document.components.securitySchemes, {
    api_key: apiKey,
    cookie,
    oidc,
    digest: { type: 'http', scheme: 'digest' },
    opaque: { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' },
    basicAuth: basicScheme,
    bearerAuth: jwtScheme,
  })

  const old = await documentOf(t, { authn: options, swagger: dialects['2.0'], declare })
  t.strictSame(Object.keys(old.securityDefinitions as object), [
    'bearerAuth',
    'basicAuth',
    'api_key',
    'digest',
    'opaque',
  ])
  t.match(old.securityDefinitions.digest, {
    type: 'apiKey',
    description: 'The word digest, a space, and the credentials.',
  })
  t.equal(old.paths['/oidc'].get.security, undefined, 'what Swagger 2.0 cannot say')

  const own = await documentOf(t, {
    authn: { authenticator: { authenticate, openapi: apiKey }, auth: true },
    declare: (app) => app.get('/', answer),
  })
  t.strictSame(own.components.securitySchemes, { customAuth: apiKey })

  for (const openapi of [
    {},
    { type: 'apiKey', name: 'x' },
    { type: 'http', scheme: '' },
    'apiKey',
    null,
  ]) {
    const wrong = { authenticators: { wrong: { authenticate, openapi } } } as never
    const error = await bootError(() => Fastify().register(authn, wrong))
    t.match(error, {
      code: 'ERR_AUTH_OPTION',
      message:
        /^fastify-authn: option "authenticators\.wrong\.openapi.*expected a Security Scheme Object of OpenAPI/,
    })
  }
})

t.test(
  'marks of scopes, registrations in siblings, and routes that are declared before',
  async (t) => {
    const apiKey: Authenticator = {
      authenticate: () => null,
      openapi: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    }
    const document = await documentOf(t, {
      register: async (app) => {
        await app.register(swagger, dialects['3.1'])
        app.get('/none', answer)
        await app.register(
          async (a) => {
            a.get('/before', { config: { auth: true } }, answer)
            await a.register(authn, everything())
            await a.register(
              async (inner) => {
                inner.get('/', answer)
                inner.get('/open', { config: { auth: false } }, answer)
                inner.post<{ Params: { id: string } }>('/:id', answer)
              },
              { prefix: '/inner', auth: { use: 'basic' } },
            )
          },
          { prefix: '/a' },
        )
        await app.register(
          async (b) => {
            await b.register(authn, { authenticators: { apiKey }, auth: true })
            b.get('/key', answer)
          },
          { prefix: '/b' },
        )
      },
    })
    const security = Object.entries(document.paths as Record<string, Node>).map(([path, item]) => [
      path,
      Object.values(item as Record<string, Node>)[0]?.security,
    ])
    t.strictSame(Object.fromEntries(security), {
      '/none': undefined,
      '/a/before': [jwt],
      '/a/login': undefined,
      '/a/inner/': [password],
      '/a/inner/open': undefined,
      '/a/inner/{id}': [password],
      '/b/key': [{ apiKey: [] }],
    })
  },
)

t.test('HEAD routes, and routes of several methods', async (t) => {
  const config = { auth: true } as const
  const declare = (app: FastifyInstance): void => {
    app.get('/x', { config, schema: { operationId: 'x' } }, answer)
    app.get('/y', { config }, answer)
    app.route({ method: ['PUT', 'PATCH'], url: '/y', config, handler: answer })
  }
  const methods = (document: Node, path: string): [string, unknown, string[]][] =>
    Object.entries(document.paths[path] as Record<string, Node>).map(([method, operation]) => [
      method,
      operation.security,
      statusesOf(operation),
    ])
  const expected = (...names: string[]) => names.map((name) => [name, [jwt], ['200', '401']])
  const plain = await documentOf(t, { declare })
  t.strictSame(methods(plain, '/x'), expected('get'))
  t.strictSame(methods(plain, '/y'), expected('get', 'put', 'patch'))
  const shown = await documentOf(t, {
    declare,
    swagger: { ...dialects['3.1'], exposeHeadRoutes: true },
  })
  t.strictSame(methods(shown, '/x'), expected('get', 'head'))
  t.strictSame(methods(shown, '/y'), expected('get', 'head', 'put', 'patch'))
})

t.test('methods that OpenAPI 3.2 knows', async (t) => {
  const app = await appOf(t, {
    swagger: { openapi: { openapi: '3.2.0', info } },
    declare(app) {
      app.addHttpMethod('COPY')
      app.route({ method: 'COPY', url: '/', config: { auth: true }, handler: answer })
    },
  })
  const document = app.swagger() as Node
  t.match(document.paths['/'].additionalOperations.COPY, {
    security: [jwt],
    responses: { 401: {} },
  })
})

t.test('transforms of the app', async (t) => {
  const config = { auth: true } as const
  const seen: unknown[] = []
  const transform: SwaggerOptions['transform'] = ({ schema, url }) => ({
    schema: { ...schema, description: 'of the app' },
    url: `/api${url}`,
  })
  const app = await appOf(t, {
    swagger: {
      ...dialects['3.1'],
      transform,
      transformObject(input) {
        const { openapiObject } = input as { openapiObject: Node }
        seen.push(structuredClone(openapiObject.paths))
        return { ...openapiObject, info: { ...info, title: 'Changed' } }
      },
    },
    declare(app) {
      app.get('/a', { config }, answer)
      app.get('/b', { config: { ...config, swaggerTransform: false } }, answer)
      const own = ({ url }: { url: string }) => ({ schema: { summary: 'own' }, url: `${url}/own` })
      app.get('/c', { config: { ...config, swaggerTransform: own } }, answer)
      app.addHook('onRoute', (options: RouteOptions) => {
        options.config = { ...options.config, swaggerTransform: own }
      })
      app.get('/d', { config }, answer)
      app.get('/e', answer)
    },
  })
  const document = await checked(t, app)
  t.equal(document.info.title, 'Changed')
  t.strictSame(
    seen,
    [document.paths, document.paths],
    'they see the marks in the document, and no marker',
  )
  const ops = Object.entries(document.paths as Record<string, Node>)
  t.strictSame(
    ops.map(([path, { get, post }]) => [
      path,
      (get ?? post).description,
      (get ?? post).summary,
      (get ?? post).security,
    ]),
    [
      ['/api/login', 'of the app', 'Log in', undefined],
      ['/api/a', 'of the app', undefined, [jwt]],
      ['/b', undefined, undefined, [jwt]],
      ['/c/own', undefined, 'own', [jwt]],
      ['/d/own', undefined, 'own', [jwt]],
      ['/e/own', undefined, 'own', undefined],
    ],
  )
})

t.test('schemas of Zod', async (t) => {
  for (const openapi of [dialects['3.0'].openapi, dialects['3.1'].openapi]) {
    const app = await appOf(t, {
      register: async (app) => {
        app.setValidatorCompiler(validatorCompiler)
        app.setSerializerCompiler(serializerCompiler)
        const transforms = {
          transform: jsonSchemaTransform,
          transformObject: jsonSchemaTransformObject,
        }
        await app.register(swagger, { openapi, ...transforms })
        await app.register(authn, everything())
      },
      declare: (app) =>
        app.post(
          '/',
          {
            config: { auth: true },
            schema: {
              body: z.object({ a: z.string() }),
              response: { 200: z.object({ b: z.number() }) },
            },
          },
          () => ({ b: 1 }),
        ),
    })
    const { paths } = await checked(t, app)
    t.match(paths['/'].post, {
      security: [jwt],
      requestBody: { content: { 'application/json': { schema: { properties: { a: {} } } } } },
      responses: { 200: { content: {} }, 401: { content: {} } },
    })
    t.match(paths['/login'].post, {
      requestBody: {
        content: { 'application/json': { schema: { required: ['username', 'password'] } } },
      },
    })
    const payload = { username: 'alice', password: passwords.alice }
    const { token } = (await app.inject({ method: 'POST', url: '/login', payload })).json<{
      token: string
    }>()
    const response = await app.inject({
      method: 'POST',
      url: '/',
      payload: { a: 'a' },
      headers: bearer(token),
    })
    t.strictSame([response.statusCode, response.json()], [200, { b: 1 }])
    isRefusal(t, await app.inject({ method: 'POST', url: '/', payload: {} }), {
      error: texts.none,
      challenge: bearerChallenge,
    })
  }
})

t.test('what is sent does not change', async (t) => {
  const onUnauthorized: Authenticator['onUnauthorized'] = (error, _, reply) =>
    reply.code(401).send({ code: error.code, more: { deep: [1] } })
  const declare = (app: FastifyInstance): void => {
    app.get('/own', { config: { auth: { use: 'own' } } }, answer)
    app.get('/ours', { config: { auth: { use: 'basic' } } }, answer)
    // A handler that answers 401 itself, with what our schema does not have.
    app.get('/handler', { config: { auth: 'try' } }, (_, reply) =>
      reply.code(401).send({ error: 'no', extra: 1 }),
    )
    app.get(
      '/schema',
      {
        config: { auth: 'optional' },
        schema: { response: { 200: { type: 'object', properties: { a: { type: 'number' } } } } },
      },
      () => ({ a: 1, b: 2 }),
    )
  }
  const options = {
    ...everything(),
    authenticators: { own: { ...basicAuthenticator(), onUnauthorized } },
  }
  const send = async (documented: boolean): Promise<unknown[]> => {
    const app = await appOf(t, {
      register: async (app) => {
        if (documented) await app.register(swagger, dialects['3.1'])
        await app.register(authn, options)
      },
      declare,
    })
    if (documented) await checked(t, app)
    const urls = ['/own', '/ours', '/handler', '/schema']
    const responses = await Promise.all(urls.map((url) => app.inject({ url })))
    return responses.map(({ statusCode, headers, body }) => {
      const { date: _, ...rest } = headers
      return { statusCode, body, rest }
    })
  }
  const [own, ours, handler, schema] = (await send(true)) as Node[]
  t.strictSame([own, ours, handler, schema], await send(false))
  t.strictSame(own?.body, '{"code":"ERR_AUTH_NO_CREDENTIALS","more":{"deep":[1]}}')
  t.match(ours, { statusCode: 401, rest: { 'www-authenticate': basicChallenge } })
  t.strictSame([handler?.body, schema?.body], ['{"error":"no","extra":1}', '{"a":1}'])
})

t.test('every way in which @fastify/swagger can be registered', async (t) => {
  const declare = (app: FastifyInstance): unknown =>
    app.get('/', { config: { auth: true } }, answer)
  const ways: Record<string, (app: FastifyInstance) => unknown> = {
    'with a function of options': (app) => app.register(swagger, () => dialects['3.1']),
    'as a module that is loaded': (app) =>
      app.register(import('@fastify/swagger'), { ...dialects['3.1'] }),
    'as a module, with a function of options': (app) =>
      app.register(
        import('@fastify/swagger') as Promise<{ default: FastifyPluginCallback<SwaggerOptions> }>,
        () => dialects['3.1'],
      ),
    'as a default export': (app) => app.register({ default: swagger } as never, dialects['3.1']),
    'by a plugin that is shared': (app) =>
      app.register(fp(async (inner) => inner.register(swagger, dialects['3.1']))),
    'with options that cannot be changed': (app) =>
      app.register(swagger, Object.freeze({ ...dialects['3.1'] })),
    'as a module, with options that cannot be changed': (app) =>
      app.register(import('@fastify/swagger'), Object.freeze({ ...dialects['3.1'] })),
  }
  for (const [name, way] of Object.entries(ways)) {
    await t.test(name, async (t) => {
      for (const order of ['before', 'after']) {
        const document = await documentOf(t, {
          register: async (app) => {
            if (order === 'before') await way(app)
            await app.register(authn, everything())
            if (order === 'after') await way(app)
          },
          declare,
        })
        t.match(document.paths['/'].get, { security: [jwt], responses: { 401: {} } }, order)
      }
    })
  }

  await t.test('other modules with options that cannot be changed', async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const options = Object.defineProperty({ prefix: '/x' }, 'level', {
      get: () => 1,
      enumerable: true,
    })
    for (const given of [Object.freeze({ prefix: '/frozen' }), options]) {
      app.register(
        Promise.resolve({
          default: async (inner: FastifyInstance) => void inner.get('/', answer),
        }),
        given,
      )
    }
    await app.ready()
    t.ok(app.hasRoute({ method: 'GET', url: '/frozen' }))
    t.ok(app.hasRoute({ method: 'GET', url: '/x' }))
  })

  await t.test('without options', async (t) => {
    for (const plugin of [swagger, import('@fastify/swagger')] as (typeof swagger)[]) {
      const app = await appOf(t, {
        register: async (app) => {
          await app.register(plugin)
          await app.register(authn, everything())
        },
        declare,
      })
      const document = app.swagger() as Node
      t.match(document, { swagger: '2.0', paths: { '/': { get: { security: [jwt] } } } })
    }
  })

  await t.test('beside the plugin, and twice', async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(authn, everything())
    app.get('/outside', { config: { auth: true } }, answer)
    const documents: Record<string, () => object> = {}
    for (const [version, options] of Object.entries(dialects)) {
      await app.register(async (scope) => {
        await scope.register(swagger, { ...options, decorator: 'docs' as never })
        scope.get(`/${version}`, { config: { auth: true } }, answer)
        scope.addHook('onReady', (done) => {
          documents[version] = (scope as unknown as { docs: () => object }).docs
          done()
        })
      })
    }
    await app.ready()
    for (const [version, document] of Object.entries(documents)) {
      const { paths } = document() as Node
      t.strictSame(Object.keys(paths as object), [`/${version}`])
      t.strictSame(paths[`/${version}`].get.security, [jwt])
    }
  })

  await t.test('the same options in two apps', async (t) => {
    const options: SwaggerOptions = {
      ...dialects['3.1'],
      transform: ({ schema, url }) => ({ schema, url }),
    }
    const register = async (app: FastifyInstance): Promise<void> => {
      await app.register(import('@fastify/swagger'), options)
      await app.register(authn, everything())
    }
    const [one, other] = [
      await documentOf(t, { register, declare }),
      await documentOf(t, { register, declare }),
    ]
    t.strictSame(one, other)
    t.strictSame(one.paths['/'].get.security, [jwt])
  })

  await t.test('a document that is written by hand', async (t) => {
    const document = {
      openapi: '3.0.3',
      info,
      paths: { '/': { get: { responses: { 200: { description: 'Mine' } } } } },
    }
    const app = await appOf(t, {
      register: async (app) => {
        await app.register(swagger, {
          mode: 'static',
          specification: { document: structuredClone(document) as never },
        })
        await app.register(authn, everything())
      },
      declare,
    })
    t.strictSame(app.swagger(), document)
  })
})

t.test('without the plugin, documents are as if it were not there', async (t) => {
  let calls = 0
  const plain: SwaggerOptions['transform'] = ({ schema, url }) => {
    calls += 1
    return { schema, url }
  }
  for (const options of [dialects['3.1'], { ...dialects['3.1'], transform: plain }]) {
    const document = await documentOf(t, {
      authn: null,
      swagger: options,
      declare(app) {
        app.get(
          '/:id',
          { config: { swaggerTransform: ({ url }) => ({ schema: undefined as never, url }) } },
          answer,
        )
        app.get('/', answer)
      },
    })
    t.strictSame(document, {
      openapi: '3.1.0',
      info,
      components: { schemas: {} },
      paths: {
        '/{id}': {
          get: {
            parameters: [{ schema: { type: 'string' }, in: 'path', name: 'id', required: true }],
            responses: { 200: defaultResponse },
          },
        },
        '/': { get: { responses: { 200: defaultResponse } } },
      },
    })
  }
  t.equal(calls, 2, 'once for JSON, once for YAML')
})

t.test('names that are taken', async (t) => {
  const AuthnError = { type: 'object' as const, properties: { mine: { type: 'string' as const } } }
  const document = await documentOf(t, {
    swagger: {
      openapi: {
        ...dialects['3.0'].openapi,
        components: { schemas: { AuthnError, AuthnError2: AuthnError } },
      },
    },
    declare: (app) => app.get('/', { config: { auth: true } }, answer),
  })
  t.match(document.components.schemas, { AuthnError, AuthnError3: { required: ['error'] } })
  const { content } = document.paths['/'].get.responses['401'] as Node
  t.strictSame(content['application/json'].schema, { $ref: '#/components/schemas/AuthnError3' })
})

t.test('neighbours', async (t) => {
  const app = await appOf(t, {
    register: async (app) => {
      await app.register(cors)
      await app.register(swagger, dialects['3.1'])
      await app.register(authn, { ...everything(), auth: true })
    },
    declare: (app) => app.get('/', answer),
  })
  const document = await checked(t, app)
  t.strictSame(Object.keys(document.paths as object), ['/login', '/'])
  t.strictSame(document.paths['/'].get.security, [jwt])
  const response = await app.inject({ url: '/', headers: basic('alice', passwords.alice) })
  isRefusal(t, response, { error: texts.none, challenge: bearerChallenge })
})
