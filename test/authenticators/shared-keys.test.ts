import { generateKeyPairSync } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import authn, { anyOf, configFromEnv, jwtAuthenticator, JwtService } from '../../lib/index.js'
import { rejectionOf } from '../helpers/errors.js'
import { privatePem, publicPem } from '../helpers/tokens.js'
import type { AuthnOptions } from '../../types/options.js'

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
  const app = Fastify()
  t.teardown(() => app.close())
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
  const cases: Record<string, [AuthnOptions, AuthnOptions]> = {
    'configFromEnv twice': [
      { ...env(), ...users },
      { ...env(), ...others },
    ],
    'a shared service': [
      { jwtService: shared, ...users },
      { jwtService: shared, ...others },
    ],
    'string and Buffer': [
      { jwt: { secret }, ...users },
      { jwt: { secret: Buffer.from(secret) }, ...others },
    ],
    'a service and a secret': [
      { jwtService: new JwtService({ secret }), ...users },
      { jwt: { secret }, ...others },
    ],
    'a secret and the same one to HMAC': [
      { jwt: { secret }, ...users },
      { jwt: { secret: `${secret}\0` }, ...others },
    ],
    'a pair and its public half': [
      { jwt: { ecdsa, signingMethod: 'ES256' }, ...users },
      {
        jwt: { ecdsa: { public: publicPem(pair.publicKey) }, signingMethod: 'ES256' },
        ...others,
      },
    ],
    'an audience of one side only': [
      { jwt: { secret, audience: 'one' }, ...users },
      { jwt: { secret }, ...others },
    ],
    'audiences with one in common': [
      { jwt: { secret, audience: ['one', 'both'] }, ...users },
      { jwt: { secret, audience: ['both', 'two'] }, ...others },
    ],
    'another method that an authenticator has': [
      { jwt: { secret: long, signingMethod: 'HS512' }, ...users },
      {
        jwt: { secret: long },
        ...others,
        authenticators: { other: jwtAuthenticator({ signingMethod: 'HS512' }) },
      },
    ],
    'two methods of one secret': [
      { jwt: { secret: long }, ...users },
      { jwt: { secret: long, signingMethod: 'HS512' }, ...others },
    ],
    'tokens that the other one only issues': [
      { jwt: { secret: long }, ...users, login: { signingMethod: 'HS512' } },
      { jwt: { secret: long, signingMethod: 'HS512' }, ...others },
    ],
    'a marked authenticator that is not the default': [
      { jwt: { secret }, ...users, authenticator: 'basic' },
      { jwt: { secret }, ...others },
    ],
  }
  for (const [name, [first, second]] of Object.entries(cases)) {
    for (const nested of [false, true]) {
      const { code, message } = await rejectionOf(start(first, second, { nested }))
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

t.test(
  'two registrations start with one user service, or with what tells their tokens apart',
  async (t) => {
    const cases: Record<string, [AuthnOptions, AuthnOptions]> = {
      'one user service': [
        { ...env(), ...users },
        { ...env(), ...users },
      ],
      'one user service, written twice': [
        { ...env(), userService: { ...users.userService } },
        { ...env(), userService: { ...users.userService } },
      ],
      audiences: [
        { jwt: { secret, audience: 'one' }, ...users },
        { jwt: { secret, audience: ['two'] }, ...others },
      ],
      issuers: [
        { jwt: { secret, issuer: 'one' }, ...users },
        { jwt: { secret, issuer: 'two' }, ...others },
      ],
      'two keys': [
        { jwt: { secret }, ...users },
        { jwt: { secret: long }, ...others },
      ],
      'one that takes no tokens': [
        { ...env(), ...users },
        { ...env(), basic: { username: 'admin', password: 'open sesame' } },
      ],
    }
    for (const [name, [first, second]] of Object.entries(cases)) {
      for (const nested of [false, true]) {
        const app = await start(first, second, { nested })
        t.ok(app, name)
      }
    }
  },
)

t.test('a registration that was replaced may share a key with its successor', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { ...env(), ...users, login: false })
  await app.register(authn, { ...env(), ...others, login: false })
  await app.ready()
  t.strictSame(app.authn.authenticators, ['jwt', 'basic'])
})

t.test('two apps may share a key with different users', async (t) => {
  for (const own of [users, others]) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(authn, { ...env(), ...own })
    t.ok(await app.ready())
  }
})

t.test(
  'startup fails for one key and two classes of user services with the same members',
  async (t) => {
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
  },
)

t.test(
  'startup fails for two authenticators of one registration with one key and two user services',
  async (t) => {
    type Options = Parameters<typeof jwtAuthenticator>[0]
    /** Routes for the default, and for an authenticator with these options; what of it makes startup fail. */
    const startWith = async (
      own: Options,
      more: AuthnOptions = {},
      isUsed = true,
    ): Promise<unknown> => {
      const app = Fastify()
      t.teardown(() => app.close())
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
    t.equal(
      await startWith({ ...others, claimName: 'admin' }, replaced),
      null,
      'no route asks "jwt"',
    )
    const members = { authenticators: { admin: anyOf(jwtAuthenticator(others)) } }
    t.match(await startWith({}, members), error, 'in anyOf()')
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(authn, { jwt: { secret }, ...users, auth: true })
    app.get('/me', () => 'me')
    await app.register(async (inner) => {
      const authenticator = jwtAuthenticator(others)
      await inner.register(authn, { jwt: { secret }, authenticator, login: false })
      inner.get('/two', () => 'two')
    })
    const { code } = await rejectionOf(app.ready())
    t.equal(code, 'ERR_AUTH_OPTION', 'an inner registration without a user service')
  },
)
