import Fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import t from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { appWith, bearer, passwords, secret, users } from '../helpers/app.js'
import {
  bearerChallenge,
  isRejection,
  isWelcome,
  listen,
  probe,
  send,
  serviceOf,
  messages,
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
  return bearer(app.jwtService.generateToken('alice'))
}

t.test('an error handler of the app gets an internal error with its code and cause', async (t) => {
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

t.test('a rejection does not go through the error handler of the app', async (t) => {
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
  isRejection(t, await app.inject('/'), { error: messages.none, challenge: bearerChallenge })
  isRejection(t, await app.inject({ method: 'POST', url: '/login', payload: login }), {
    error: messages.invalid,
    challenge: bearerChallenge,
  })
  t.equal(asked, 0)
})

t.test('an onRequest hook of a route answers after the request is authenticated', async (t) => {
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
  isRejection(t, await app.inject('/'), { error: messages.none, challenge: bearerChallenge })
  t.strictSame(asked, [], 'hooks of a route come after the guard')
  const response = await app.inject({ url: '/', headers: await credentials(app) })
  t.equal(response.body, 'early')
})

t.test('a request with a large body gets its 401', async (t) => {
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
  isRejection(t, refused, { error: messages.none, challenge: bearerChallenge })
  t.equal(take(), 0)
  const more = { ...headers, ...(await credentials(app)) }
  isWelcome(t, await send(port, { method: 'POST', path: '/', headers: more, body }), 'alice')
})
