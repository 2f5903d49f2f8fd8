import t from 'tap'
import {
  EXTRA_JWT_CLAIMS,
  jwtAuthenticator,
  type AuthnOptions,
  type UserService,
} from '../../lib/index.js'
import { appWith, basic, bearer, passwords, secret512, userService, users } from '../helpers/app.js'
import {
  anyService,
  bearerChallenge,
  isRefusal,
  isWelcome,
  probe,
  serviceOf,
  texts,
  tokenChallenge,
} from '../helpers/flows.js'
import { runMatrix, type Outcome, type Row } from '../helpers/matrix.js'
import { claims, hmacToken, now } from '../helpers/tokens.js'

const secret = secret512
const use = 'jwt'
const lenient = 'lenient'
const stored = [...users, { id: 42, name: '42', password: '' }]

function options(service: UserService<object> = userService(stored)): AuthnOptions {
  return {
    userService: anyService(service),
    jwt: { secret },
    login: false,
    authenticators: { lenient: jwtAuthenticator({ optional: true }) },
  }
}

const hs256 = { alg: 'HS256', typ: 'JWT' }
const token = (more: object = {}, key = secret): string => hmacToken(hs256, claims(more), key)
const header = (authorization: string): Record<string, string> => ({ authorization })

const none: Outcome = { none: { error: texts.none, challenge: bearerChallenge } }
const invalid: Outcome = {
  wrong: { error: texts.jwtInvalid, challenge: tokenChallenge('The token is invalid') },
}
const expired: Outcome = {
  wrong: { error: texts.jwtExpired, challenge: tokenChallenge('The token expired') },
}
const early: Outcome = {
  wrong: { error: texts.jwtEarly, challenge: tokenChallenge('The token is not valid yet') },
}
const unknown: Outcome = {
  wrong: { error: texts.invalid, challenge: tokenChallenge('The token is not accepted') },
}
const alice: Outcome = { user: 'alice' }

const rows: Row[] = [
  { name: 'right', headers: () => bearer(token()), outcome: alice },
  {
    name: 'right, of the service',
    headers: (app) => bearer(app.jwtService.generateToken('alice')),
    outcome: alice,
  },
  {
    name: 'right, scheme in lower case',
    headers: () => header(`bearer ${token()}`),
    outcome: alice,
  },
  {
    name: 'right, scheme in upper case',
    headers: () => header(`BEARER ${token()}`),
    outcome: alice,
  },
  { name: 'right, several spaces', headers: () => header(`Bearer   ${token()}`), outcome: alice },
  { name: 'right, nbf now', headers: () => bearer(token({ nbf: now() })), outcome: alice },

  { name: 'no header', headers: {}, outcome: none },
  { name: 'an empty header', headers: header(''), outcome: none },
  { name: 'scheme alone', headers: header('Bearer'), outcome: none },
  { name: 'scheme and a space', headers: header('Bearer '), outcome: none },
  { name: 'another scheme', headers: basic('alice', passwords.alice), outcome: none },
  {
    name: 'a scheme that begins like ours',
    headers: () => header(`Bearers ${token()}`),
    outcome: none,
  },
  { name: 'no scheme', headers: () => header(token()), outcome: none },

  { name: 'of another key', headers: () => bearer(token({}, 'x'.repeat(64))), outcome: invalid },
  { name: 'expired', headers: () => bearer(token({ exp: now() - 1 })), outcome: expired },
  { name: 'not valid yet', headers: () => bearer(token({ nbf: now() + 600 })), outcome: early },
  { name: 'without exp', headers: () => bearer(token({ exp: undefined })), outcome: invalid },
  { name: 'unknown user', headers: () => bearer(token({ sub: 'nobody' })), outcome: unknown },
  { name: 'without sub', headers: () => bearer(token({ sub: undefined })), outcome: invalid },

  { name: 'no comma list', headers: () => header(`Bearer ${token()}, Bearer x`), outcome: invalid },
]

t.test('jwt: modes and credentials', async (t) => runMatrix(t, { options, use, lenient }, rows))

t.test(
  'jwt: the user service is asked for the claim, and only where there is a usable one',
  async (t) => {
    const asked: unknown[] = []
    const app = await appWith(
      t,
      options(
        serviceOf((name) => {
          asked.push(name)
          return { name }
        }),
      ),
      (app) => void app.get('/', { config: { auth: true } }, probe().handler),
    )
    const ask = async (sub: unknown): Promise<number> => {
      const response = await app.inject({ url: '/', headers: bearer(token({ sub })) })
      return response.statusCode
    }
    for (const sub of [undefined, null, '', ['alice'], {}, true]) {
      t.equal(await ask(sub), 401, JSON.stringify(sub))
    }
    t.strictSame(asked, [])
    for (const sub of ['alice', 42, 0, -1, '42', '__proto__']) {
      t.equal(await ask(sub), 200, JSON.stringify(sub))
    }
    t.strictSame(asked, ['alice', 42, 0, -1, '42', '__proto__'], 'numbers stay numbers')
  },
)

