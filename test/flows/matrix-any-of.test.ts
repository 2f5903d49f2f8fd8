import t from 'tap'
import {
  anyOf,
  AuthenticationError,
  basicAuthenticator,
  configBasicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
  type UserService,
} from '../../lib/index.js'
import { appWith, basic, bearer, passwords, secret, userService, users } from '../helpers/app.js'
import {
  anyService,
  basicChallenge,
  bearerChallenge,
  isFault,
  isRefusal,
  isWelcome,
  probe,
  texts,
  tokenChallenge,
} from '../helpers/flows.js'
import { runFaults, runHanging, runMatrix, type Outcome, type Row } from '../helpers/matrix.js'
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

t.test('use: [jwt, basic]: faults of the user service', async (t) => {
  await runFaults(t, { options, ...both }, () => bearer(token()), userService())
  await runFaults(t, { options, ...both }, basic('alice', passwords.alice), userService())
  await runHanging(t, { options, ...both }, () => bearer(token()), userService())
})

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

t.test('the order of the challenges is that of the members', async (t) => {
  const app = await appWith(
    t,
    { userService: service(), jwt: { secret } },
    (app) => void app.get('/', { config: { auth: { use: ['basic', 'jwt'] } } }, () => 'ran'),
  )
  isRefusal(t, await app.inject('/'), {
    error: texts.none,
    challenge: [basicChallenge, bearerChallenge],
  })
})

t.test('the scheme picks who is asked', async (t) => {
  const asked: string[] = []
  const named = (name: string, scheme?: string): Authenticator => ({
    ...(scheme !== undefined && { scheme }),
    authenticate: () => {
      asked.push(name)
      return null
    },
  })
  const app = await appWith(
    t,
    {
      authenticator: anyOf(
        named('bearer', 'Bearer'),
        named('basic', 'basic'),
        named('cookie'),
        named('digest', 'Digest'),
        named('key'),
        named('bearer2', 'bearer'),
      ),
    },
    (app) => void app.get('/', { config: { auth: true } }, () => 'ran'),
  )
  const cases: [Record<string, string>, string[]][] = [
    [{}, ['cookie', 'key']],
    [header('Bearer x'), ['bearer', 'bearer2']],
    [header('bEaReR x'), ['bearer', 'bearer2']],
    [header('Basic x'), ['basic']],
    [header('DIGEST x'), ['digest']],
    [header('Hawk x'), ['cookie', 'key']],
    [header('BearerX x'), ['cookie', 'key']],
  ]
  for (const [headers, expected] of cases) {
    const response = await app.inject({ url: '/', headers })
    t.equal(response.statusCode, 401)
    t.strictSame(asked.splice(0), expected, JSON.stringify(headers))
  }
  isRefusal(t, await app.inject('/'), {
    error: texts.none,
    challenge: ['Bearer', 'basic', 'Digest'].map((scheme) =>
      scheme === 'basic'
        ? 'basic realm="Authorization required", charset="UTF-8"'
        : `${scheme} realm="Authorization required"`,
    ),
  })
})

t.test(
  'several of one scheme: the first user, else the first refusal; one challenge',
  async (t) => {
    const { handler, take } = probe()
    const app = await appWith(
      t,
      {
        userService: service(),
        authenticators: {
          admin: configBasicAuthenticator({ username: 'admin', password: 'geheim' }),
          texty: {
            scheme: 'Basic',
            authenticate: () => Promise.reject(new AuthenticationError('Not me either.')),
          },
        },
      },
      (app) => {
        app.get('/', { config: { auth: { use: ['admin', 'basic', 'texty'] } } }, handler)
        app.get('/texty', { config: { auth: { use: ['texty', 'basic'] } } }, handler)
      },
    )
    isWelcome(t, await app.inject({ url: '/', headers: basic('admin', 'geheim') }), 'admin')
    isWelcome(t, await app.inject({ url: '/', headers: basic('alice', passwords.alice) }), 'alice')
    t.equal(take(), 2)
    isRefusal(t, await app.inject({ url: '/', headers: basic('x', 'y') }), {
      error: texts.invalid,
      challenge: basicChallenge,
    })
    isRefusal(t, await app.inject({ url: '/texty', headers: basic('x', 'y') }), {
      error: 'Not me either.',
      challenge: basicChallenge,
      language: null,
    })
    t.equal(take(), 0)
  },
)

