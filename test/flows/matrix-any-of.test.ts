import t, { type Test } from 'tap'
import {
  anyOf,
  AuthenticationError,
  basicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
  type UserService,
} from '../../lib/index.js'
import { appWith, basic, bearer, passwords, secret, userService } from '../helpers/app.js'
import {
  anyService,
  basicChallenge,
  bearerChallenge,
  isRefusal,
  isWelcome,
  probe,
  texts,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'
import { runMatrix, type Outcome, type Row } from '../helpers/matrix.js'
import { claims, hmacToken } from '../helpers/tokens.js'

const service = (): UserService => anyService(userService())
const token = (more: object = {}): string => hmacToken({ alg: 'HS256' }, claims(more), secret)

function options(service: UserService<object> = userService()): AuthnOptions {
  return {
    userService: anyService(service),
    jwt: { secret },
    authenticators: {
      lenient: anyOf(jwtAuthenticator({ optional: true }), basicAuthenticator({ optional: true })),
    },
  }
}

const both = { use: ['jwt', 'basic'], lenient: 'lenient' }

const challenges = [bearerChallenge, basicChallenge]
const withProblem = (description: string): string[] => [tokenChallenge(description), basicChallenge]
const none: Outcome = { none: { error: texts.none, challenge: challenges } }
const header = (authorization: string): Record<string, string> => ({ authorization })

const rows: Row[] = [
  { name: 'a token', headers: () => bearer(token()), outcome: { user: 'alice' } },
  { name: 'a password', headers: basic('bob', passwords.bob), outcome: { user: 'bob' } },
  { name: 'no header', headers: {}, outcome: none },
  { name: 'another scheme', headers: header('Digest abc'), outcome: none },
  { name: 'an empty Bearer', headers: header('Bearer'), outcome: none },
  {
    name: 'a wrong token',
    headers: bearer('a.b.c'),
    outcome: {
      wrong: { error: texts.jwtInvalid, challenge: withProblem('The token is invalid') },
    },
  },
  {
    name: 'an expired token',
    headers: () => bearer(token({ exp: 1 })),
    outcome: { wrong: { error: texts.jwtExpired, challenge: withProblem('The token expired') } },
  },
  {
    name: 'the token of an unknown user',
    headers: () => bearer(token({ sub: 'nobody' })),
    outcome: {
      wrong: { error: texts.invalid, challenge: withProblem('The token is not accepted') },
    },
  },
  {
    name: 'a wrong password',
    headers: basic('bob', passwords.alice),
    outcome: { wrong: { error: texts.invalid, challenge: challenges } },
  },
  {
    name: 'an unknown user',
    headers: basic('nobody', passwords.alice),
    outcome: { wrong: { error: texts.invalid, challenge: challenges } },
  },
  {
    name: 'a malformed Basic',
    headers: header('Basic ???'),
    outcome: { wrong: { error: texts.none, challenge: challenges } },
  },
]

t.test('use: [jwt, basic]: modes and credentials', async (t) =>
  runMatrix(t, { options, ...both }, rows),
)

t.test('the option authenticator: anyOf(…), and an array of names', async (t) => {
  const given: NonNullable<AuthnOptions['authenticator']>[] = [
    anyOf(jwtAuthenticator(), basicAuthenticator()),
    ['jwt', 'basic'],
  ]
  for (const authenticator of given) {
    const { handler, take } = probe()
    const app = await appWith(
      t,
      { userService: service(), jwt: { secret }, authenticator },
      (app) => void app.get('/', { config: { auth: true } }, handler),
    )
    isWelcome(t, await app.inject({ url: '/', headers: bearer(token()) }), 'alice')
    isWelcome(t, await app.inject({ url: '/', headers: basic('bob', passwords.bob) }), 'bob')
    t.equal(take(), 2)
    isRefusal(t, await app.inject('/'), { error: texts.none, challenge: challenges })
    t.equal(take(), 0)
  }
})

/** An app with one route, in each order of two authenticators. */
async function inBothOrders(
  t: Test,
  names: readonly [string, string],
  more: AuthnOptions,
  test: (get: (headers: object) => Promise<AnyResponse>, take: () => number) => unknown,
): Promise<void> {
  for (const use of [names, names.toReversed()]) {
    const { handler, take } = probe()
    const given = { userService: service(), jwt: { secret }, ...more }
    const app = await appWith(t, given, (app) => {
      app.get('/', { config: { auth: { use: [...use] } } }, handler)
    })
    await test((headers) => app.inject({ url: '/', headers: { ...headers } }), take)
  }
}

t.test('an API key in Bearer beside jwt', async (t) => {
  const apiKey: Authenticator = {
    scheme: 'Bearer',
    accepts: ({ headers }) => headers.authorization?.startsWith('Bearer key_') === true,
    authenticate({ headers }) {
      if (headers.authorization === 'Bearer key_1') return { name: 'robot' }
      throw new AuthenticationError('Unknown key.')
    },
  }
  await inBothOrders(t, ['jwt', 'apiKey'], { authenticators: { apiKey } }, async (get, take) => {
    isWelcome(t, await get(bearer('key_1')), 'robot')
    isWelcome(t, await get(bearer(token())), 'alice')
    t.equal(take(), 2)
    const wrong = { error: 'Unknown key.', challenge: tokenChallenge('The token is not accepted') }
    isRefusal(t, await get(bearer('key_2')), { ...wrong, language: null })
    for (const other of ['abc', 'a.b.c', hmacToken({ alg: 'HS256' }, claims(), `${secret}x`)]) {
      t.equal((await get(bearer(other))).statusCode, 401, other)
    }
    t.equal(take(), 0)
  })
})

t.test('jwt and an issuer: a malformed token is a 401', async (t) => {
  const url = 'http://127.0.0.1:9'
  const corp = { issuer: url, audience: 'a', jwksUri: `${url}/keys`, user: () => ({ id: 1 }) }
  await inBothOrders(t, ['jwt', 'corp'], { issuers: { corp } }, async (get, take) => {
    isWelcome(t, await get(bearer(token())), 'alice')
    t.equal(take(), 1)
    const [head, body] = token().split('.')
    for (const text of ['abc', 'a.b.c', '???', `${head}.${body}.`, `${head}.${body}`, 'é', '..']) {
      const response = await get(bearer(text))
      t.equal(response.statusCode, 401, text)
      t.match(response.headers['www-authenticate'], /^Bearer /)
    }
    t.equal(take(), 0)
  })
})

t.test('an anyOf that is wrapped by spreading it keeps its challenges', async (t) => {
  const app = await appWith(
    t,
    {
      userService: service(),
      jwt: { secret },
      authenticator: { ...anyOf(jwtAuthenticator(), basicAuthenticator()), optional: false },
    },
    (app) => void app.get('/', { config: { auth: true } }, probe().handler),
  )
  isRefusal(t, await app.inject('/'), { error: texts.none, challenge: challenges })
  isWelcome(t, await app.inject({ url: '/', headers: bearer(token()) }), 'alice')
})

t.test(
  'a jwtAuthenticator inside of others of the app, beside one for the same scheme',
  async (t) => {
    const key: Authenticator = {
      scheme: 'Bearer',
      accepts: ({ headers }) => headers.authorization === 'Bearer key',
      authenticate: () => ({ name: 'robot' }),
    }
    const inner = jwtAuthenticator()
    const wrapped: Authenticator = {
      scheme: 'Bearer',
      init: (app) => inner.init?.(app),
      accepts: (request) => inner.accepts?.(request) === true,
      authenticate: (request) => inner.authenticate(request),
    }
    const authenticators = { key, wrapped, combined: anyOf(jwtAuthenticator(), key) }
    const uses = [
      'combined',
      ['key', 'jwt'],
      ['jwt', 'key'],
      ['key', 'wrapped'],
      ['jwt', 'wrapped'],
    ]
    const app = await appWith(
      t,
      { userService: service(), jwt: { secret }, authenticators },
      (app) =>
        uses.forEach((use, at) =>
          app.get(`/${at}`, { config: { auth: { use } } }, probe().handler),
        ),
    )
    for (const at of uses.keys()) {
      isWelcome(t, await app.inject({ url: `/${at}`, headers: bearer(token()) }), 'alice')
      const { statusCode } = await app.inject({ url: `/${at}`, headers: bearer('key') })
      t.equal(statusCode, uses[at]?.includes('wrapped') && uses[at]?.includes('jwt') ? 401 : 200)
    }
  },
)

t.test(
  'a cookie that holds no valid token is rejected where credentials are optional',
  async (t) => {
    const auth = { mode: 'optional', use: ['basic', 'jwt'] } as const
    const app = await appWith(
      t,
      { userService: service(), jwt: { secret }, cookies: true },
      (app) => void app.get('/', { config: { auth } }, probe().handler),
    )
    const statusOf = async (value: string): Promise<number> =>
      (await app.inject({ url: '/', headers: { host: 'localhost', cookie: `token=${value}` } }))
        .statusCode
    t.equal(await statusOf(token()), 200)
    for (const value of ['x', token({ sub: undefined })]) t.equal(await statusOf(value), 401)
    t.equal((await app.inject('/')).statusCode, 200)
  },
)

t.test('accepts counts only where it returns true', async (t) => {
  const key: Authenticator = {
    accepts: (async () => false) as never,
    authenticate: () => null,
  }
  const auth = { mode: 'optional', use: ['key', 'jwt'] } as const
  const app = await appWith(
    t,
    { userService: service(), jwt: { secret }, cookies: true, authenticators: { key } },
    (app) => void app.get('/', { config: { auth } }, probe().handler),
  )
  const headers = { host: 'localhost', cookie: `token=${token({ exp: 1 })}` }
  t.equal((await app.inject({ url: '/', headers })).statusCode, 401)
})
