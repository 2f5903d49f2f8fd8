import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import {
  authn,
  basicAuthenticator,
  configBasicAuthenticator,
  jwtAuthenticator,
  JwtService,
  type AuthnOptions,
} from '../../lib/index.js'
import { secret, standardOptions, userService } from '../helpers/app.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import { anyService, startupError, same } from '../helpers/flows.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'

/** What must not be in any message: everything that the rows below use as a secret. */
const hidden = {
  password: 'Tr0ub4dor-and-3',
  text: 'correct horse battery',
  number: 482_915_773,
  passphrase: 'open sesame please',
}

const rsa = { private: privatePem(keys.rsa.privateKey), public: publicPem(keys.rsa.publicKey) }
const encrypted = keys.rsa.privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: hidden.passphrase,
}) as string
const ecdsa = { private: privatePem(keys.p256.privateKey) }
const withoutLines = keys.p256.privateKey
  .export({ type: 'pkcs8', format: 'der' })
  .toString('base64')
const jwk = JSON.stringify(keys.p256.privateKey.export({ format: 'jwk' }))
const secretTexts = [
  ...Object.values(hidden).map(String),
  secret,
  withoutLines,
  jwk,
  (JSON.parse(jwk) as { d: string }).d,
  ...[rsa.private, encrypted].map((pem) => pem.split('\n')[3] ?? pem),
]

/** A startup that has to fail, and what the message has to say. */
interface Row {
  readonly start: (app: FastifyInstance) => unknown
  readonly code: string
  /** The option or place, what was wrong, what to do. */
  readonly says: readonly (string | RegExp)[]
}

const users = anyService(userService())

/** Options that are wrong by themselves. */
const withCode =
  (code: string) =>
  (options: Record<string, unknown>, ...says: Row['says']): Row => ({
    start: (app) => app.register(authn, options as AuthnOptions),
    code,
    says,
  })
const withJwt = (jwt: object, more: object = {}) => ({ userService: users, jwt, ...more })
const option = withCode('ERR_AUTH_OPTION')
const key = withCode('ERR_AUTH_KEY')
const mark = withCode('ERR_AUTH_MARK')

/** A mark that is wrong on a route, by a hook, on a route before the plugin, on a scope and in the options. */
function marks(mark: unknown, ...says: Row['says']): Row[] {
  const auth = mark as never
  const route = (app: FastifyInstance, config = {}): unknown => app.get('/x', { config }, () => 'x')
  const plugin = (app: FastifyInstance, more = {}): unknown =>
    app.register(authn, { ...standardOptions(), ...more })
  const places: [says: Row['says'], start: Row['start']][] = [
    [['GET /x', 'config.auth'], async (app) => [await plugin(app), route(app, { auth })]],
    [['/x', 'config.auth'], async (app) => [route(app, { auth }), await plugin(app)]],
    [
      ['GET /x', 'config.auth'],
      async (app) => {
        await plugin(app)
        app.addHook('onRoute', (each) => void (each.config = { ...each.config, auth }))
        route(app)
      },
    ],
    [
      [/\/group|\/x/, 'auth'],
      async (app) => {
        await plugin(app)
        await app.register(async (app) => void route(app), { prefix: '/group', auth })
      },
    ],
    [['auth'], async (app) => [await plugin(app, { auth }), route(app)]],
  ]
  return places.map(([where, start]) => ({
    start,
    code: 'ERR_AUTH_MARK',
    says: [...where, ...says],
  }))
}

const call = (start: () => unknown, ...says: Row['says']): Row => ({
  start,
  code: 'ERR_AUTH_OPTION',
  says,
})

const expectedMark =
  "expected true, false, 'optional', 'try' or { mode, use, scope, role, mfa, fresh }"

