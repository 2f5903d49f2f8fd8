import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  authn,
  JwtService,
  type AuthnOptions,
  type JwtConfig,
  type SigningMethod,
  type TokenFunc,
} from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  fastify,
  logLines,
  passwords,
  secret,
  secret512,
  standardOptions,
  userService,
  users,
} from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import {
  anyService,
  bearerChallenge,
  isFault,
  isRejection,
  isWelcome,
  probe,
  serviceOf,
  messages,
  type AnyResponse,
} from '../helpers/flows.js'
import { keys, epochSeconds, privatePem, publicPem } from '../helpers/tokens.js'

const alice = { username: 'alice', password: passwords.alice }
const rejection = { error: messages.invalid, challenge: bearerChallenge }

async function post(app: FastifyInstance, payload: object, url = '/login'): Promise<AnyResponse> {
  return app.inject({ method: 'POST', url, payload })
}

function tokenOf(t: Test, response: AnyResponse): string {
  t.strictSame(
    {
      status: response.statusCode,
      keys: Object.keys(JSON.parse(response.body) as object),
      type: response.headers['content-type'],
      cache: response.headers['cache-control'],
      challenge: response.headers['www-authenticate'],
    },
    {
      status: 200,
      keys: ['token'],
      type: 'application/json; charset=utf-8',
      cache: 'no-store',
      challenge: undefined,
    },
  )
  return (JSON.parse(response.body) as { token: string }).token
}

function isBadRequest(t: Test, response: AnyResponse, message: string, name = message): void {
  const { statusCode, body, headers } = response
  const { 'www-authenticate': challenge, 'cache-control': cache } = headers
  const error = { statusCode: 400, code: 'FST_ERR_VALIDATION', error: 'Bad Request', message }
  t.strictSame(
    [statusCode, JSON.parse(body), challenge, cache],
    [400, error, undefined, 'no-store'],
    name,
  )
}

/** Options with the user service of the tests. */
const withUsers = (options: AuthnOptions): AuthnOptions => ({
  userService: anyService(userService()),
  ...options,
})

t.test('a login returns a token of its user, which protected routes accept', async (t) => {
  const { handler } = probe()
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/me', { config: { auth: true } }, handler)
  })
  const before = epochSeconds()
  const token = tokenOf(t, await post(app, alice))
  const { exp, nbf, ...claims } = app.jwtService.verify(token)
  t.strictSame(claims, { sub: 'alice' })
  t.ok(Number(nbf) >= before && Number(nbf) <= epochSeconds())
  t.equal(Number(exp) - Number(nbf), 300)
  isWelcome(t, await app.inject({ url: '/me', headers: bearer(token) }), 'alice')
})

t.test('the sub of a token is the submitted username, whatever the user is called', async (t) => {
  const userService = serviceOf((name) => ({ ...users[0], name: `user of ${name}` }))
  const app = await appWith(t, { ...standardOptions(), userService })
  const token = tokenOf(t, await post(app, { ...alice, username: 'alice@example.org' }))
  t.equal(app.jwtService.verify(token).sub, 'alice@example.org')
})

t.test('a username over 1,024 bytes is a 401 before anything is stored or asked', async (t) => {
  const service = userService()
  const redis = new FakeRedis()
  const throttle = { redis, keyPrefix: 'test', perUsername: 1, perAddress: 1 }
  const app = await appWith(t, { userService: service, jwt: { secret }, throttle }, (app) => {
    app.get('/basic', { config: { auth: { use: 'basic' } } }, () => 'ok')
  })
  const password = passwords.alice
  for (const long of ['x'.repeat(1025), 'é'.repeat(513), `\0${'x'.repeat(1024)}`]) {
    isRejection(t, await post(app, { username: long, password }), rejection)
    const headers = basic(long, password)
    t.equal((await app.inject({ url: '/basic', headers })).statusCode, 401)
  }
  t.strictSame([service.asked, [...redis.counters], redis.commands], [[], [], []])
  isRejection(t, await post(app, { username: 'é'.repeat(512), password }), rejection)
  t.equal(service.asked.length, 1)
})

t.test('a body over bodyLimit, by default 16 KiB or less, gets a 413', async (t) => {
  const statuses = async (options: Partial<AuthnOptions>, server = {}): Promise<number[]> => {
    const all = { ...standardOptions(), sessions: true, ...options }
    const app = await appWith(t, all, undefined, server)
    const status = async (url: string, body: object, size: number): Promise<number> => {
      const more = 'x'.repeat(size - JSON.stringify({ ...body, more: '' }).length)
      return (await post(app, { ...body, more }, url)).statusCode
    }
    const found = []
    for (const url of ['/login', '/login/refresh', '/logout']) {
      const body = url === '/login' ? alice : { refreshToken: 'x' }
      for (const size of [16_384, 16_385]) found.push(await status(url, body, size))
    }
    return found
  }
  t.strictSame(await statuses({}), [200, 413, 401, 413, 401, 413])
  const own = { login: { routeOptions: { bodyLimit: 20_000 } } }
  t.strictSame(await statuses(own, { bodyLimit: 100 }), [200, 200, 401, 401, 401, 401])
  const all = Array.from({ length: 6 }, () => 413)
  t.strictSame(await statuses({}, { bodyLimit: 1000 }), all, 'a lower limit of the app')
})

