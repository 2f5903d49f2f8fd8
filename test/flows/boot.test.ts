// Also holds lib/options/schemas.ts, lib/options/jwt-schemas.ts, lib/options/parts.ts, lib/plugin.ts and
// lib/options/authenticator-schemas.ts.
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import {
  anyOf,
  authn,
  basicAuthenticator,
  configBasicAuthenticator,
  configFromEnv,
  jwtAuthenticator,
  JwtService,
  type AuthnOptions,
} from '../../lib/index.js'
import { secret, standardOptions, userService } from '../helpers/app.js'
import { anyService, bootError, same } from '../helpers/flows.js'
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

/** A way to boot that has to fail, and what the message has to say. */
interface Row {
  readonly boot: (app: FastifyInstance) => unknown
  readonly code: string
  /** The option or place, what was wrong, what to do. */
  readonly says: readonly (string | RegExp)[]
}

const users = anyService(userService())

/** Options that are wrong by themselves. */
function option(
  options: Record<string, unknown>,
  says: Row['says'],
  code = 'ERR_AUTH_OPTION',
): Row {
  return { boot: (app) => app.register(authn, options as AuthnOptions), code, says }
}

/** The same, where the error says what is expected. */
const expects = (options: Record<string, unknown>, ...says: Row['says']): Row =>
  option(options, [...says, 'expected'])

const wrongKey = (jwt: object, ...says: Row['says']): Row => option({ jwt }, says, 'ERR_AUTH_KEY')

/** A mark that is wrong wherever it stands. */
function marks(mark: unknown, found: string | RegExp, ...more: Row['says']): Record<string, Row> {
  const name = JSON.stringify(mark)
  const auth = mark as never
  const code = 'ERR_AUTH_MARK'
  return {
    [`route, mark ${name}`]: {
      async boot(app) {
        await app.register(authn, standardOptions())
        app.get('/x', { config: { auth } }, () => 'open')
      },
      code,
      says: ['GET /x', 'config.auth', found, ...more],
    },
    [`route before the plugin, mark ${name}`]: {
      async boot(app) {
        app.get('/x', { config: { auth } }, () => 'open')
        await app.register(authn, standardOptions())
      },
      code,
      says: ['/x', 'config.auth', found, ...more],
    },
    [`group, mark ${name}`]: {
      async boot(app) {
        await app.register(authn, standardOptions())
        await app.register(async (app) => void app.get('/x', () => 'open'), {
          prefix: '/group',
          auth,
        })
      },
      code,
      says: [/\/group|\/x/, 'auth', found, ...more],
    },
    [`plugin, mark ${name}`]: {
      async boot(app) {
        await app.register(authn, { ...standardOptions(), auth })
        app.get('/x', () => 'open')
      },
      code,
      says: ['auth', found, ...more],
    },
  }
}

function call(run: () => unknown, says: Row['says'], code = 'ERR_AUTH_OPTION'): Row {
  return { boot: run, code, says }
}

const expectedMark = "expected true, false, 'optional', 'try' or { mode, use, scope, role }"

