// program: requests
import { Agent } from 'node:http'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as immediate } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import t from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { runAs, userFromContext } from '../../lib/request/context.js'
import { appWith, basic, bearer, passwords, standardOptions } from '../helpers/app.js'
import { deferred, listen, nameOf, send } from '../helpers/flows.js'

/** The user of the context. */
const current = (): unknown => nameOf({ user: userFromContext() })
/** The users of the request and of the context. */
const both = (request: FastifyRequest) => ({ request: nameOf(request), context: current() })
const anonymous = { request: null, context: null }

const tokenOf = (app: FastifyInstance, name: string) => bearer(app.jwtService.generateToken(name))

/** The users of the context in everything that a handler can start. */
async function lookEverywhere(): Promise<unknown[]> {
  const seen = [current()]
  const look = (): void => void seen.push(current())
  await new Promise<void>((resolve) => {
    setTimeout(() => {
      look()
      resolve()
    }, 3)
  })
  await pipeline(
    Readable.from([Buffer.from('a'), Buffer.from('b')]),
    new Transform({
      transform(chunk, _, done) {
        look()
        setImmediate(() => done(null, chunk))
      },
      flush(done) {
        look()
        done()
      },
    }),
    async function* read(source: AsyncIterable<unknown>) {
      for await (const chunk of source) {
        look()
        yield chunk
      }
    },
    async (source) => {
      for await (const _ of source) look()
    },
  )
  look()
  return seen
}

t.test('each of two requests at once finds its own user in what its handler starts', async (t) => {
  // Both requests are in the handler at the same time.
  let waiting = 0
  let meeting = deferred()
  const meet = async (request: FastifyRequest): Promise<object> => {
    waiting += 1
    if (waiting === 2) {
      waiting = 0
      meeting.resolve()
      meeting = deferred()
    } else await meeting.promise
    const seen = await lookEverywhere()
    const isSame = request.user === userFromContext()
    return { seen: [...new Set(seen)], places: seen.length, request: nameOf(request), isSame }
  }
  const app = await appWith(t, standardOptions(), (app) => {
    app.addHook('onSend', async (_, reply, payload) => {
      reply.header('x-on-send', String(current()))
      return payload
    })
    for (const use of ['jwt', 'basic'] as const) {
      const method = ['GET', 'POST']
      app.route({ method, url: `/${use}`, config: { auth: { use } }, handler: meet })
    }
  })
  const port = await listen(app)
  const credentials = {
    jwt: (name: 'alice' | 'bob') => tokenOf(app, name),
    basic: (name: 'alice' | 'bob') => basic(name, passwords[name]),
  }
  const post = {
    method: 'POST',
    type: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'x'.repeat(300_000) }),
  }
  for (const [use, headersOf] of Object.entries(credentials)) {
    for (const { type, ...more } of [{ type: {} }, post]) {
      const ask = async (name: 'alice' | 'bob'): Promise<void> => {
        const headers = { ...headersOf(name), ...type }
        const response = await send(port, { path: `/${use}`, headers, ...more })
        t.equal(response.headers['x-on-send'], name)
        const found = JSON.parse(response.body) as object
        t.strictSame(found, { seen: [name], places: 10, request: name, isSame: true }, use)
      }
      await Promise.all([ask('alice'), ask('bob')])
    }
  }
  t.equal(userFromContext(), null, 'anonymous outside of requests')
})

t.test('hooks, sent streams and timers after the response find the user', async (t) => {
  const seen: Record<string, unknown> = {}
  const done = deferred()
  const app = await appWith(t, standardOptions(), (app) => {
    for (const name of ['preValidation', 'preHandler'] as const) {
      app.addHook(name, async () => void (seen[name] = current()))
    }
    app.addHook('preSerialization', async (_, __, payload) => {
      seen.preSerialization = current()
      return payload
    })
    app.setErrorHandler((error, _, reply) => {
      seen.errorHandler = current()
      void reply.code(500).send({ error: (error as Error).message })
    })
    const config = { auth: true } as const
    app.get('/throws', { config }, () => Promise.reject(new Error('x')))
    async function* read() {
      await immediate()
      yield String(current())
    }
    app.get('/stream', { config }, (_, reply) => reply.send(Readable.from(read())))
    app.get('/later', { config }, () => {
      setTimeout(() => {
        seen.later = current()
        done.resolve()
      }, 30)
      return {}
    })
  })
  const port = await listen(app)
  const headers = tokenOf(app, 'alice')
  for (const path of ['/throws', '/later']) await send(port, { path, headers })
  t.equal((await send(port, { path: '/stream', headers })).body, 'alice')
  await done.promise
  const places = ['preValidation', 'preHandler', 'preSerialization', 'errorHandler', 'later']
  t.strictSame(seen, Object.fromEntries(places.map((place) => [place, 'alice'])))
})