/** An option of all those that are right but for one value. */
function withValue(option: string, value: unknown): Record<string, unknown> {
  const [name = '', ...path] = option.split('.')
  const around: Record<string, object> = {
    jwt: { secret },
    basic: { username: 'a', password: hidden.password },
    authenticator: { authenticate: () => null },
  }
  const inner = path.reduceRight<unknown>((each, key) => ({ [key]: each }), value)
  const whole = path.length === 0 ? value : { ...around[name], ...(inner as object) }
  return { userService: users, jwt: { secret }, [name]: whole }
}

/** Values that are wrong by themselves: what the error says was found, and what else it says. */
const values: [option: string, value: unknown, found: string, more?: string][] = [
  ['userService', null, 'null'],
  ['userService', () => null, 'a function'],
  ['userService.findByUsername', undefined, 'nothing'],
  ['userService.findByUsername', users, 'an invalid object'],
  ['passwordField', '', 'an empty string'],
  ['maxPasswordBytes', 0, '0'],
  ['maxPasswordBytes', 4097, '4097'],
  ['realm', '', 'an empty string'],
  ['realm', 'a\r\nX-Evil: 1', 'an invalid string', 'Latin-1'],
  ['languages', [], 'an array'],
  ['languages.de', { 'auth.jwt-invalid': 5 }, '5', 'languages.de.auth.jwt-invalid'],
  ['languages.de', { 'auth.jwt-invalid': '' }, 'an empty string', 'languages.de.auth.jwt-invalid'],
  ['defaultLanguage', 'tlh', '"tlh"', 'Add one to "languages"'],
  ['jwt', hidden.text, 'an invalid string'],
  ['jwt.secret', hidden.number, ''],
  ['jwt.secret', null, 'null'],
  ['jwt.expiry', 0, '0'],
  ['jwt.expiry', 365 * 86_400_000, '31536000000', 'milliseconds'],
  ['jwt.expiry', 3650 * 86_400 + 1, '315360001', 'ten years'],
  ['jwt.expiry', '5m', 'an invalid string'],
  ['jwt.expiry', Infinity, 'Infinity'],
  ['jwt.signingMethod', 'none', '"none"'],
  ['jwt.clockTolerance', 301, '301'],
  ['jwt.requireExp', 'false', 'an invalid string'],
  ['jwt.issuer', '', 'an empty string'],
  ['jwt.audience', [], 'an array of 0'],
  ['jwt.tokenCache', true, 'true'],
  ['jwt.tokenCache.max', 0, '0'],
  ['jwt.rsa', rsa.private, 'an invalid string'],
  ['jwt.rsa.private', hidden.number, ''],
  ['jwt.rsa.passphrase', hidden.number, ''],
  ['jwtService', hidden.text, 'an invalid string'],
  ['basic.username', undefined, 'undefined (is its variable set?)'],
  ['basic.username', 'a:b', 'an invalid string', 'without colons'],
  ['basic.password', undefined, 'undefined (is its variable set?)'],
  ['basic.password', '', 'an empty string'],
  ['basic.password', hidden.number, ''],
  ['basic.password', `${hidden.password}\n`, 'an invalid string', 'control characters'],
  ['hashing.cost', 3, '3'],
  ['hashing.cost', '10', 'an invalid string'],
  ['hashing.maxCost', 32, '32', '4 to 31'],
  ['hashing.maxCost', 9, '9', '(10)'],
  ['hashing.maxQueue', -1, '-1'],
  ['hashing.maxWait', 5000, '5000'],
  ['credentialCache', true, 'true'],
  ['throttle', true, 'true'],
  ['throttle.perUsername', 0, '0'],
  ['throttle.window', 900_000, '900000'],
  ['throttle.redis', `redis://:${hidden.password}@127.0.0.1`, 'an invalid string', 'ioredis'],
  ['userServiceTimeout', 0, '0'],
  ['userServiceTimeout', 5000, '5000'],
  ['login', true, 'true'],
  ['login.path', 'login', '"login"'],
  ['login.usernameField', '', 'an empty string'],
  ['login.signingMethod', 'none', '"none"'],
  ['login.tokenFunc', 'x', 'an invalid string'],
  ['login.routeOptions', true, 'true'],
  ['authenticator', null, 'null'],
  ['authenticator', () => null, 'a function'],
  ['authenticator', [], 'an array of 0'],
  ['authenticator.authenticate', undefined, 'nothing'],
  ['authenticator.scheme', 'a b', '"a b"'],
  ['authenticator.optional', 1, '1'],
  ['authenticator.init', true, 'true'],
  ['authenticator.onUnauthorized', {}, 'an invalid object', 'expected a function'],
  ['authenticators', [basicAuthenticator()], 'an array of 1'],
  ['authenticators.x', null, 'null'],
  ['authenticator.openapi', {}, 'an invalid object'],
  ['authenticator.openapi', 'basic', 'an invalid string'],
  ['authenticator.openapi', null, 'null'],
  ['errorSchema', 'Problem#', 'an invalid string'],
  ['requireMarks', 'explicit', 'an invalid string', 'expected true, or an object'],
  ['requireMarks', false, 'false', 'expected true'],
  ['requireMarks', null, 'null'],
  ['requireMarks.middleware', 'all', 'an invalid string'],
  ['requireMarks.except', '/docs', 'an invalid string'],
]

