import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { AuthnOptions, UserService } from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  cost,
  logLines,
  passwords,
  secret,
  userService,
} from '../helpers/app.js'
import {
  deferred,
  isFault,
  isRejection,
  isWelcome,
  listen,
  probe,
  send,
  serviceOf,
  type AnyResponse,
  type Probe,
} from '../helpers/flows.js'
import { busy, busyInGerman, fateOf, login, settle, tally, until } from '../helpers/load.js'

const uses = ['login', 'basic', 'jwt'] as const
type Use = (typeof uses)[number]

interface Setting extends Probe {
  readonly app: FastifyInstance
  readonly lines: Record<string, unknown>[]
  readonly errors: () => Record<string, unknown>[]
  readonly enter: (headers?: Record<string, string>) => Promise<AnyResponse>
}

/** What a client sends to come in. */
function credentials(app: FastifyInstance, use: Use): Record<string, string> {
  return use === 'jwt'
    ? bearer(app.jwtService.generateToken('alice'))
    : basic('alice', passwords.alice)
}

async function setting(
  t: Test,
  use: Use,
  service: UserService,
  more: AuthnOptions = {},
): Promise<Setting> {
  const handled = probe()
  const { lines, stream } = logLines()
  const app = await appWith(
    t,
    { userService: service, jwt: { secret }, hashing: { cost }, throttle: false, ...more },
    (app) => {
      app.get('/basic', { config: { auth: { use: 'basic' } } }, handled.handler)
      app.get('/jwt', { config: { auth: { use: 'jwt' } } }, handled.handler)
      app.get('/try/basic', { config: { auth: { mode: 'try', use: 'basic' } } }, handled.handler)
      app.get('/try/jwt', { config: { auth: { mode: 'try', use: 'jwt' } } }, handled.handler)
      app.get('/open', () => 'open')
    },
    { logger: { level: 'info', stream }, forceCloseConnections: true },
  )
  return {
    ...handled,
    app,
    lines,
    errors: () => lines.filter(({ level }) => level === 50),
    enter: (headers = {}) =>
      use === 'login'
        ? login(app, 'alice', passwords.alice, { headers })
        : app.inject({ url: `/${use}`, headers: { ...credentials(app, use), ...headers } }),
  }
}

/** A service that does what it is told to, and by default finds users. */
function tellable(): { service: UserService; tell: (next: (() => unknown) | null) => void } {
  const good = userService()
  let told: (() => unknown) | null = null
  return {
    service: serviceOf((name, request) =>
      told === null ? good.findByUsername(name, request) : told(),
    ),
    tell: (next) => {
      told = next
    },
  }
}

const broken: Record<string, { answer: () => unknown; cause: string }> = {
  rejects: {
    answer: () => Promise.reject(new Error('database is away')),
    cause: 'database is away',
  },
  'throws at once': {
    answer: () => {
      throw new RangeError('no such table')
    },
    cause: 'no such table',
  },
  'rejects with what looks like a rejection': {
    answer: () =>
      Promise.reject(
        Object.assign(new Error('a code of ours'), {
          code: 'ERR_AUTH_INVALID_CREDENTIALS',
          statusCode: 401,
        }),
      ),
    cause: 'a code of ours',
  },
  'rejects with nothing': { answer: () => Promise.reject(), cause: 'internal error' },
  'returns an error': {
    answer: async () => new Error('database is away'),
    cause: 'database is away',
  },
  'returns a string': {
    answer: () => 'alice',
    cause: 'findByUsername returned a string',
  },
  'returns true': { answer: () => true, cause: 'findByUsername returned a boolean' },
  'returns a list': {
    answer: async () => [{ name: 'alice' }],
    cause: 'findByUsername returned an array',
  },
  'returns a thenable that throws': {
    answer: () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what it is about
      then: () => {
        throw new Error('no promise')
      },
    }),
    cause: 'no promise',
  },
}

