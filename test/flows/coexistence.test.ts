import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import websocket, { type WebSocket } from '@fastify/websocket'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import {
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod'
import t from 'tap'
import { z } from 'zod'
import { authn } from '../../lib/index.js'
import { userFromContext } from '../../lib/request/context.js'
import { appWith, bearer, passwords, standardOptions, fastify } from '../helpers/app.js'
import {
  bearerChallenge,
  startupError,
  isRejection,
  isWelcome,
  listen,
  nameOf,
  probe,
  messages,
  tokenChallenge,
} from '../helpers/flows.js'
import { upgrade } from '../helpers/websocket.js'

// Not by its types: those of @fastify/jwt declare request.user too, for the whole program.
const jwtPackage: string = '@fastify/jwt'
const { default: fastifyJwt } = (await import(jwtPackage)) as {
  default: FastifyPluginAsync<{ secret: string; decoratorName?: string; namespace?: string }>
}
interface WithJwt {
  jwt: { sign(payload: object): string }
  jwtVerify(): Promise<object>
  jwtUser: { role?: string } | null
}

const theirs = 'the secret of the app, and not that of the plugin'
const login = { username: 'alice', password: passwords.alice }
const noToken = { error: messages.none, challenge: bearerChallenge }
const badToken = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }

for (const order of ['before', 'after'] as const) {
  t.test(`@fastify/jwt ${order} the plugin: each rejects tokens of the other`, async (t) => {
    const { handler, take } = probe()
    const app = fastify(t)
    const options = { secret: theirs, decoratorName: 'jwtUser' }
    if (order === 'before') await app.register(fastifyJwt, options)
    await app.register(authn, standardOptions())
    if (order === 'after') await app.register(fastifyJwt, options)
    app.get('/ours', { config: { auth: true } }, handler)
    app.get('/theirs', async (request) => {
      const own = request as unknown as WithJwt
      await own.jwtVerify()
      return { role: own.jwtUser?.role, user: request.user }
    })
    await app.ready()
    const ours = bearer(app.jwtService.generateToken('alice'))
    const other = bearer((app as unknown as WithJwt).jwt.sign({ sub: 'alice', role: 'admin' }))

    isWelcome(t, await app.inject({ url: '/ours', headers: ours }), 'alice')
    t.equal(take(), 1)
    isRejection(t, await app.inject({ url: '/ours', headers: other }), badToken)
    t.equal(take(), 0)
    const verified = await app.inject({ url: '/theirs', headers: other })
    t.strictSame([verified.statusCode, verified.json()], [200, { role: 'admin', user: null }])
    t.equal((await app.inject({ url: '/theirs', headers: ours })).statusCode, 401)
  })
}

t.test('the plugin creates no Fastify instance, even when keys are reloaded', async (t) => {
  let made = 0
  // As OpenTelemetry does it: every instance is told of.
  const count = (): void => void (made += 1)
  subscribe('fastify.initialization', count)
  t.teardown(() => unsubscribe('fastify.initialization', count))
  const app = fastify(t)
  await app.register(authn, standardOptions())
  app.get('/ours', { config: { auth: true } }, () => 'ok')
  await app.ready()
  for (let round = 0; round < 3; round += 1) await app.jwtService.reload()
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/ours', headers })).statusCode, 200)
  t.equal(made, 1, 'the app only')
})

t.test('startup fails, naming decoratorName, if @fastify/jwt decorates user too', async (t) => {
  const app = fastify(t)
  await app.register(fastifyJwt, { secret: theirs })
  t.match(await startupError(() => app.register(authn, standardOptions())), {
    code: 'ERR_AUTH_DECORATOR',
    message: /"user".*@fastify\/jwt.*decoratorName: 'jwtUser'/,
  })
})

t.test('@fastify/jwt may decorate user in a sibling scope', async (t) => {
  const app = fastify(t)
  const theirScope = async (app: FastifyInstance): Promise<void> => {
    await app.register(fastifyJwt, { secret: theirs })
    app.get('/token', () => (app as unknown as WithJwt).jwt.sign({ name: 'carol' }))
    app.get('/me', async (request) => {
      await (request as unknown as WithJwt).jwtVerify()
      return { name: nameOf(request) }
    })
  }
  const ourScope = async (app: FastifyInstance): Promise<void> => {
    await app.register(authn, { ...standardOptions(), auth: true })
    app.get('/me', () => 'ran')
  }
  await app.register(theirScope, { prefix: '/theirs' })
  await app.register(ourScope, { prefix: '/ours' })
  const headers = bearer((await app.inject('/theirs/token')).body)
  t.strictSame((await app.inject({ url: '/theirs/me', headers })).json(), { name: 'carol' })
  t.equal((await app.inject({ url: '/ours/me', headers })).statusCode, 401)
})

