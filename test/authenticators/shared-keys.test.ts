import { generateKeyPairSync } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import authn, { anyOf, configFromEnv, jwtAuthenticator, JwtService } from '../../lib/index.js'
import { rejectionOf } from '../helpers/errors.js'
import { privatePem, publicPem } from '../helpers/tokens.js'
import type { AuthnOptions } from '../../types/options.js'
import { fastify } from '../helpers/app.js'

const secret = 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae'
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ecdsa = { private: privatePem(pair.privateKey) }
const service = () => {
  const alice = { id: 1, name: 'alice' }
  // What each finds is its own.
  return { alice, findByUsername: (name: unknown) => (name === 'alice' ? alice : null) }
}
const users = { userService: service() }
const others = { userService: service() }

/** Starts two registrations, side by side or one inside of the other. */
async function start(
  first: AuthnOptions,
  second: AuthnOptions,
  { nested = false }: { nested?: boolean } = {},
): Promise<FastifyInstance> {
  const app = fastify(t)
  if (nested) await app.register(authn, first)
  else await app.register(async (one) => one.register(authn, first), { prefix: '/one' })
  await app.register(
    async (two) => {
      await two.register(authn, { login: false, ...second })
      two.get('/me', { config: { auth: true } }, (request) => request.user)
    },
    { prefix: '/two' },
  )
  await app.ready()
  return app
}

const env = () => configFromEnv({ AUTH_JWT_SECRET: secret })
const shared = new JwtService({ secret })
const long = 'Vb8'.padEnd(64, 'kT7-zQ2_')

t.test('startup fails for two registrations with one key and two user services', async (t) => {
  const publicHalf = { public: publicPem(pair.publicKey) }
  const method = { signingMethod: 'HS512' } as const
  const other = jwtAuthenticator(method)
  const cases: Record<string, [AuthnOptions, AuthnOptions]> = {
    'configFromEnv twice': [env(), env()],
    'a shared service': [{ jwtService: shared }, { jwtService: shared }],
    'string and Buffer': [{ jwt: { secret } }, { jwt: { secret: Buffer.from(secret) } }],
    'a service and a secret': [{ jwtService: new JwtService({ secret }) }, { jwt: { secret } }],
    'a secret and the same one to HMAC': [{ jwt: { secret } }, { jwt: { secret: `${secret}\0` } }],
    'a pair and its public half': [
      { jwt: { ecdsa, signingMethod: 'ES256' } },
      { jwt: { ecdsa: publicHalf, signingMethod: 'ES256' } },
    ],
    'an audience of one side only': [{ jwt: { secret, audience: 'one' } }, { jwt: { secret } }],
    'audiences with one in common': [
      { jwt: { secret, audience: ['one', 'both'] } },
      { jwt: { secret, audience: ['both', 'two'] } },
    ],
    'another method that an authenticator has': [
      { jwt: { secret: long, ...method } },
      { jwt: { secret: long }, authenticators: { other } },
    ],
    'two methods of one secret': [{ jwt: { secret: long } }, { jwt: { secret: long, ...method } }],
    'tokens that the other one only issues': [
      { jwt: { secret: long }, login: method },
      { jwt: { secret: long, ...method } },
    ],
    'a marked authenticator that is not the default': [
      { jwt: { secret }, authenticator: 'basic' },
      { jwt: { secret } },
    ],
  }
  for (const [name, [first, second]] of Object.entries(cases)) {
    for (const nested of [false, true]) {
      const starting = start({ ...first, ...users }, { ...second, ...others }, { nested })
      const { code, message } = await rejectionOf(starting)
      t.equal(code, 'ERR_AUTH_OPTION', name)
      t.match(
        message,
        /with the same key but have different user services.*"audience".*"userService"/,
      )
      t.match(message, nested ? 'scopes "/" and "/two"' : 'scopes "/one" and "/two"')
      t.notMatch(message, secret)
    }
  }
})