const rows: Record<string, Row> = {
  // Options of the plugin.
  'unknown option': option({ userSevice: users }, [
    'unknown option "userSevice"',
    'Known here: userService',
  ]),
  'option of another place': option({ secret }, ['unknown option "secret"', 'jwt']),
  'a prefix for the plugin itself': option({ prefix: '/x' }, ['unknown option "prefix"']),
  'userService: null': expects({ userService: null }, '"userService": found null'),
  'userService: function': expects({ userService: () => null }, '"userService": found a function'),
  'userService without method': expects(
    { userService: {} },
    '"userService.findByUsername": found nothing',
  ),
  'userService with a value': expects(
    { userService: { findByUsername: users } },
    '"userService.findByUsername": found an invalid object',
  ),
  'passwordField: empty': expects({ passwordField: '' }, '"passwordField": found an empty string'),
  'passwordField: array': expects({ passwordField: ['a'] }, '"passwordField": found an array of 1'),
  'maxPasswordBytes: 0': expects({ maxPasswordBytes: 0 }, '"maxPasswordBytes": found 0'),
  'maxPasswordBytes: 73': expects({ maxPasswordBytes: 73 }, '"maxPasswordBytes": found 73'),
  'maxPasswordBytes: true': expects({ maxPasswordBytes: true }, '"maxPasswordBytes": found true'),
  'maxPasswordBytes: 8.5': expects({ maxPasswordBytes: 8.5 }, '"maxPasswordBytes": found 8.5'),
  'maxPasswordBytes: NaN': expects(
    { maxPasswordBytes: Number.NaN },
    '"maxPasswordBytes": found NaN',
  ),
  'jwt.tokenCache: true': expects(
    { jwt: { secret, tokenCache: true } },
    '"jwt.tokenCache": found true',
  ),
  'jwt.tokenCache.max: 0': expects(
    { jwt: { secret, tokenCache: { max: 0 } } },
    '"jwt.tokenCache.max": found 0',
  ),
  'jwt.tokenCache: unknown': option({ jwt: { secret, tokenCache: { ttl: 5 } } }, [
    'unknown option "jwt.tokenCache.ttl"',
  ]),
  'realm: empty': expects({ realm: '' }, '"realm": found an empty string'),
  'realm: line break': expects({ realm: 'a\r\nX-Evil: 1' }, '"realm": found characters'),
  'realm: Cyrillic': expects({ realm: 'Вход' }, '"realm": found characters'),
  'realm: number': expects({ realm: 5 }, '"realm": found 5'),
  'languages: array': expects({ languages: [] }, '"languages": found an array'),
  'languages: no tag': expects({ languages: { 'no tag': {} } }, '"languages"', '"no tag"'),
  'languages: unknown key': expects(
    { languages: { de: { 'auth.nope': 'x' } } },
    '"languages.de"',
    '"auth.nope"',
  ),
  'languages: a number': expects(
    { languages: { de: { 'auth.jwt-invalid': 5 } } },
    'languages.de.auth.jwt-invalid',
    'found 5',
  ),
  'languages: an empty text': expects(
    { languages: { de: { 'auth.jwt-invalid': '' } } },
    'languages.de.auth.jwt-invalid',
    'found an empty string',
  ),
  'defaultLanguage: unknown': option({ defaultLanguage: 'tlh' }, [
    '"defaultLanguage": found "tlh"',
    'Add one to "languages"',
  ]),
  'defaultLanguage: empty': expects(
    { defaultLanguage: '' },
    '"defaultLanguage": found an empty string',
  ),

  // jwt
  'jwt: a text': expects({ jwt: hidden.text }, '"jwt": found an invalid string'),
  'jwt: {}': option({ jwt: {} }, ['"jwt"', 'no key is set', 'Set jwt.secret']),
  'jwt: undefined secret': option({ jwt: { secret: undefined } }, [
    '"jwt"',
    'no key is set',
    'environment variable',
  ]),
  'jwt: unknown option': option({ jwt: { secret, expire: 5 } }, [
    'unknown option "jwt.expire"',
    'Known here: secret, expiry',
  ]),
  'jwt.secret: number': expects({ jwt: { secret: hidden.number } }, '"jwt.secret"', 'found'),
  'jwt.secret: null': expects({ jwt: { secret: null } }, '"jwt.secret": found null'),
  'jwt.expiry: 0': expects({ jwt: { secret, expiry: 0 } }, '"jwt.expiry": found 0'),
  'jwt.expiry: milliseconds': option({ jwt: { secret, expiry: 365 * 86_400_000 } }, [
    '"jwt.expiry"',
    '31536000000',
    'seconds',
    'milliseconds',
  ]),
  'jwt.expiry: more than ten years': option({ jwt: { secret, expiry: 3650 * 86_400 + 1 } }, [
    '"jwt.expiry"',
    'ten years',
  ]),
  'jwt.expiry: a text': expects(
    { jwt: { secret, expiry: '5m' } },
    '"jwt.expiry": found an invalid string',
  ),
  'jwt.expiry: 1.5': expects({ jwt: { secret, expiry: 1.5 } }, '"jwt.expiry": found 1.5'),
  'jwt.expiry: Infinity': expects(
    { jwt: { secret, expiry: Infinity } },
    '"jwt.expiry": found Infinity',
  ),
  'jwt.signingMethod: none': expects(
    { jwt: { secret, signingMethod: 'none' } },
    '"jwt.signingMethod": found "none"',
  ),
  'jwt.signingMethod: lower case': expects(
    { jwt: { secret, signingMethod: 'hs256' } },
    '"jwt.signingMethod": found "hs256"',
  ),
  'jwt.clockTolerance: 301': expects(
    { jwt: { secret, clockTolerance: 301 } },
    '"jwt.clockTolerance": found 301',
  ),
  'jwt.clockTolerance: -1': expects(
    { jwt: { secret, clockTolerance: -1 } },
    '"jwt.clockTolerance": found -1',
  ),
  'jwt.requireExp: a text': expects(
    { jwt: { secret, requireExp: 'false' } },
    '"jwt.requireExp": found an invalid string',
  ),
  'jwt.issuer: empty': expects(
    { jwt: { secret, issuer: '' } },
    '"jwt.issuer": found an empty string',
  ),
  'jwt.audience: []': expects(
    { jwt: { secret, audience: [] } },
    '"jwt.audience": found an array of 0',
  ),
  'jwt.rsa: a text': expects({ jwt: { rsa: rsa.private } }, '"jwt.rsa": found an invalid string'),
  'jwt.rsa: unknown option': option({ jwt: { rsa: { privateKey: rsa.private } } }, [
    'unknown option "jwt.rsa.privateKey"',
    'Known here: private, public, passphrase',
  ]),
  'jwt.rsa.private: number': expects(
    { jwt: { rsa: { private: hidden.number } } },
    '"jwt.rsa.private"',
    'found',
  ),
  'jwt.rsa.passphrase: number': expects(
    { jwt: { rsa: { ...rsa, passphrase: hidden.number } } },
    '"jwt.rsa.passphrase"',
    'found',
  ),
  'jwt and jwtService': option({ jwt: { secret }, jwtService: new JwtService({ secret }) }, [
    '"jwt" and "jwtService"',
    'both set',
    'leave "jwt" out',
  ]),
  'jwtService: {}': expects({ jwtService: {} }, 'jwtService', 'found nothing'),
  'jwtService: a text': expects(
    { jwtService: hidden.text },
    '"jwtService": found an invalid string',
  ),

  // Keys.
  'secret of 31 bytes': wrongKey(
    { secret: hidden.text.padEnd(31) },
    '"jwt.secret"',
    '248 bits',
    'at least 256',
    'randomBytes',
  ),
  'secret: empty': wrongKey({ secret: '' }, '"jwt.secret"', '0 bits', 'randomBytes'),
  'secret too short for the method': option(
    { userService: users, jwt: { secret, signingMethod: 'HS512' } },
    ['"jwt.secret"', '256 bits', 'at least 512 for HS512', 'signing method'],
    'ERR_AUTH_KEY',
  ),
  'a pair without keys': wrongKey({ rsa: {} }, '"jwt.rsa"', 'has no key', 'Set "private"'),
  'no such file': wrongKey(
    { rsa: { private: './no/such/file.pem' } },
    '"jwt.rsa.private"',
    'ENOENT',
    'Give PEM text, or the path',
  ),
  'a folder': wrongKey(
    { rsa: { public: '.' } },
    '"jwt.rsa.public"',
    'EISDIR',
    'Give PEM text, or the path',
  ),
  'a file that is no key': wrongKey(
    { ecdsa: { public: 'package.json' } },
    '"jwt.ecdsa.public"',
    'not a public key in PEM',
    'file',
    'Give SPKI',
  ),
  'a key without its PEM lines': wrongKey(
    { ecdsa: { private: withoutLines } },
    '"jwt.ecdsa.private"',
    'PEM',
  ),
  'a JWK as a key': wrongKey({ ecdsa: { private: jwk } }, '"jwt.ecdsa.private"', 'PEM'),
  'no key of the signing method': option(
    { userService: users, jwt: { rsa, signingMethod: 'HS256' } },
    ['"jwt.secret"', 'missing', 'HS256', 'choose another signing method'],
    'ERR_AUTH_KEY',
  ),
  'a curve that does not fit the method': option(
    {
      userService: users,
      jwt: { ecdsa: { private: privatePem(keys.p256.privateKey) }, signingMethod: 'ES384' },
    },
    ['"jwt.ecdsa"', 'prime256v1', 'ES384', 'needs secp384r1'],
    'ERR_AUTH_KEY',
  ),
  'an authenticator without its key': option(
    {
      userService: users,
      jwt: { secret },
      authenticator: jwtAuthenticator({ signingMethod: 'ES256' }),
    },
    ['"jwt.ecdsa"', 'missing', 'ES256', 'Set it'],
    'ERR_AUTH_KEY',
  ),
  'login with a method without its private key': option(
    {
      userService: users,
      jwt: { secret, rsa: { public: rsa.public } },
      login: { signingMethod: 'RS256' },
    },
    [/jwt\.rsa|login/, 'missing', /sign/],
  ),

  // basic
  'basic: {}': expects({ basic: {} }, '"basic.username": found nothing'),
  'basic: no password': expects({ basic: { username: 'a' } }, '"basic.password": found nothing'),
  'basic: empty password': expects(
    { basic: { username: 'a', password: '' } },
    '"basic.password": found an empty string',
  ),
  'basic: number': expects(
    { basic: { username: 'a', password: hidden.number } },
    '"basic.password"',
    'found',
  ),
  'basic: colon': option({ basic: { username: 'a:b', password: hidden.password } }, [
    '"basic.username": found an invalid string',
    'without colons',
  ]),
  'basic: line break': option({ basic: { username: 'a', password: `${hidden.password}\n` } }, [
    '"basic.password": found an invalid string',
    'control characters',
  ]),
  'basic: unknown option': option(
    { basic: { username: 'a', password: hidden.password, pass: 1 } },
    ['unknown option "basic.pass"', 'Known here: username, password'],
  ),

  // hashing, credentialCache, throttle, userServiceTimeout
  'hashing: unknown option': option({ hashing: { rounds: 10 } }, [
    'unknown option "hashing.rounds"',
    'Known here: cost',
  ]),
  'hashing.cost: 3': expects({ hashing: { cost: 3 } }, '"hashing.cost": found 3'),
  'hashing.maxCost: 32': option({ hashing: { maxCost: 32 } }, [
    '"hashing.maxCost": found 32',
    '4 to 31',
  ]),
  'hashing.maxCost: below the cost': option({ hashing: { cost: 12, maxCost: 11 } }, [
    '"hashing.maxCost": found 11',
    'cost 12',
  ]),
  'hashing.cost: a text': expects(
    { hashing: { cost: '10' } },
    '"hashing.cost": found an invalid string',
  ),
  'hashing.concurrency: 0': expects(
    { hashing: { concurrency: 0 } },
    '"hashing.concurrency": found 0',
  ),
  'hashing.maxQueue: -1': expects({ hashing: { maxQueue: -1 } }, '"hashing.maxQueue": found -1'),
  'hashing.maxWait: milliseconds': expects(
    { hashing: { maxWait: 5000 } },
    '"hashing.maxWait": found 5000',
  ),
  'credentialCache: true': expects({ credentialCache: true }, '"credentialCache": found true'),
  'credentialCache: unknown option': option({ credentialCache: { size: 5 } }, [
    'unknown option "credentialCache.size"',
    'Known here: max, ttl',
  ]),
  'credentialCache.ttl: 0': expects(
    { credentialCache: { ttl: 0 } },
    '"credentialCache.ttl": found 0',
  ),
  'throttle: true': expects({ throttle: true }, '"throttle": found true'),
  'throttle: unknown option': option({ throttle: { perIp: 5 } }, [
    'unknown option "throttle.perIp"',
    'Known here: perUsername',
  ]),
  'throttle.perUsername: 0': expects(
    { throttle: { perUsername: 0 } },
    '"throttle.perUsername": found 0',
  ),
  'throttle.window: milliseconds': expects(
    { throttle: { window: 900_000 } },
    '"throttle.window": found 900000',
  ),
  'throttle.redis: an address': option(
    { throttle: { redis: `redis://:${hidden.password}@127.0.0.1` } },
    ['"throttle.redis": found an invalid string', 'expected a client of ioredis'],
  ),
  'throttle.redis: {}': expects({ throttle: { redis: {} } }, /throttle\.redis/, 'found nothing'),
  'userServiceTimeout: 0': expects({ userServiceTimeout: 0 }, '"userServiceTimeout": found 0'),
  'userServiceTimeout: milliseconds': expects(
    { userServiceTimeout: 5000 },
    '"userServiceTimeout": found 5000',
  ),

  // login
  'login: true': expects({ ...standardOptions(), login: true }, '"login": found true'),
  'login: unknown option': option({ ...standardOptions(), login: { url: '/x' } }, [
    'unknown option "login.url"',
    'Known here: path',
  ]),
  'login.path: relative': expects(
    { ...standardOptions(), login: { path: 'login' } },
    '"login.path": found "login"',
  ),
  'login.usernameField: empty': expects(
    { ...standardOptions(), login: { usernameField: '' } },
    '"login.usernameField": found an empty string',
  ),
  'login: one field for both': option(
    { ...standardOptions(), login: { usernameField: 'x', passwordField: 'x' } },
    [/login\.(username|password)Field/, '"x"', 'expected'],
  ),
  'login.signingMethod': expects(
    { ...standardOptions(), login: { signingMethod: 'none' } },
    '"login.signingMethod": found "none"',
  ),
  'login.tokenFunc': expects(
    { ...standardOptions(), login: { tokenFunc: 'x' } },
    '"login.tokenFunc": found an invalid string',
  ),
  'login.routeOptions': expects(
    { ...standardOptions(), login: { routeOptions: true } },
    '"login.routeOptions": found true',
  ),
  'login.routeOptions.config.auth': option(
    { ...standardOptions(), login: { routeOptions: { config: { auth: true } } } },
    ['"login.routeOptions.config.auth"', 'always open', 'Leave it out'],
  ),
  'login without users': option({ jwt: { secret }, login: {} }, [
    '"login"',
    '"userService" is missing',
    'Set it, or login: false',
  ]),
  'login without keys': option({ userService: users, login: {} }, [
    '"login"',
    '"jwt"',
    'missing',
    'Set it, or login: false',
  ]),
  'login where there is a route': {
    async boot(app) {
      app.post('/login', () => 'mine')
      await app.register(authn, standardOptions())
    },
    code: 'ERR_AUTH_OPTION',
    says: ['"login.path"', 'POST /login is already declared', 'login: { path }', 'login: false'],
  },
  'a route where the login is': {
    async boot(app) {
      await app.register(authn, standardOptions())
      app.post('/login', () => 'mine')
    },
    code: 'ERR_AUTH_OPTION',
    says: ['"login.path"', 'POST /login is already declared', 'login: { path }', 'login: false'],
  },
  'a route for all methods, in a scope': {
    async boot(app) {
      await app.register(authn, { ...standardOptions(), login: { path: '/v1/login' } })
      await app.register(async (scope) => void scope.all('/login', () => 'mine'), { prefix: '/v1' })
    },
    code: 'ERR_AUTH_OPTION',
    says: ['POST /v1/login is already declared', 'login: { path }', 'login: false'],
  },
  'a route where the logout is': {
    async boot(app) {
      await app.register(authn, { ...standardOptions(), sessions: true })
      app.post('/logout', () => 'mine')
    },
    code: 'ERR_AUTH_OPTION',
    says: ['"sessions"', 'POST /logout is already declared', 'login: { path }', 'login: false'],
  },

  // Authenticators.
  'authenticator: null': expects({ authenticator: null }, '"authenticator": found null'),
  'authenticator: {}': expects(
    { authenticator: {} },
    '"authenticator.authenticate": found nothing',
  ),
  'authenticator: a function': expects(
    { authenticator: () => null },
    '"authenticator": found a function',
  ),
  'authenticator: the factory': expects(
    { authenticator: jwtAuthenticator },
    '"authenticator": found a function',
  ),
  'authenticator: []': expects({ authenticator: [] }, '"authenticator": found an array of 0'),
  'authenticator: unknown name': option(
    { ...standardOptions(), authenticator: 'jwtt' },
    ['"authenticator"', '"jwtt"', 'Known: jwt, basic'],
    'ERR_AUTH_MARK',
  ),
  'authenticator.scheme': expects(
    { authenticator: { scheme: 'a b', authenticate: () => null } },
    '"authenticator.scheme": found "a b"',
  ),
  'authenticator.optional': expects(
    { authenticator: { optional: 1, authenticate: () => null } },
    '"authenticator.optional": found 1',
  ),
  'authenticator.init': expects(
    { authenticator: { init: true, authenticate: () => null } },
    '"authenticator.init": found true',
  ),
  'authenticator.onUnauthorized': option(
    { authenticator: { onUnauthorized: {}, authenticate: () => null } },
    ['"authenticator.onUnauthorized": found an invalid object', 'expected a function'],
  ),
  'authenticators: array': expects(
    { authenticators: [basicAuthenticator()] },
    '"authenticators": found an array of 1',
  ),
  'authenticators.x: null': expects(
    { authenticators: { x: null } },
    '"authenticators.x": found null',
  ),
  'authenticators.x: {}': expects(
    { authenticators: { x: {} } },
    '"authenticators.x.authenticate": found nothing',
  ),
  'basicAuthenticator without users': option({ authenticator: basicAuthenticator() }, [
    '"userService" is missing',
    'basicAuthenticator needs one',
  ]),
  'jwtAuthenticator without users': option({ jwt: { secret }, authenticator: jwtAuthenticator() }, [
    '"userService" is missing',
    'jwtAuthenticator needs one',
  ]),
  'jwtAuthenticator without keys': option(
    { userService: users, authenticator: jwtAuthenticator() },
    ['"jwt" is missing', 'jwtAuthenticator needs one'],
  ),
  'configBasicAuthenticator without basic': option({ authenticator: configBasicAuthenticator() }, [
    '"basic" is missing',
    'AUTH_BASIC_USERNAME',
  ]),
  'jwtAuthenticator: unknown option': call(
    () => jwtAuthenticator({ claim: 'x' } as object),
    ['unknown option "jwtAuthenticator.claim"', 'claimName'],
  ),
  'jwtAuthenticator.claimName: empty': call(
    () => jwtAuthenticator({ claimName: '' }),
    ['"jwtAuthenticator.claimName": found an empty string', 'expected'],
  ),
  'jwtAuthenticator.optional: text': call(
    () => jwtAuthenticator({ optional: 'yes' } as never),
    ['"jwtAuthenticator.optional": found an invalid string', 'expected true or false'],
  ),
  'jwtAuthenticator.clockTolerance': call(
    () => jwtAuthenticator({ clockTolerance: 1000 }),
    ['"jwtAuthenticator.clockTolerance": found 1000', 'expected seconds'],
  ),
  'basicAuthenticator: unknown option': call(
    () => basicAuthenticator({ field: 'x' } as object),
    ['unknown option "basicAuthenticator.field"', 'passwordField'],
  ),
  'basicAuthenticator: null': call(
    () => basicAuthenticator(null as never),
    ['"basicAuthenticator": found null', 'expected'],
  ),
  'configBasicAuthenticator: {}': call(
    () => configBasicAuthenticator({}),
    ['"basic.username": found nothing', 'expected'],
  ),
  'anyOf()': call(() => anyOf(), ['anyOf()', 'expected one authenticator or more']),
  'anyOf(null)': call(
    () => anyOf(null as never),
    ['anyOf()[0]', 'found null', 'expected an authenticator'],
  ),
  'JwtService: {}': call(() => new JwtService({}), ['"jwt"', 'no key is set', 'Set jwt.secret']),
  'JwtService: null': call(
    () => new JwtService(null as never),
    ['"jwt": found null', 'expected an object'],
  ),
  'JwtService: unknown option': call(
    () => new JwtService({ secret, foo: 1 } as never),
    ['unknown option "jwt.foo"', 'Known here'],
  ),
  'JwtService: short secret': call(
    () => new JwtService({ secret: hidden.text }),
    ['"jwt.secret"', 'at least 256', 'randomBytes'],
    'ERR_AUTH_KEY',
  ),
  AUTH_JWT_EXPIRY: call(
    () => configFromEnv({ AUTH_JWT_EXPIRY: '5m' }),
    ['AUTH_JWT_EXPIRY', '"5m"', 'expected whole seconds'],
  ),

  // Names that are taken.
  ...Object.fromEntries(
    ['user', 'extra', 'bearerToken'].map((name) => [
      `request decorator ${name}`,
      {
        async boot(app: FastifyInstance) {
          app.decorateRequest(name, null)
          await app.register(authn, standardOptions())
        },
        code: 'ERR_AUTH_DECORATOR',
        says: [`"${name}"`, 'Rename its decorator'],
      },
    ]),
  ),
  ...Object.fromEntries(
    ['authn', 'jwtService'].map((name) => [
      `decorator ${name}`,
      {
        async boot(app: FastifyInstance) {
          app.decorate(name, {})
          await app.register(authn, standardOptions())
        },
        code: 'ERR_AUTH_DECORATOR',
        says: [`"${name}"`, 'already', 'Rename its decorator'],
      },
    ]),
  ),

  // Marks.
  ...marks('true', 'found "true"', expectedMark),
  ...marks('required', 'found "required"', expectedMark),
  ...marks('Optional', 'found "Optional"', expectedMark),
  ...marks('', 'found ""', expectedMark),
  ...marks(1, 'found number', expectedMark),
  ...marks(0, 'found number', expectedMark),
  ...marks(null, 'found null', expectedMark),
  ...marks([], /found an (array|invalid object)/, expectedMark),
  ...marks(['jwt'], /found an (array|invalid object)/, expectedMark),
  ...marks({}, 'found an empty object', '{ mode, use, scope, role }'),
  ...marks(
    { mode: 'required' },
    'found mode "required"',
    "expected mode true, false, 'optional' or 'try'",
  ),
  ...marks({ mode: null }, 'found mode null', 'expected mode'),
  ...marks(
    { use: 'jwt', optional: true },
    'found the unknown key "optional"',
    'expected { mode, use, scope, role }',
  ),
  ...marks({ use: [] }, 'found use', 'expected use to be a name or a non-empty array'),
  ...marks({ use: '' }, 'found use ""', 'expected use to be a name'),
  ...marks({ use: [1] }, 'found use', 'expected use to be a name'),
  ...marks({ use: 'jwtt' }, 'use names "jwtt"', 'not an authenticator here', 'Known: jwt, basic'),
  ...marks({ use: ['jwt', 'nope'] }, 'use names "nope"', 'Known: jwt, basic'),
  ...marks({ use: 'configBasic' }, 'use names "configBasic"', '"configBasic" the option "basic"'),
  ...marks({ use: 'constructor' }, 'use names "constructor"', 'Known: jwt, basic'),
  'auth: undefined': option(
    { ...standardOptions(), auth: undefined },
    ['option "auth"', 'found undefined', 'expected true'],
    'ERR_AUTH_MARK',
  ),
  'a mark without any authenticator': {
    async boot(app) {
      await app.register(authn, {})
      app.get('/x', { config: { auth: true } }, () => 'open')
    },
    code: 'ERR_AUTH_MARK',
    says: ['GET /x', 'no authenticator', 'Set "userService" and "jwt"'],
  },
  'a mark with keys, without users': {
    async boot(app) {
      await app.register(authn, { jwt: { secret }, auth: 'optional' })
      app.get('/x', () => 'open')
    },
    code: 'ERR_AUTH_MARK',
    says: ['GET /x', 'no authenticator', 'userService'],
  },
  'keys of another method than the signing method': {
    async boot(app) {
      // Without this, marks would quietly mean Basic, and there would be no login.
      await app.register(authn, { userService: users, jwt: { rsa } })
      app.get('/x', { config: { auth: true } }, () => 'open')
    },
    code: 'ERR_AUTH_KEY',
    says: [/jwt/, /HS256/, /signingMethod|signing method/],
  },
  'a mark that only an inner registration could judge': {
    async boot(app) {
      await app.register(async (app) => {
        await app.register(authn, standardOptions())
      })
      app.get('/x', { config: { auth: { use: 'basic' } } }, () => 'open')
    },
    code: 'ERR_AUTH_MARK',
    says: ['GET /x', 'not registered in its scope', 'Register the plugin'],
  },
}

t.test('every bad option, key, mark and combination stops the boot', async (t) => {
  for (const [name, { boot, code, says }] of Object.entries(rows)) {
    const app = Fastify()
    const error = await bootError(async () => {
      await boot(app)
      await app.ready()
    })
    await app.close()
    if (error === undefined) {
      t.fail(`${name}: it boots`)
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
    same(t, found, wanted, `${name}: ${message}`)
  }
  t.ok(Object.keys(rows).length > 200)
})

t.test('what is right boots: the rows above fail for what they say', async (t) => {
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
    t.equal(await bootError(() => app.ready()), undefined, JSON.stringify(Object.keys(options)))
  }
})
