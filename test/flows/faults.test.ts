import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import t from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  logLines,
  passwords,
  secret,
  users,
  tokensOf,
} from '../helpers/app.js'
import {
  bearerChallenge,
  deferred,
  isFault,
  isRefusal,
  isWelcome,
  listen,
  probe,
  send,
  serviceOf,
  texts,
} from '../helpers/flows.js'

const cause = new Error('connection refused')
const away = (): never => {
  throw cause
}
const options = (answer: () => unknown): AuthnOptions => ({
  userService: serviceOf(answer),
  jwt: { secret },
})
const login = { username: 'alice', password: passwords.alice }

async function credentials(app: FastifyInstance): Promise<Record<string, string>> {
  return bearer(tokensOf(app).generateToken('alice'))
}

t.test('an error handler of the app gets the fault, with its code and cause', async (t) => {
  const seen: FastifyError[] = []
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler((error: FastifyError, _, reply) => {
    seen.push(error)
    void reply.code(503).send({ mine: error.code })
  })
  await app.register(authn, options(away))
  app.get('/', { config: { auth: true } }, () => 'ran')
  await app.ready()
  const response = await app.inject({ url: '/', headers: await credentials(app) })
  t.equal(response.statusCode, 503)
  t.strictSame(response.json(), { mine: 'ERR_AUTH_USER_SERVICE' })
  const signIn = await app.inject({ method: 'POST', url: '/login', payload: login })
  t.equal(signIn.statusCode, 503)
  t.strictSame(signIn.json(), { mine: 'ERR_AUTH_USER_SERVICE' })
  t.equal(seen.length, 2)
  for (const error of seen) {
    t.equal(error.code, 'ERR_AUTH_USER_SERVICE')
    t.equal(error.statusCode, 500)
    t.equal(error.cause, cause)
    t.notMatch(error.message, 'connection refused')
  }
})

t.test('refusals do not go through the error handler', async (t) => {
  let asked = 0
  const app = await appWith(
    t,
    options(() => null),
    (app) => {
      app.setErrorHandler(async () => {
        asked += 1
        return {}
      })
      app.get('/', { config: { auth: true } }, () => 'ran')
    },
  )
  isRefusal(t, await app.inject('/'), { error: texts.none, challenge: bearerChallenge })
  isRefusal(t, await app.inject({ method: 'POST', url: '/login', payload: login }), {
    error: texts.invalid,
    challenge: bearerChallenge,
  })
  t.equal(asked, 0)
})

t.test('a fault is logged once, with its cause; a refusal is no error', async (t) => {
  const { lines, stream } = logLines()
  let answer: () => unknown = away
  const app = await appWith(
    t,
    options(() => answer()),
    (app) => void app.get('/', { config: { auth: { use: ['jwt', 'basic'] } } }, () => 'ran'),
    { logger: { level: 'info', stream } },
  )
  for (const headers of [await credentials(app), basic('alice', passwords.alice)]) {
    lines.length = 0
    isFault(t, await app.inject({ url: '/', headers }))
    const errors = lines.filter(({ level }) => Number(level) >= 50)
    t.equal(errors.length, 1)
    t.match(errors[0], { err: { code: 'ERR_AUTH_USER_SERVICE', stack: /connection refused/ } })
  }
  answer = () => null
  lines.length = 0
  const refused = await app.inject({ url: '/', headers: basic('alice', passwords.alice) })
  t.equal(refused.statusCode, 401)
  t.strictSame(
    lines.filter(({ level }) => Number(level) >= 40),
    [],
  )
})

t.test('faults and successes side by side', async (t) => {
  const { handler, take } = probe()
  let count = 0
  const app = await appWith(
    t,
    options(async () => {
      count += 1
      const fails = count % 3 === 0
      await delay(count % 5)
      return fails ? away() : users[0]
    }),
    (app) => void app.get('/', { config: { auth: true } }, handler),
  )
  const headers = await credentials(app)
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async () => (await app.inject({ url: '/', headers })).statusCode),
  )
  t.equal(statuses.filter((status) => status === 200).length, 40)
  t.equal(statuses.filter((status) => status === 500).length, 20)
  t.equal(take(), 40)
})

t.test('a login whose client leaves while the user service hangs', async (t) => {
  const asked = deferred()
  let hangs = true
  const app = await appWith(
    t,
    options(() => {
      if (!hangs) return users[0]
      asked.resolve()
      return new Promise(() => undefined)
    }),
    undefined,
    { forceCloseConnections: true },
  )
  const port = await listen(app)
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(login)
  const client = new AbortController()
  const hanging = send(port, {
    method: 'POST',
    path: '/login',
    headers,
    body,
    signal: client.signal,
  })
  await asked.promise
  client.abort()
  await t.rejects(hanging, { name: 'AbortError' })
  hangs = false
  const response = await send(port, { method: 'POST', path: '/login', headers, body })
  t.equal(response.statusCode, 200)
  await app.close()
})

t.test('a hook that answers before the guard keeps its answer', async (t) => {
  const asked: unknown[] = []
  const app = await appWith(
    t,
    options((...args: unknown[]) => {
      asked.push(args)
      return users[0]
    }),
    async (app) => {
      app.get(
        '/',
        { config: { auth: true }, onRequest: (_, reply) => void reply.send('early') },
        () => 'ran',
      )
    },
  )
  isRefusal(t, await app.inject('/'), { error: texts.none, challenge: bearerChallenge })
  t.strictSame(asked, [], 'hooks of a route come after the guard')
  const response = await app.inject({ url: '/', headers: await credentials(app) })
  t.equal(response.body, 'early')
})

t.test('the clients of refused requests need not send their bodies', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(
    t,
    options(() => users[0]),
    (app) => void app.post('/', { config: { auth: true } }, handler),
  )
  const port = await listen(app)
  const body = JSON.stringify({ text: 'x'.repeat(300_000) })
  const headers = { 'content-type': 'application/json' }
  const refused = await send(port, { method: 'POST', path: '/', headers, body })
  isRefusal(t, refused, { error: texts.none, challenge: bearerChallenge })
  t.equal(take(), 0)
  const more = { ...headers, ...(await credentials(app)) }
  isWelcome(t, await send(port, { method: 'POST', path: '/', headers: more, body }), 'alice')
})
