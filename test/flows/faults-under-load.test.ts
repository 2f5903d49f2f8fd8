// program: its own
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
import { deferred, isFault, isRejection, listen, probe, send, serviceOf } from '../helpers/flows.js'
import { busy, fateOf, login, until } from '../helpers/load.js'

const uses = ['login', 'basic', 'jwt'] as const
type Use = (typeof uses)[number]

/** What a client sends to log in. */
function credentials(app: FastifyInstance, use: Use): Record<string, string> {
  return use === 'jwt'
    ? bearer(app.jwtService.generateToken('alice'))
    : basic('alice', passwords.alice)
}

async function setting(t: Test, use: Use, service: UserService, more: AuthnOptions = {}) {
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
    enter: () =>
      use === 'login'
        ? login(app, 'alice', passwords.alice)
        : app.inject({ url: `/${use}`, headers: credentials(app, use) }),
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

/** All that a service may do instead: test/users/find.test.ts. */
const broken: Record<string, { answer: () => unknown; cause: string }> = {
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
  'returns a string': { answer: () => 'alice', cause: 'findByUsername returned a string' },
}

for (const use of uses) {
  t.test(`${use}: a request whose user service fails gets a 500, the next a 200`, async (t) => {
    const { service, tell } = tellable()
    const { app, errors, enter, take, lines } = await setting(t, use, service)
    for (const [name, { answer, cause }] of Object.entries(broken)) {
      lines.length = 0
      tell(answer)
      isFault(t, await enter(), 'ERR_AUTH_USER_SERVICE', name)
      t.equal(take(), 0)
      t.equal(errors().length, 1, 'one line at level error')
      const { err } = errors()[0] as { err: { code: string; message: string; stack: string } }
      t.equal(err.code, 'ERR_AUTH_USER_SERVICE')
      t.match(`${err.message} ${err.stack}`, cause, 'with the cause')
      t.notMatch(JSON.stringify(lines), passwords.alice)
      if (use !== 'login') {
        isFault(t, await app.inject({ url: `/try/${use}`, headers: credentials(app, use) }))
      }
      tell(null)
      t.equal((await enter()).statusCode, 200)
      take()
    }
  })

  t.test(
    `${use}: a request whose user service never answers gets a 503 after userServiceTimeout`,
    async (t) => {
      const { service, tell } = tellable()
      tell(() => new Promise(() => undefined))
      const { app, enter, take, errors, lines } = await setting(t, use, service, {
        userServiceTimeout: 0.02,
      })
      const rejection = { status: 503, error: busy, challenge: null }
      const response = await enter()
      isRejection(t, response, rejection)
      t.equal(response.headers['retry-after'], '1')
      if (use !== 'login') {
        const lenient = await app.inject({ url: `/try/${use}`, headers: credentials(app, use) })
        isRejection(t, lenient, rejection, 'also under the mark "try"')
      }
      t.equal(take(), 0)
      t.strictSame(errors(), [], 'it is no internal error')
      const warnings = lines.filter(({ level }) => level === 40)
      t.equal(warnings.length, use === 'login' ? 1 : 2)
      t.match(warnings[0], { code: 'ERR_AUTH_USER_SERVICE_TIMEOUT' })

      tell(null)
      t.equal((await enter()).statusCode, 200)
    },
  )

  t.test(`${use}: other requests are answered while a user service does not answer`, async (t) => {
    const { service, tell } = tellable()
    const { app, enter, take, errors } = await setting(t, use, service)
    const port = await listen(app)
    const json = { 'content-type': 'application/json' }
    const body = JSON.stringify({ username: 'alice', password: passwords.alice })
    const request =
      use === 'login'
        ? { method: 'POST', path: '/login', headers: json, body }
        : { path: `/${use}`, headers: credentials(app, use) }
    const asked = deferred()
    tell(() => {
      asked.resolve()
      return new Promise(() => undefined)
    })
    const client = new AbortController()
    const hanging = fateOf(send(port, { ...request, signal: client.signal }))
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