t.test('startup allows one key with one user service, or with other audiences', async (t) => {
  const cases: Record<string, [AuthnOptions, AuthnOptions, AuthnOptions?]> = {
    'one user service': [env(), env(), users],
    'one user service, written twice': [env(), env(), { userService: { ...users.userService } }],
    audiences: [{ jwt: { secret, audience: 'one' } }, { jwt: { secret, audience: ['two'] } }],
    issuers: [{ jwt: { secret, issuer: 'one' } }, { jwt: { secret, issuer: 'two' } }],
    'two keys': [{ jwt: { secret } }, { jwt: { secret: long } }],
    'one that takes no tokens': [
      env(),
      { ...env(), basic: { username: 'admin', password: 'open sesame' } },
      {},
    ],
  }
  for (const [name, [first, second, own = others]] of Object.entries(cases)) {
    for (const nested of [false, true]) {
      t.ok(await start({ ...first, ...users }, { ...second, ...own }, { nested }), name)
    }
  }
})

t.test('a registration that was replaced may share a key with its successor', async (t) => {
  const app = fastify(t)
  await app.register(authn, { ...env(), ...users, login: false })
  await app.register(authn, { ...env(), ...others, login: false })
  await app.ready()
  t.strictSame(app.authn.authenticators, ['jwt', 'basic'])
})

t.test('startup fails for one key and two classes of users with the same members', async (t) => {
  class Admins {
    constructor(readonly database: object) {}
    findByUsername(name: unknown) {
      return { name, isAdmin: true }
    }
  }
  class Customers {
    constructor(readonly database: object) {}
    findByUsername(name: unknown) {
      return { name }
    }
  }
  const database = {}
  const customers = { jwt: { secret }, userService: new Customers(database) }
  const admins = { jwt: { secret }, userService: new Admins(database) }
  t.equal((await rejectionOf(start(customers, admins))).code, 'ERR_AUTH_OPTION')
})

t.test('startup fails for one key and two user services in one registration', async (t) => {
  type Options = Parameters<typeof jwtAuthenticator>[0]
  /** Routes for the default, and for an authenticator with these options; what of it makes startup fail. */
  const startWith = async (
    own: Options,
    more: AuthnOptions = {},
    isUsed = true,
  ): Promise<unknown> => {
    const app = fastify(t)
    const authenticators = { admin: { ...jwtAuthenticator(own) } }
    const jwt = { secret: long, audience: 'people' }
    await app.register(authn, { ...users, jwt, authenticators, ...more })
    app.get('/me', { config: { auth: true } }, () => 'me')
    const use = isUsed ? ['admin', 'basic'] : 'jwt'
    app.get('/admin', { config: { auth: { use } } }, () => 'admin')
    return app.ready().then(
      () => null,
      (error: unknown) => error,
    )
  }
  const error = {
    code: 'ERR_AUTH_OPTION',
    message: /"jwt" and "admin\|basic" verify with the same key/,
  }
  for (const own of [
    others,
    { ...others, audience: ['people', 'admin'] },
    { ...others, issuer: 'me' },
    { ...others, signingMethod: 'HS256', typ: ['JWT', 'admin+jwt'] },
  ] as const) {
    t.match(await startWith(own), error, JSON.stringify(own))
  }
  for (const own of [
    users,
    {},
    { userService: { ...users.userService } },
    { ...others, audience: 'admin' },
    { ...others, claimName: 'admin' },
    { ...others, typ: 'admin+jwt' },
    { ...others, signingMethod: 'HS512' },
  ] as const) {
    t.equal(await startWith(own), null, JSON.stringify(own))
  }
  t.equal(await startWith(others, {}, false), null, 'of which one has no route')
  const replaced = { authenticator: jwtAuthenticator(others) }
  t.equal(await startWith({ ...others, claimName: 'admin' }, replaced), null, 'no route asks "jwt"')
  const members = { authenticators: { admin: anyOf(jwtAuthenticator(others)) } }
  t.match(await startWith({}, members), error, 'in anyOf()')
  const app = fastify(t)
  await app.register(authn, { jwt: { secret }, ...users, auth: true })
  app.get('/me', () => 'me')
  await app.register(async (inner) => {
    const authenticator = jwtAuthenticator(others)
    await inner.register(authn, { jwt: { secret }, authenticator, login: false })
    inner.get('/two', () => 'two')
  })
  const { code } = await rejectionOf(app.ready())
  t.equal(code, 'ERR_AUTH_OPTION', 'an inner registration without a user service')
})
