// What authenticators of the app may return and throw, and what clients then get.
import t, { type Test } from 'tap'
import { AuthenticationError, jwtAuthenticator, type Authenticator } from '../../lib/index.js'
import { appWith, bearer, logLines, standardOptions } from '../helpers/app.js'
import {
  bearerChallenge,
  isFault,
  isRejection,
  isWelcome,
  probe,
  messages,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'

const invalid = { error: messages.invalid, challenge: null }
const urls = ['/required', '/optional', '/lenient', '/try'] as const

/** An app whose authenticator does what each question says. */
async function answers(t: Test) {
  const { handler, take } = probe()
  const { lines, stream } = logLines()
  let current: () => unknown = () => null
  const authenticator = { authenticate: () => current() } as Authenticator
  const authenticators = { lenient: { ...authenticator, optional: true } }
  const app = await appWith(
    t,
    { authenticator, authenticators },
    (app) => {
      app.get('/required', { config: { auth: true } }, handler)
      app.get('/optional', { config: { auth: 'optional' } }, handler)
      app.get('/lenient', { config: { auth: { use: 'lenient' } } }, handler)
      app.get('/try', { config: { auth: 'try' } }, handler)
    },
    { logger: { level: 'info', stream } },
  )
  /** @returns the response in each mode, when authenticate does this */
  const ask = async (authenticate: () => unknown) => {
    current = authenticate
    lines.length = 0
    const responses: [string, AnyResponse][] = []
    for (const url of urls) responses.push([url, await app.inject(url)])
    return responses
  }
  return { ask, take, lines }
}

/** Something that only looks like a promise. */
const thenable = (then: (resolve: (user: object) => void) => void): object => ({
  // oxlint-disable-next-line unicorn/no-thenable -- what is tested
  then,
})

t.test('authenticate() may return its user, promise it, or give it to then()', async (t) => {
  const { ask, take } = await answers(t)
  const user = { name: 'alice' }
  const given: (() => unknown)[] = [() => user, async () => user]
  given.push(() =>
    thenable((resolve) => {
      resolve(user)
      throw new Error('too late to count')
    }),
  )
  for (const authenticate of given) {
    for (const [url, response] of await ask(authenticate)) isWelcome(t, response, 'alice', url)
    t.equal(take(), urls.length)
  }
})

t.test('a result that is no object is a 401, and anonymous in the mode try', async (t) => {
  const { ask, take } = await answers(t)
  const results: Record<string, unknown> = {
    undefined: undefined,
    'a string': 'alice',
    '0': 0,
    'an array': [{ name: 'alice' }],
    'a function': () => ({ name: 'alice' }),
    'a rejection that is returned': new AuthenticationError('auth.invalid-credentials'),
  }
  for (const [name, value] of Object.entries(results)) {
    for (const authenticate of [() => value, async () => value]) {
      for (const [url, response] of await ask(authenticate)) {
        const title = `${name}, ${url}`
        if (url === '/try') isWelcome(t, response, null, title)
        else isRejection(t, response, invalid, title)
      }
      t.equal(take(), 1, `${name}: the handler ran in the mode try only`)
    }
  }
})

t.test('an error that is no rejection is a 500 and one line in the log', async (t) => {
  const { ask, take, lines } = await answers(t)
  const errors: Record<string, unknown> = {
    'an error': new Error('database is away: secret detail'),
    undefined: undefined,
    'a string': 'secret detail',
    'an error with a status': Object.assign(new Error('secret detail'), { statusCode: 401 }),
    'an error with a code': Object.assign(new Error('secret detail'), { code: 'ERR_AUTH_MARK' }),
  }
  const fail = (error: unknown): never => {
    throw error
  }
  for (const [name, error] of Object.entries(errors)) {
    const ways: (() => unknown)[] = [() => fail(error), async () => fail(error)]
    // oxlint-disable-next-line unicorn/no-thenable -- what is tested
    ways.push(() => Object.defineProperty({}, 'then', { get: () => fail(error) }))
    if (error instanceof Error) ways.push(() => new Error('secret detail'))
    for (const authenticate of ways) {
      for (const [url, response] of await ask(authenticate)) {
        isFault(t, response, 'ERR_AUTH_AUTHENTICATOR', `${name}, ${url}`)
        t.notMatch(response.body, 'secret detail')
      }
      t.equal(take(), 0, 'the handler did not run')
      t.equal(lines.filter(({ level }) => level === 50).length, urls.length, name)
    }
  }
})

t.test('a rejection that asks to wait is sent in every mode, with Retry-After', async (t) => {
  const { ask, take } = await answers(t)
  for (const [message, status, error, retryAfter] of [
    ['auth.too-many-attempts', 429, 'Too many failed attempts. Please try again later.', 7],
    ['auth.overloaded', 503, 'The server is busy. Please try again later.', 2],
  ] as const) {
    const responses = await ask(() => {
      throw new AuthenticationError(message, { retryAfter })
    })
    for (const [url, response] of responses) {
      isRejection(t, response, { status, error, challenge: null }, url)
      t.equal(response.headers['retry-after'], String(retryAfter))
    }
    t.equal(take(), 0)
  }
})

t.test('a rejection of another copy of the package is a 401', async (t) => {
  const { ask } = await answers(t)
  const foreign = Object.assign(new Error('Expired, says the other copy.'), {
    code: 'ERR_AUTH_JWT_EXPIRED',
    statusCode: 401,
    key: 'auth.jwt-expired',
  })
  const [[, response] = []] = await ask(() => Promise.reject(foreign))
  isRejection(t, response as AnyResponse, { error: messages.jwtExpired, challenge: null })
})

const robots: Authenticator = { authenticate: () => ({ name: 'robot' }) }

t.test('init of an authenticator is called once, with the app of its registration', async (t) => {
  const calls: unknown[] = []
  const authenticator: Authenticator = {
    ...robots,
    async init(app) {
      await new Promise(setImmediate)
      calls.push([app.prefix, typeof app.jwtService.generateToken, app.authn.authenticators])
    },
  }
  const authenticators = { a: authenticator, b: authenticator }
  await appWith(t, { ...standardOptions(), authenticator, authenticators }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'ok')
    app.get('/a', { config: { auth: { use: ['a', 'jwt'] } } }, () => 'ok')
  })
  t.strictSame(calls, [['', 'function', ['jwt', 'basic', 'a', 'b']]])
})