t.test('a fault of one member ends it: no other is asked', async (t) => {
  const { handler, take } = probe()
  let asked = 0
  const app = await appWith(
    t,
    {
      authenticator: anyOf(
        { scheme: 'Basic', authenticate: () => Promise.reject(new Error('away')) },
        {
          scheme: 'Basic',
          authenticate: () => {
            asked += 1
            return users[0] ?? null
          },
        },
      ),
    },
    (app) => void app.get('/', { config: { auth: 'try' } }, handler),
  )
  isFault(t, await app.inject({ url: '/', headers: basic('a', 'b') }), 'ERR_AUTH_AUTHENTICATOR')
  t.equal(asked, 0)
  t.equal(take(), 0)
})

t.test('what a member returns that is no user is never a success', async (t) => {
  for (const value of [undefined, false, '', 'alice', 0, [], [users[0]]]) {
    const { handler, take } = probe()
    const app = await appWith(
      t,
      {
        authenticator: anyOf({ authenticate: () => value as never }, { authenticate: () => null }),
      },
      (app) => {
        app.get('/', { config: { auth: true } }, handler)
        app.get('/optional', { config: { auth: 'optional' } }, handler)
      },
    )
    for (const url of ['/', '/optional']) {
      isRefusal(t, await app.inject(url), { error: texts.invalid, challenge: null })
    }
    t.equal(take(), 0)
  }
})

t.test('optional only when all of its members are', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(
    t,
    {
      userService: service(),
      jwt: { secret },
      authenticators: {
        mixed: anyOf(jwtAuthenticator({ optional: true }), basicAuthenticator()),
        all: anyOf(
          jwtAuthenticator({ optional: true }),
          anyOf(basicAuthenticator({ optional: true })),
        ),
      },
    },
    (app) => {
      app.get('/mixed', { config: { auth: { use: 'mixed' } } }, handler)
      app.get('/all', { config: { auth: { use: 'all' } } }, handler)
      app.get('/both', { config: { auth: { use: ['all', 'jwt'] } } }, handler)
    },
  )
  isWelcome(t, await app.inject('/all'), null)
  t.equal(take(), 1)
  for (const url of ['/mixed', '/both']) {
    const { statusCode } = await app.inject(url)
    t.equal(statusCode, 401, url)
  }
  t.equal(take(), 0)
  isWelcome(t, await app.inject({ url: '/all', headers: basic('bob', passwords.bob) }), 'bob')
})

t.test('onUnauthorized of the member that refused', async (t) => {
  const refusing = (name: string, scheme?: string): Authenticator => ({
    ...(scheme !== undefined && { scheme }),
    authenticate: (request) => {
      if (scheme === undefined && request.headers['x-key'] === undefined) return null
      throw new AuthenticationError('auth.invalid-credentials')
    },
    onUnauthorized: (error, _, reply) => reply.code(418).send({ by: name, code: error.code }),
  })
  const app = await appWith(
    t,
    {
      authenticator: anyOf(refusing('bearer', 'Bearer'), refusing('key'), {
        scheme: 'Basic',
        authenticate: refusing('basic', 'Basic').authenticate,
      }),
    },
    (app) => void app.get('/', { config: { auth: true } }, () => 'ran'),
  )
  const by = async (headers: Record<string, string>): Promise<unknown> => {
    const response = await app.inject({ url: '/', headers })
    t.equal(response.statusCode, 418)
    return response.json()
  }
  const invalid = 'ERR_AUTH_INVALID_CREDENTIALS'
  t.strictSame(await by(bearer('x')), { by: 'bearer', code: invalid })
  t.strictSame(await by({ 'x-key': '1' }), { by: 'key', code: invalid })
  t.strictSame(await by({}), { by: 'bearer', code: 'ERR_AUTH_NO_CREDENTIALS' }, 'nobody: the first')
  const own = await app.inject({ url: '/', headers: basic('a', 'b') })
  t.equal(own.statusCode, 401, 'a member without one leaves it to the plugin')
  t.strictSame(own.json(), { error: texts.invalid })
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