t.test('login.path, usernameField and passwordField name the route and its fields', async (t) => {
  const login = { path: '/account/sign-in', usernameField: 'e-mail', passwordField: 'pass word' }
  const app = await appWith(t, { ...standardOptions(), login })
  const right = { 'e-mail': 'alice', 'pass word': passwords.alice }
  tokenOf(t, await post(app, right, '/account/sign-in'))
  isRejection(t, await post(app, { ...right, 'pass word': 'x' }, '/account/sign-in'), rejection)
  isBadRequest(t, await post(app, alice, '/account/sign-in'), 'body/e-mail must be string')
  const half = await post(app, { 'e-mail': 'alice', password: 'x' }, '/account/sign-in')
  isBadRequest(t, half, 'body/pass word must be string')
  t.equal((await post(app, alice)).statusCode, 404, 'nothing at /login')

  const names = { usernameField: 'constructor', passwordField: 'toString' }
  const odd = await appWith(t, { ...standardOptions(), login: names })
  isBadRequest(t, await post(odd, {}), 'body/constructor must be string')
  tokenOf(t, await post(odd, { constructor: 'alice', toString: passwords.alice }))
})

t.test('a login is below the prefix of its scope, and open in a protected one', async (t) => {
  const options = standardOptions()
  const app = await appWith(t, { ...options, auth: true, login: false }, async (app) => {
    const v1 = async (app: FastifyInstance): Promise<void> => {
      await app.register(authn, { ...options, jwt: { secret: 'v'.repeat(32) } })
      app.get('/me', () => 'me')
    }
    const v2 = async (app: FastifyInstance): Promise<void> => {
      await app.register(authn, { ...options, auth: true, login: { path: '/in' } })
    }
    await app.register(v1, { prefix: '/v1' })
    await app.register(v2, { prefix: '/v2/', auth: true })
  })
  t.equal((await app.inject('/v1/me')).statusCode, 401, 'the scope is protected')
  tokenOf(t, await post(app, alice, '/v1/login'))
  tokenOf(t, await post(app, alice, '/v2/in'))
  isRejection(t, await post(app, { ...alice, password: 'x' }, '/v1/login'), rejection)
  for (const url of ['/login', '/v1/in', '/v2/login']) {
    t.equal((await post(app, alice, url)).statusCode, 404, url)
  }
})

t.test('login.signingMethod signs the tokens of logins', async (t) => {
  const ecdsa = { private: privatePem(keys.p256.privateKey) }
  const jwt: JwtConfig = { secret: secret512, ecdsa }
  const methods: SigningMethod[] = ['HS512', 'ES256']
  for (const signingMethod of methods) {
    const app = await appWith(t, { ...standardOptions(), jwt, login: { signingMethod } })
    const token = tokenOf(t, await post(app, alice))
    t.equal(app.jwtService.verify(token, signingMethod).sub, 'alice')
  }
})

t.test('an app without a login, users or a key that signs has no login route', async (t) => {
  const ecdsa = { public: publicPem(keys.p256.publicKey) }
  const cases: Record<string, AuthnOptions> = {
    'login: false': { ...standardOptions(), login: false },
    'without a key': withUsers({ authenticator: 'basic' }),
    'with a public key only': withUsers({ jwt: { ecdsa, signingMethod: 'ES256' } }),
    'without users': { jwt: { secret } },
    'with a service that cannot sign': withUsers({
      jwtService: new JwtService({ ecdsa, signingMethod: 'ES256' }),
    }),
  }
  for (const [name, options] of Object.entries(cases)) {
    const app = await appWith(t, options)
    t.equal((await post(app, alice)).statusCode, 404, name)
    t.notOk(app.hasRoute({ method: 'POST', url: '/login' }), name)
  }
})

t.test('the jwtService of the options signs the tokens of logins', async (t) => {
  const jwtService = new JwtService({ secret, expiry: 7 })
  const app = await appWith(t, withUsers({ jwtService }))
  t.equal(app.jwtService, jwtService)
  const claims = jwtService.verify(tokenOf(t, await post(app, alice)))
  t.equal(Number(claims.exp) - Number(claims.nbf), 7)
})