t.test('startup fails with the error of an init', async (t) => {
  const error = new Error('no such cache')
  const inits = [
    () => Promise.reject(error),
    (): never => {
      throw error
    },
  ]
  for (const init of inits) {
    await t.rejects(appWith(t, { authenticator: { ...robots, init } }), { message: error.message })
  }
})

t.test('a copy of a built-in may replace authenticate and onUnauthorized', async (t) => {
  const inner = jwtAuthenticator()
  const banned: Authenticator = {
    ...inner,
    async authenticate(request) {
      const user = (await inner.authenticate(request)) as { name: string } | null
      if (user?.name === 'bob') throw new AuthenticationError('You are banned, Bob.')
      return user
    },
    onUnauthorized(error, _, reply) {
      if (error.key === null) return reply.code(403).send({ banned: error.message })
      return undefined
    },
  }
  const { handler, take } = probe()
  const app = await appWith(t, { ...standardOptions(), authenticators: { banned } }, (app) => {
    app.get('/', { config: { auth: { use: 'banned' } } }, handler)
  })
  const get = (headers: Record<string, string>) => app.inject({ url: '/', headers })
  isWelcome(t, await get(bearer(app.jwtService.generateToken('alice'))), 'alice')
  t.equal(take(), 1)
  const bob = await get(bearer(app.jwtService.generateToken('bob')))
  t.strictSame([bob.statusCode, bob.body], [403, '{"banned":"You are banned, Bob."}'])
  isRejection(t, await get({}), { error: messages.none, challenge: bearerChallenge })
  const challenge = tokenChallenge('The token is invalid')
  isRejection(t, await get(bearer('abc')), { error: messages.jwtInvalid, challenge })
  t.equal(take(), 0)
})

t.test('an authenticator of the app replaces a built-in of the same name', async (t) => {
  const jwt: Authenticator = {
    authenticate: ({ headers }) => (headers['x-api-key'] === 'right' ? { name: 'robot' } : null),
  }
  const app = await appWith(t, { ...standardOptions(), authenticators: { jwt } }, (app) => {
    app.get('/', { config: { auth: true } }, probe().handler)
  })
  isWelcome(t, await app.inject({ url: '/', headers: { 'x-api-key': 'right' } }), 'robot')
  const headers = bearer(app.jwtService.generateToken('alice'))
  isRejection(t, await app.inject({ url: '/', headers }), { error: messages.none, challenge: null })
})

t.test(
  'in the mode try, claims are seen of a valid token alone, also of an unknown user',
  async (t) => {
    const app = await appWith(t, standardOptions(), (app) => {
      app.get('/', { config: { auth: 'try' } }, ({ user, extra }) => ({
        user,
        sub: extra.jwtClaims?.sub ?? null,
      }))
    })
    const { jwtService } = app
    const exp = 1_000_000_000
    const tokens = {
      [jwtService.generateToken('nobody')]: { user: null, sub: 'nobody' },
      [jwtService.generateTokenWithClaims({ sub: 'alice', exp })]: { user: null, sub: null },
    }
    for (const [token, seen] of Object.entries(tokens))
      t.strictSame((await app.inject({ url: '/', headers: bearer(token) })).json(), seen)
  },
)