for (const use of uses) {
  for (const [name, { answer, cause }] of Object.entries(broken)) {
    t.test(`${use}: a user service that ${name} is a 500`, async (t) => {
      const { service, tell } = tellable()
      const { app, errors, enter, take, lines } = await setting(t, use, service)
      t.equal((await enter()).statusCode, 200)
      take()
      lines.length = 0
      tell(answer)
      isFault(t, await enter())
      t.equal(take(), 0)
      t.equal(errors().length, 1, 'one line at level error')
      const [line] = errors()
      const { err } = line as { err: { code: string; message: string; stack: string } }
      t.equal(err.code, 'ERR_AUTH_USER_SERVICE')
      t.match(`${err.message} ${err.stack}`, cause, 'with the cause')
      t.notMatch(JSON.stringify(lines), passwords.alice)
      tell(null)
      t.equal((await enter()).statusCode, 200, 'the next request works')
      t.equal(errors().length, 1)
      if (use === 'login') return
      tell(answer)
      isFault(t, await app.inject({ url: `/try/${use}`, headers: credentials(app, use) }))
    })
  }

  t.test(
    `${use}: a user service that never answers is a 503 after userServiceTimeout`,
    async (t) => {
      const { service, tell } = tellable()
      const answers: ReturnType<typeof deferred<unknown>>[] = []
      tell(() => {
        const answer = deferred<unknown>()
        answers.push(answer)
        return answer.promise
      })
      const { app, enter, take, errors, lines } = await setting(t, use, service, {
        userServiceTimeout: 0.02,
      })
      const refusal = { status: 503, error: busy, challenge: null }
      const response = await enter()
      isRejection(t, response, refusal)
      t.equal(response.headers['retry-after'], '1')
      isRejection(
        t,
        await enter({ 'accept-language': 'de' }),
        { ...refusal, error: busyInGerman, language: 'de' },
        'in German',
      )
      if (use !== 'login') {
        const lenient = await app.inject({ url: `/try/${use}`, headers: credentials(app, use) })
        isRejection(t, lenient, refusal, 'also under the mark "try"')
      }
      t.equal(take(), 0)
      t.strictSame(errors(), [], 'it is no internal error')
      const warnings = lines.filter(({ level }) => level === 40)
      t.equal(warnings.length, use === 'login' ? 2 : 3)
      t.match(warnings[0], { code: 'ERR_AUTH_USER_SERVICE_TIMEOUT' })

      const [first, ...others] = answers
      first?.resolve({ name: 'alice' })
      for (const answer of others) answer.resolve(Promise.reject(new Error('too late')))
      await settle(10)
      t.strictSame([take(), errors()], [0, []], 'what comes too late does nothing')
      tell(null)
      t.equal((await enter()).statusCode, 200)
    },
  )

  t.test(`${use}: other requests are answered while a user service does not answer`, async (t) => {
    const { service, tell } = tellable()
    const { app, enter, take, errors } = await setting(t, use, service)
    const port = await listen(app)
    const body = JSON.stringify({ username: 'alice', password: passwords.alice })
    const asked = deferred()
    tell(() => {
      asked.resolve()
      return new Promise(() => undefined)
    })
    const client = new AbortController()
    const hanging = fateOf(
      send(port, {
        ...(use === 'login'
          ? {
              method: 'POST',
              path: '/login',
              body,
              headers: { 'content-type': 'application/json' },
            }
          : { path: `/${use}`, headers: credentials(app, use) }),
        signal: client.signal,
      }),
    )
    await asked.promise
    t.equal((await send(port, { path: '/open' })).body, 'open')
    tell(null)
    t.equal((await enter()).statusCode, 200)
    take()
    client.abort()
    await until(() => hanging.state === 'rejected', 'the client has left')
    t.equal((await enter()).statusCode, 200)
    t.strictSame(errors(), [])
    const closed = fateOf(app.close())
    await until(() => closed.state === 'resolved', 'the app closes')
  })
}

t.test('1,000 requests wait for a user service while others are answered', async (t) => {
  const good = userService()
  const answer = deferred()
  let asked = 0
  const service = serviceOf(async (name, request) => {
    asked += 1
    await answer.promise
    return good.findByUsername(name, request)
  })
  const { app, take, errors } = await setting(t, 'jwt', service)
  const byToken = credentials(app, 'jwt')
  const byPassword = credentials(app, 'basic')
  const all = Array.from({ length: 1000 }, (_, index) =>
    index % 2 === 0
      ? app.inject({ url: '/jwt', headers: byToken })
      : app.inject({ url: '/basic', headers: byPassword }),
  )
  await until(() => asked === 1000, 'all wait for the service')
  const open = await Promise.all(Array.from({ length: 20 }, () => app.inject('/open')))
  t.ok(
    open.every(({ body }) => body === 'open'),
    'open routes are answered meanwhile',
  )
  const forged = await app.inject({ url: '/jwt', headers: bearer('a.b.c') })
  t.equal(forged.statusCode, 401, 'and so are forged tokens')
  t.equal(take(), 0)
  answer.resolve()
  for (const response of await Promise.all(all)) {
    if (response.statusCode !== 200) isWelcome(t, response, 'alice')
  }
  t.equal(take(), 1000)
  t.strictSame(errors(), [])
})

t.test('each of 1,000 concurrent logins gets a token or a 503', async (t) => {
  const good = userService()
  const service = serviceOf(async (name, request) => {
    await settle(1)
    return good.findByUsername(name, request)
  })
  const { app, enter, errors } = await setting(t, 'login', service, {
    hashing: { cost, maxWait: 60 },
  })
  const all = await Promise.all(Array.from({ length: 1000 }, () => enter()))
  const { 200: through = 0, 503: refused = 0, ...others } = tally(all)
  t.strictSame(others, {})
  t.equal(through + refused, 1000)
  t.ok(through > 16, `${through} were let in`)
  t.strictSame(app.authn.stats().hashing, { running: 0, waiting: 0, refused })
  t.strictSame(errors(), [])
  t.equal((await enter()).statusCode, 200)
})