t.test('tokenFunc makes the token from the stored user, even without a key', async (t) => {
  const seen: unknown[] = []
  const made = 'made by the app'
  for (const result of [made, Promise.resolve(made)]) {
    const tokenFunc: TokenFunc<object> = (request, user, jwtService) => {
      t.throws(() => jwtService.generateToken('alice'), { code: 'ERR_AUTH_KEY' })
      seen.push([request.url, user])
      return result
    }
    const app = await appWith(t, withUsers({ login: { tokenFunc } }))
    t.equal(tokenOf(t, await post(app, alice)), made)
    t.strictSame(seen.splice(0), [['/login', users[0]]], 'with the hash in it')
    isRejection(t, await post(app, { ...alice, password: 'x' }), rejection)
    t.strictSame(seen, [], 'not called after a wrong password')
  }
})

t.test('tokenFunc gets the jwtService of its own registration', async (t) => {
  let given: unknown
  const tokenFunc: TokenFunc<object> = (_request, _user, jwtService) => {
    given = jwtService
    return jwtService.generateToken('alice')
  }
  let own: unknown
  const app = await appWith(t, { jwt: { secret: secret512 } }, async (outer) => {
    await outer.register(async (scope) => {
      await scope.register(authn, withUsers({ jwt: { secret }, login: { tokenFunc } }))
      own = scope.jwtService
    })
  })
  tokenOf(t, await post(app, alice))
  t.equal(given, own)
  t.not(own, app.jwtService)
})

t.test('a tokenFunc that returns no token is a 500, and its error is logged only', async (t) => {
  const error = new Error('secret detail')
  const results: [string, () => unknown, RegExp][] = [
    ['rejects', () => Promise.reject(error), /secret detail/],
    ['rejects with undefined', () => Promise.reject(), /internal error/],
    [
      'throws an error with a status',
      () => {
        throw Object.assign(error, { statusCode: 418 })
      },
      /secret detail/,
    ],
    ['undefined', () => undefined, /tokenFunc returned undefined/],
    ['a promise of an empty string', async () => '', /tokenFunc returned an empty string/],
    ['a buffer', async () => Buffer.from('secret detail'), /tokenFunc returned object/],
  ]
  const { lines, stream } = logLines()
  let tokenFunc: () => unknown = () => null
  const login = { tokenFunc: () => tokenFunc() as string }
  const app = await appWith(t, { ...standardOptions(), login }, undefined, { logger: { stream } })
  for (const [name, given, logged] of results) {
    tokenFunc = given
    lines.length = 0
    const response = await post(app, alice)
    isFault(t, response, 'ERR_AUTH_TOKEN_FUNC', name)
    t.equal(response.headers['cache-control'], 'no-store')
    t.notMatch(response.body, 'secret detail', name)
    const errors = lines.filter(({ level }) => level === 50)
    t.equal(errors.length, 1, name)
    t.match(JSON.stringify(errors[0]), logged, name)
    t.notMatch(JSON.stringify(lines), passwords.alice, name)
  }
})

t.test(
  'login.routeOptions add hooks, config and limits to the route, and no response schema',
  async (t) => {
    const seen: unknown[] = []
    const app = await appWith(t, {
      ...standardOptions(),
      login: {
        routeOptions: {
          bodyLimit: 200,
          config: { rateLimit: { max: 3 } } as object,
          schema: {
            tags: ['account'],
            summary: 'Sign in',
            response: { 200: { type: 'object', properties: { other: { type: 'string' } } } },
          },
          onRequest: async (request, reply) => {
            seen.push((request.routeOptions.config as { rateLimit?: unknown }).rateLimit)
            reply.header('x-hook', 'ran')
          },
        },
      },
    })
    const response = await post(app, alice)
    t.equal(tokenOf(t, response).split('.').length, 3, 'a response schema does not drop the token')
    t.equal(response.headers['x-hook'], 'ran')
    t.strictSame(seen, [{ max: 3 }])
    t.equal((await post(app, { ...alice, more: 'x'.repeat(200) })).statusCode, 413)
  },
)

t.test('login.routeOptions cannot switch the validation of the body off', async (t) => {
  for (const routeOptions of [
    { attachValidation: true },
    { validatorCompiler: () => () => true },
    { schema: { body: {} } },
  ]) {
    const service = userService()
    const options = { userService: anyService(service), jwt: { secret }, login: { routeOptions } }
    const response = await post(await appWith(t, options), { ...alice, username: ['alice'] })
    isBadRequest(t, response, 'body/username must be string', JSON.stringify(routeOptions))
    t.strictSame(service.asked, [])
  }
})

t.test('a login that another registration has is left to it, unless it is asked for', async (t) => {
  const log = logLines()
  const options = standardOptions()
  const register = (app: FastifyInstance, more: object = {}) =>
    app.register(async (scope) => scope.register(authn, { ...options, ...more }))
  const app = fastify(t, { logger: { stream: log.stream } })
  await register(app)
  await register(app)
  await app.ready()
  t.match(
    log.lines.filter(({ level }) => level === 40),
    [{ msg: /POST \/login already exists.*login: { path }/ }],
  )
  const asked = fastify(t)
  await register(asked)
  const error = await rejectionOf(register(asked, { login: {} }))
  t.match(error, { code: 'ERR_AUTH_OPTION', message: /POST \/login/ })
})