for (const order of ['before', 'after'] as const) {
  t.test(`with Zod compilers set ${order} the plugin, login and routes work`, async (t) => {
    const plain = fastify(t)
    const install = (): void => {
      plain.setValidatorCompiler(validatorCompiler)
      plain.setSerializerCompiler(serializerCompiler)
    }
    if (order === 'before') install()
    await plain.register(authn, standardOptions())
    if (order === 'after') install()
    const app = plain.withTypeProvider<ZodTypeProvider>()
    const schema = {
      body: z.object({ text: z.string().min(1) }),
      response: { 200: z.object({ name: z.string() }) },
    }
    app.post('/notes', { config: { auth: true }, schema }, (request) => ({
      name: String(nameOf(request)),
    }))
    const post = (url: string, payload: object, headers = {}) =>
      app.inject({ method: 'POST', url, payload, headers })
    const signed = await post('/login', login)
    t.equal(signed.statusCode, 200)
    const headers = bearer(signed.json<{ token: string }>().token)
    const wrong = { error: messages.invalid, challenge: bearerChallenge }
    isRejection(t, await post('/login', { ...login, password: 'x' }), wrong)
    const bad = await post('/login', { username: ['alice'], password: 1 })
    t.equal(bad.statusCode, 400)
    t.match(bad.json(), { code: 'FST_ERR_VALIDATION', message: 'body/username must be string' })
    const noted = await post('/notes', { text: 'x' }, headers)
    t.strictSame([noted.statusCode, noted.json()], [200, { name: 'alice' }])
    isRejection(t, await post('/notes', {}), noToken, 'before the validation')
    t.equal((await post('/notes', { text: '' }, headers)).statusCode, 400, 'as Zod says')
  })
}

t.test('response schemas and serializers of routes do not change rejections', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    const response = {
      401: {
        type: 'object',
        required: ['reason'],
        properties: { reason: { type: 'string' }, error: { type: 'number' } },
      },
      '4xx': { type: 'string' },
    }
    app.get('/schema', { config: { auth: true }, schema: { response } }, () => 'ran')
    app.get(
      '/serializer',
      { config: { auth: true }, serializerCompiler: () => () => '"serialized"' },
      () => 'ran',
    )
    app.setReplySerializer(() => '"replied"')
  })
  for (const url of ['/schema', '/serializer']) isRejection(t, await app.inject(url), noToken, url)
})

t.test('onSend and onResponse run for a rejection, later request hooks do not', async (t) => {
  const seen: string[] = []
  const app = await appWith(t, standardOptions(), (app) => {
    for (const name of ['preParsing', 'preValidation', 'preHandler'] as const) {
      app.addHook(name, async () => void seen.push(name))
    }
    app.addHook('onSend', async (_, reply, payload) => {
      seen.push(`onSend ${String(reply.statusCode)} ${typeof payload}`)
      return payload
    })
    app.addHook('onResponse', async (_, reply) => void seen.push(`onResponse ${reply.statusCode}`))
    app.addHook('onError', async () => void seen.push('onError'))
    app.post('/', { config: { auth: true } }, () => 'ran')
  })
  isRejection(t, await app.inject({ method: 'POST', url: '/', payload: {} }), noToken)
  t.strictSame(seen, ['onSend 401 string', 'onResponse 401'])
})

t.test('WebSocket upgrades get the user or the 401 of any other request', async (t) => {
  const app = fastify(t)
  await app.register(websocket)
  await app.register(authn, standardOptions())
  await app.register(async (app) => {
    for (const auth of [true, 'try', false] as const) {
      app.get(`/${auth}`, { websocket: true, config: { auth } }, (socket, request) => {
        socket.send([nameOf(request), nameOf({ user: userFromContext() })].join())
        socket.on('message', (message: Buffer) =>
          socket.send(`${String(message)} ${String(nameOf(request))}`),
        )
      })
    }
  })
  await app.register(
    async (app) => {
      app.get('/group', { websocket: true }, (socket) => socket.send('open'))
    },
    { auth: true },
  )
  const port = await listen(app)
  const token = bearer(app.jwtService.generateToken('alice'))

  // What injectWS() makes has no raw headers to look at, and no socket.
  await t.rejects(app.injectWS('/true', {}), /401/)
  await t.rejects(app.injectWS('/true', { headers: bearer('broken') }), /401/)
  let first: Promise<unknown[]> | undefined
  const onInit = (client: WebSocket): void => void (first = once(client, 'message'))
  const injected = await app.injectWS('/true', { headers: token }, { onInit })
  t.equal(String((await first)?.[0]), 'alice,alice')
  injected.terminate()

  for (const [path, headers, ...messages] of [
    ['/true', token, 'alice,alice', 'hello alice'],
    ['/try', token, 'alice,alice'],
    ['/try', bearer('a.b.c'), ','],
    ['/false', token, ','],
    ['/group', token, 'open'],
  ] as const) {
    t.strictSame(await upgrade(port, path, headers, messages.length), { messages }, path)
  }
  for (const [path, headers, expected] of [
    ['/true', {}, noToken],
    ['/group', {}, noToken],
    ['/true', bearer('a.b.c'), badToken],
  ] as const) {
    const answer = await upgrade(port, path, headers, 1)
    if ('messages' in answer) t.fail(`${path} was opened`)
    else isRejection(t, answer.rejected, expected, path)
  }
})
