import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { appWith, bearer, passwords, secret, users } from '../helpers/app.js'
import { bearerChallenge, isRejection, messages, serviceOf } from '../helpers/flows.js'

const cause = new Error('connection refused')
const away = (): never => {
  throw cause
}
const options = (answer: () => unknown) => ({
  userService: serviceOf(answer),
  jwt: { secret },
})
const login = { username: 'alice', password: passwords.alice }

const credentials = (app: FastifyInstance) => bearer(app.jwtService.generateToken('alice'))

t.test('the error handler of an app gets internal errors, and no rejections', async (t) => {
  const seen: FastifyError[] = []
  let answer: () => unknown = away
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler((error: FastifyError, _, reply) => {
    seen.push(error)
    void reply.code(503).send({ mine: error.code })
  })
  await app.register(
    authn,
    options(() => answer()),
  )
  app.get('/', { config: { auth: true } }, () => 'ran')
  const signIn = { method: 'POST', url: '/login', payload: login } as const
  const requests = [{ url: '/', headers: credentials(app) }, signIn]
  for (const request of requests) {
    const { statusCode, body } = await app.inject(request)
    t.strictSame([statusCode, body], [503, '{"mine":"ERR_AUTH_USER_SERVICE"}'])
  }
  t.equal(seen.length, 2)
  for (const { code, statusCode, cause: given, message } of seen.splice(0)) {
    t.strictSame([code, statusCode], ['ERR_AUTH_USER_SERVICE', 500])
    t.equal(given, cause)
    t.notMatch(message, 'connection refused')
  }
  answer = () => null
  isRejection(t, await app.inject('/'), { error: messages.none, challenge: bearerChallenge })
  const wrong = { error: messages.invalid, challenge: bearerChallenge }
  isRejection(t, await app.inject(signIn), wrong)
  t.strictSame(seen, [])
})

t.test('an onRequest hook of a route answers after the request is authenticated', async (t) => {
  const app = await appWith(
    t,
    options(() => users[0]),
    (app) => {
      const onRequest = async (_: unknown, reply: FastifyReply) => reply.send('early')
      app.get('/', { config: { auth: true }, onRequest }, () => 'ran')
    },
  )
  isRejection(t, await app.inject('/'), { error: messages.none, challenge: bearerChallenge })
  const response = await app.inject({ url: '/', headers: credentials(app) })
  t.equal(response.body, 'early')
})