t.test('a handler sees the user with which a hook has replaced request.user', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    const preHandler = async (request: FastifyRequest): Promise<void> => {
      request.user = { name: 'bob' } as never
    }
    app.get('/', { config: { auth: true }, preHandler }, ({ user }) => user)
  })
  const { body } = await app.inject({ url: '/', headers: tokenOf(app, 'alice') })
  t.equal(body, '{"name":"bob"}')
})

t.test('a request that a handler injects has its own user, or none', async (t) => {
  const sent: unknown[] = []
  const options: AuthnOptions = {
    ...standardOptions(),
    login: { tokenFunc: () => `token of ${String(current())}` },
    authenticators: { fails: { authenticate: () => Promise.reject(new Error('broken')) } },
  }
  const app = await appWith(t, options, (app) => {
    app.setNotFoundHandler((request) => both(request))
    app.addHook('onSend', async () => void sent.push(current()))
    app.get('/open', both)
    for (const auth of [false, 'optional', 'try', true] as const) {
      app.get(`/${auth}`, { config: { auth } }, both)
    }
    app.get('/broken', { config: { auth: { use: 'fails' } } }, both)
    app.post<{ Body: InjectOptions }>('/outer', { config: { auth: true } }, async (request) => {
      const { statusCode, body } = await app.inject(request.body)
      return { status: statusCode, inner: JSON.parse(body) as unknown, after: current() }
    })
  })
  /** What a handler of alice gets for a request, and the users of the context when both responses were sent. */
  const through = async (payload: object): Promise<unknown> => {
    const headers = tokenOf(app, 'alice')
    const response = await app.inject({ method: 'POST', url: '/outer', headers, payload })
    const { after, ...inner } = response.json<{ after: string }>()
    t.strictSame([after, sent.pop()], ['alice', 'alice'])
    return { ...inner, sent: sent.pop() }
  }
  const none = { status: 200, inner: anonymous, sent: null }
  for (const url of ['/open', '/false', '/optional', '/try', '/nowhere']) {
    t.strictSame(await through({ url }), none, url)
  }
  t.strictSame(await through({ url: '/try', headers: bearer('a.b.c') }), none)
  t.match(await through({ url: '/true' }), { status: 401, sent: null })
  t.match(await through({ url: '/broken' }), { status: 500, sent: null })
  const own = await through({ url: '/true', headers: tokenOf(app, 'bob') })
  t.strictSame(own, { status: 200, inner: { request: 'bob', context: 'bob' }, sent: 'bob' })
  const bob = { username: 'bob', password: passwords.bob }
  const login = await through({ method: 'POST', url: '/login', payload: bob })
  t.match(login, { status: 200, inner: { token: 'token of null' } })
})

t.test('content-type parsers find the user of their own request of a connection', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.addContentTypeParser('test/events', (_, payload, done) => {
      const seen = [current()]
      payload.on('data', () => seen.push(current()))
      payload.on('end', () => {
        seen.push(current())
        done(null, seen)
      })
    })
    app.addContentTypeParser('test/loop', async (_: unknown, payload: AsyncIterable<unknown>) => {
      const seen = [current()]
      for await (const _chunk of payload) seen.push(current())
      return [...seen, current()]
    })
    for (const auth of [true, false]) {
      app.post<{ Body: unknown[] }>(`/${auth}`, { config: { auth } }, ({ body }) => [
        ...new Set([...body, current()]),
      ])
    }
  })
  // As in a process that does all its work as one user.
  const port = await runAs({ id: 0, name: 'system' }, () => listen(app))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (const type of ['test/events', 'test/loop']) {
    // The second one arrives in many pieces.
    for (const length of [10, 900_000]) {
      for (const name of ['alice', 'bob', null]) {
        const headers = { 'content-type': type, ...(name !== null && tokenOf(app, name)) }
        const path = `/${name !== null}`
        const body = 'x'.repeat(length)
        const response = await send(port, { method: 'POST', path, headers, body, agent })
        t.strictSame(JSON.parse(response.body), [name], `${type}, ${length}`)
      }
    }
  }
})