/** Options that there are not, each with one that the error proposes. */
const unknown: [option: string, known: string][] = [
  ['userSevice', 'userService'],
  ['secret', 'jwt'],
  ['prefix', 'userService'],
  ['jwt.expire', 'expiry'],
  ['jwt.tokenCache.ttl', 'max'],
  ['jwt.rsa.privateKey', 'private, public, passphrase'],
  ['basic.pass', 'username, password'],
  ['hashing.rounds', 'cost'],
  ['credentialCache.size', 'max, ttl'],
  ['throttle.perIp', 'perUsername'],
  ['login.url', 'path'],
  ['audit', 'requireMarks'],
  ['requireMarks.mode', 'except, middleware'],
]

const taken = (route: string, start: Row['start']): Row => ({
  start,
  code: 'ERR_AUTH_OPTION',
  says: [`${route} is already declared`, 'login: { path }', 'login: false'],
})

const rows: readonly Row[] = [
  ...values.map(([name, value, found, more = 'expected']) =>
    option(withValue(name, value), name, `found ${found}`, more),
  ),
  ...unknown.map(([name, known]) =>
    option(withValue(name, 5), `unknown option "${name}"`, 'Known here', known),
  ),
  option(
    { userService: Object.create({ findByUsername: () => null }), realm: '' },
    '"realm": found an empty string',
  ),
  option({ authenticators: { 'a/b~1': {} } }, '"authenticators.a/b~1.authenticate": found nothing'),
  option({ languages: { 'no tag': {} } }, '"languages"', '"no tag"'),
  option({ languages: { de: { 'auth.nope': 'x' } } }, '"languages.de"', '"auth.nope"'),
  option(
    { errorSchema: {} },
    'option "errorSchema"',
    '"errorBody" is not set',
    'Set it in the same',
  ),
  option({ jwt: {} }, '"jwt"', 'no key is set', 'Set jwt.secret'),
  option({ jwt: { secret }, jwtService: new JwtService({ secret }) }, '"jwt" and "jwtService"'),
  option({ jwtService: {} }, '"jwtService"', 'found another object', 'JwtService'),
  key(withJwt({ secret, signingMethod: 'HS512' }), '"jwt.secret"', 'signing method'),
  key(withJwt({ rsa, signingMethod: 'HS256' }), '"jwt.secret"', 'choose another signing method'),
  key(withJwt({ ecdsa, signingMethod: 'ES384' }), '"jwt.ecdsa"', 'needs secp384r1'),
  key(
    withJwt({ secret }, { authenticator: jwtAuthenticator({ signingMethod: 'ES256' }) }),
    '"jwt.ecdsa"',
    'Set it',
  ),
  option(
    withJwt({ secret, rsa: { public: rsa.public } }, { login: { signingMethod: 'RS256' } }),
    /jwt\.rsa|login/,
    /sign/,
  ),
  option({ throttle: { redis: new FakeRedis() } }, '"throttle.keyPrefix"', "keyPrefix: 'shop'"),
  option({ throttle: { redis: {} } }, /throttle\.redis/, 'found nothing'),
  option(
    { ...standardOptions(), login: { usernameField: 'x', passwordField: 'x' } },
    /login\.(username|password)Field/,
    'expected',
  ),
  option(
    { ...standardOptions(), login: { routeOptions: { config: { auth: true } } } },
    '"login.routeOptions.config.auth"',
    'Leave it out',
  ),
  option({ jwt: { secret }, login: {} }, '"login"', 'Set it, or login: false'),
  option({ userService: users, login: {} }, '"login"', 'Set it, or login: false'),
  taken('POST /login', async (app) => {
    app.post('/login', () => 'mine')
    await app.register(authn, standardOptions())
  }),
  taken('POST /login', async (app) => {
    await app.register(authn, standardOptions())
    app.post('/login', () => 'mine')
  }),
  taken('POST /v1/login', async (app) => {
    await app.register(authn, { ...standardOptions(), login: { path: '/v1/login' } })
    await app.register(async (scope) => void scope.all('/login', () => 'mine'), { prefix: '/v1' })
  }),
  taken('POST /logout', async (app) => {
    await app.register(authn, { ...standardOptions(), sessions: true })
    app.post('/logout', () => 'mine')
  }),

  // Authenticators.
  ...[
    { authenticator: basicAuthenticator() },
    { jwt: { secret }, authenticator: jwtAuthenticator() },
  ].map((each) => option(each, '"userService" is missing', /(basic|jwt)Authenticator needs one/)),
  option(
    { userService: users, authenticator: jwtAuthenticator() },
    '"jwt" is missing',
    'needs one',
  ),
  option(
    { authenticator: configBasicAuthenticator() },
    '"basic" is missing',
    'AUTH_BASIC_USERNAME',
  ),
  call(() => jwtAuthenticator({ claim: 'x' } as object), '"jwtAuthenticator.claim"', 'claimName'),
  call(() => jwtAuthenticator({ trusted: true as never }), '"jwtAuthenticator.trusted"'),
  call(() => jwtAuthenticator({ claimName: '' }), '"jwtAuthenticator.claimName": found an empty'),
  call(
    () => basicAuthenticator({ field: 'x' } as object),
    '"basicAuthenticator.field"',
    'passwordField',
  ),
  call(() => basicAuthenticator(null as never), '"basicAuthenticator": found null', 'expected'),
  call(() => configBasicAuthenticator({}), '"basic.username": found nothing', 'expected'),
  call(() => new JwtService({ secret, foo: 1 } as never), 'unknown option "jwt.foo"', 'Known here'),

  // Names that are taken.
  ...['user', 'extra', 'bearerToken', 'authn', 'jwtService'].map((name): Row => ({
    async start(app) {
      if (name === 'authn' || name === 'jwtService') app.decorate(name, {} as never)
      else app.decorateRequest(name, null)
      await app.register(authn, standardOptions())
    },
    code: 'ERR_AUTH_DECORATOR',
    says: [`"${name}"`, 'Rename its decorator'],
  })),

  // Marks.
  ...marks('true', 'found "true"', expectedMark),
  ...marks('required', 'found "required"', expectedMark),
  ...marks('', 'found an empty string', expectedMark),
  ...marks(1, 'found 1', expectedMark),
  ...marks(null, 'found null', expectedMark),
  ...marks([], 'found an array of 0', expectedMark),
  ...marks({}, 'found an invalid object', '{ mode, use, scope, role, mfa, fresh }'),
  ...marks({ mode: 'required' }, `key "mode": found "required", expected true, false, 'optional'`),
  ...marks({ use: 'jwt', optional: true }, 'unknown key "optional". Known here: mode, use, scope'),
  ...marks({ use: [] }, 'key "use": found an array of 0', 'expected a name, or a non-empty array'),
  ...marks({ use: '' }, 'key "use": found an empty string', 'expected a name'),
  ...marks({ use: [1] }, 'key "use.0": found 1', 'expected a non-empty string'),
  ...marks({ use: 'jwtt' }, 'use names "jwtt"', 'not an authenticator here', 'Known: jwt, basic'),
  ...marks({ use: ['jwt', 'nope'] }, 'use names "nope"', 'Known: jwt, basic'),
  ...marks({ use: 'configBasic' }, 'use names "configBasic"', '"configBasic" the option "basic"'),
  ...marks({ use: 'constructor' }, 'use names "constructor"', 'Known: jwt, basic'),
  mark({ ...standardOptions(), auth: undefined }, 'option "auth"', 'found nothing, expected true'),
  ...(
    [
      [{}, 'ERR_AUTH_MARK', ['GET /x', 'no authenticator', 'Set "userService" and "jwt"']],
      [{ jwt: { secret } }, 'ERR_AUTH_MARK', ['GET /x', 'no authenticator', 'userService']],
      // Otherwise marks would quietly mean Basic, and there would be no login.
      [withJwt({ rsa }), 'ERR_AUTH_KEY', [/jwt/, /HS256/, /signingMethod|signing method/]],
    ] as const
  ).map(([options, code, says]): Row => {
    const start = async (app: FastifyInstance): Promise<void> => {
      await app.register(authn, options)
      app.get('/x', { config: { auth: true } }, () => 'open')
    }
    return { start, code, says }
  }),
]