t.test('jwt: the claims are kept as soon as the token is valid', async (t) => {
  const seen: unknown[] = []
  const app = await appWith(t, options(), (app) => {
    app.addHook('onResponse', async (request) => void seen.push(request.extra[EXTRA_JWT_CLAIMS]))
    app.get('/', { config: { auth: true } }, (request) => request.extra[EXTRA_JWT_CLAIMS] ?? null)
    app.get(
      '/try',
      { config: { auth: 'try' } },
      (request) => request.extra[EXTRA_JWT_CLAIMS] ?? null,
    )
  })
  const exp = now() + 60
  const good = await app.inject({ url: '/', headers: bearer(token({ exp, role: 'admin' })) })
  t.equal(good.statusCode, 200)
  t.strictSame(good.json(), { sub: 'alice', exp, role: 'admin' })
  const nobody = bearer(token({ sub: 'nobody', exp }))
  t.equal((await app.inject({ url: '/', headers: nobody })).statusCode, 401)
  t.strictSame((await app.inject({ url: '/try', headers: nobody })).json(), { sub: 'nobody', exp })
  for (const bad of [token({}, 'y'.repeat(64)), token({ exp: 1 }), 'abc']) {
    t.equal((await app.inject({ url: '/try', headers: bearer(bad) })).body, 'null')
  }
  t.equal((await app.inject('/try')).body, 'null')
  t.strictSame(seen, [
    { sub: 'alice', exp, role: 'admin' },
    { sub: 'nobody', exp },
    { sub: 'nobody', exp },
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

t.test('jwt: rules of time, issuer and audience', async (t) => {
  const { handler } = probe()
  const routes = {
    tolerant: { clockTolerance: 30 },
    endless: { requireExp: false },
    issued: { issuer: 'https://id.example' },
    audience: { audience: ['a', 'b'] },
  }
  const app = await appWith(
    t,
    {
      ...options(),
      authenticators: Object.fromEntries(
        Object.entries(routes).map(([name, rules]) => [name, jwtAuthenticator(rules)]),
      ),
    },
    (app) => {
      for (const name of Object.keys(routes)) {
        app.get(`/${name}`, { config: { auth: { use: name } } }, handler)
      }
    },
  )
  const cases: [string, object, string | null][] = [
    ['tolerant', { exp: now() - 10 }, null],
    ['tolerant', { exp: now() - 60 }, texts.jwtExpired],
    ['tolerant', { nbf: now() + 10 }, null],
    ['tolerant', { nbf: now() + 90 }, texts.jwtEarly],
    ['endless', { exp: undefined }, null],
    ['endless', { exp: 1 }, texts.jwtExpired],
    ['issued', { iss: 'https://id.example' }, null],
    ['issued', { iss: 'https://id.example/' }, texts.jwtInvalid],
    ['issued', {}, texts.jwtInvalid],
    ['audience', { aud: ['x', 'a'] }, null],
    ['audience', { aud: 'c' }, texts.jwtInvalid],
    ['audience', {}, texts.jwtInvalid],
  ]
  for (const [route, more, error] of cases) {
    const response = await app.inject({ url: `/${route}`, headers: bearer(token(more)) })
    const name = `${route} ${JSON.stringify(more)}`
    t.equal(response.statusCode, error === null ? 200 : 401, name)
    if (error !== null) t.strictSame(response.json(), { error }, name)
  }
})

t.test('jwt: rules of the configuration hold for every authenticator', async (t) => {
  const { handler } = probe()
  const app = await appWith(
    t,
    { ...options(), jwt: { secret, issuer: 'us', audience: ['web', 'app'] } },
    (app) => void app.get('/', { config: { auth: true } }, handler),
  )
  const own = app.jwtService.generateToken('alice')
  isWelcome(t, await app.inject({ url: '/', headers: bearer(own) }), 'alice', 'our own token fits')
  t.equal((await app.inject({ url: '/', headers: bearer(token()) })).statusCode, 401)
})

t.test('jwt: its own users', async (t) => {
  const { handler, take } = probe()
  const robots = jwtAuthenticator({
    userService: serviceOf((name) => ({ name: `robot ${name}` })),
    audience: 'robots',
  })
  const jwt = { secret, audience: 'people' }
  const app = await appWith(t, { ...options(), jwt, authenticators: { robots } }, (app) => {
    app.get('/people', { config: { auth: true } }, handler)
    app.get('/robots', { config: { auth: { use: 'robots' } } }, handler)
  })
  const headers = bearer(token({ sub: 'r2d2', aud: 'robots' }))
  isWelcome(t, await app.inject({ url: '/robots', headers }), 'robot r2d2')
  t.equal(take(), 1)
  isRefusal(t, await app.inject({ url: '/people', headers }), {
    error: texts.jwtInvalid,
    challenge: tokenChallenge('The token is invalid'),
  })
  t.equal(take(), 0)
})