t.test('every invalid option, key, mark and combination makes startup fail', async (t) => {
  for (const { start, code, says } of rows) {
    const app = Fastify()
    const error = await startupError(async () => {
      await start(app)
      await app.ready()
    })
    await app.close()
    if (error === undefined) {
      t.fail(`the app starts: ${says.join(', ')}`)
      continue
    }
    const { message, stack, cause } = error
    const everything = `${message}\n${stack}\n${String(cause)}`
    const found = {
      code: error.code,
      saysWhose: message.startsWith('fastify-authn: '),
      missing: says.filter((part) =>
        typeof part === 'string' ? !message.includes(part) : !part.test(message),
      ),
      isReadable: !/\[object|: undefined|"undefined"/.test(message),
      leaked: secretTexts.filter((text) => everything.includes(text)),
    }
    const wanted = { code, saysWhose: true, missing: [], isReadable: true, leaked: [] }
    same(t, found, wanted, message)
  }
})

t.test('valid options, similar to the invalid ones, start the app', async (t) => {
  const right: AuthnOptions[] = [
    {},
    { ...standardOptions() },
    { ...standardOptions(), auth: { mode: 'try', use: ['jwt', 'basic'] }, maxPasswordBytes: false },
    { jwt: { secret, rsa, signingMethod: 'RS256', expiry: 60, clockTolerance: 300 } },
    { jwt: { secret: Buffer.alloc(32, 7) } },
    { jwt: { rsa: { private: encrypted, passphrase: hidden.passphrase } } },
    { basic: { username: 'a', password: 'b:c é' }, realm: 'Café "x"' },
    { languages: { klingon: { 'auth.jwt-invalid': 'x' } }, defaultLanguage: 'klingon' },
    { ...standardOptions(), userService: undefined, jwt: undefined, login: undefined },
  ]
  for (const options of right) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(authn, options)
    t.equal(await startupError(() => app.ready()), undefined, JSON.stringify(Object.keys(options)))
  }
})
