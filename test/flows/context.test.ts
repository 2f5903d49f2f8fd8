import { Agent } from 'node:http'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as immediate } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { type AuthnOptions } from '../../lib/index.js'
import { runAs, userFromContext } from '../../lib/request/context.js'
import { appWith, basic, bearer, passwords, standardOptions } from '../helpers/app.js'
import { deferred, listen, nameOf, send } from '../helpers/flows.js'

/** Who the context says it is. */
const current = (): unknown => nameOf({ user: userFromContext() })

type Places = Record<string, unknown>

/** Asks for the user of the context in everything that a handler can start. */
async function lookEverywhere(): Promise<Places> {
  const places: Places = { handler: current() }
  const look = (place: string): void => {
    places[place] = current()
  }
  await Promise.resolve()
  look('after an await')
  await new Promise<void>((resolve) => {
    setTimeout(() => {
      look('setTimeout')
      resolve()
    }, 3)
  })

  const seen: unknown[] = []
  await pipeline(
    Readable.from([Buffer.from('a'), Buffer.from('b')]),
    new Transform({
      transform(chunk, _, done) {
        seen.push(current())
        setImmediate(() => done(null, chunk))
      },
      flush(done) {
        look('flush of a stream')
        done()
      },
    }),
    async function* read(source: AsyncIterable<unknown>) {
      for await (const chunk of source) {
        seen.push(current())
        yield chunk
      }
    },
    async (source) => {
      for await (const _ of source) seen.push(current())
    },
  )
  places.streams = [...new Set(seen)]

  look('at the end')
  return places
}

function declare(app: FastifyInstance): void {
  // Both requests are in the handler at the same time.
  let waiting = 0
  let meeting = deferred()
  const meet = async (request: FastifyRequest): Promise<Places> => {
    waiting += 1
    if (waiting === 2) {
      waiting = 0
      meeting.resolve()
      meeting = deferred()
    } else await meeting.promise
    return {
      ...(await lookEverywhere()),
      request: nameOf(request),
      same: request.user === userFromContext(),
    }
  }
  for (const auth of ['jwt', 'basic'] as const) {
    const config = { auth: { use: auth } }
    app.get(`/${auth}`, { config }, meet)
    app.post<{ Body: { text: string } }>(`/${auth}`, { config }, async (request) => ({
      ...(await meet(request)),
      length: request.body.text.length,
    }))
  }
}

function assertAlways(t: Test, body: string, name: string): void {
  const { streams, request, same, length, ...places } = JSON.parse(body) as Places
  t.equal(request, name)
  t.equal(same, true, 'the same object')
  t.strictSame(streams, [name], 'streams')
  for (const [place, seen] of Object.entries(places)) t.equal(seen, name, place)
  t.ok(Object.keys(places).length >= 5, 'every place was looked at')
  t.ok(length === undefined || length === 300_000)
}

t.test('userFromContext() finds the user in all that a handler starts', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.addHook('onSend', async (_, reply, payload) => {
      reply.header('x-on-send', String(current()))
      return payload
    })
    declare(app)
  })
  const port = await listen(app)
  const token = (name: string): Record<string, string> => bearer(app.jwtService.generateToken(name))
  const headers = {
    jwt: { alice: token('alice'), bob: token('bob') },
    basic: { alice: basic('alice', passwords.alice), bob: basic('bob', passwords.bob) },
  }
  const body = JSON.stringify({ text: 'x'.repeat(300_000) })

  for (const auth of ['jwt', 'basic'] as const) {
    for (const method of ['GET', 'POST'] as const) {
      await t.test(`two ${method} requests at once find their own users, ${auth}`, async (t) => {
        const requests = (['alice', 'bob'] as const).map((name) =>
          send(port, {
            method,
            path: `/${auth}`,
            headers: {
              ...headers[auth][name],
              ...(method === 'POST' && { 'content-type': 'application/json' }),
            },
            ...(method === 'POST' && { body }),
          }),
        )
        const responses = await Promise.all(requests)
        for (const [index, name] of ['alice', 'bob'].entries()) {
          t.equal(responses[index]?.statusCode, 200)
          assertAlways(t, responses[index]?.body ?? '{}', name)
          t.equal(responses[index]?.headers['x-on-send'], name)
        }
      })
    }
  }
  t.equal(userFromContext(), null, 'anonymous outside of requests')
})

t.test('hooks, sent streams and timers after the response find the user', async (t) => {
  const seen: Record<string, unknown> = {}
  const done = deferred()
  const app = await appWith(t, standardOptions(), (app) => {
    const look = (place: string) => async () => {
      seen[place] = current()
    }
    app.addHook('preValidation', look('preValidation'))
    app.addHook('preHandler', look('preHandler'))
    app.addHook('preSerialization', async (_, __, payload) => {
      seen.preSerialization = current()
      return payload
    })
    app.setErrorHandler((error, _, reply) => {
      seen.errorHandler = current()
      void reply.code(500).send({ error: (error as Error).message })
    })
    const config = { auth: true } as const
    app.get('/object', { config }, () => ({}))
    app.get('/throws', { config }, () => {
      throw new Error('x')
    })
    app.get('/stream', { config }, (_, reply) =>
      reply.send(
        Readable.from(
          (async function* read() {
            await immediate()
            yield String(current())
          })(),
        ),
      ),
    )
    app.get('/later', { config }, () => {
      setTimeout(() => {
        seen.later = current()
        done.resolve()
      }, 30)
      return {}
    })
  })
  const port = await listen(app)
  const headers = bearer(app.jwtService.generateToken('alice'))
  for (const path of ['/object', '/throws', '/later']) await send(port, { path, headers })
  t.equal((await send(port, { path: '/stream', headers })).body, 'alice')
  await done.promise
  t.strictSame(seen, {
    preValidation: 'alice',
    preHandler: 'alice',
    preSerialization: 'alice',
    errorHandler: 'alice',
    later: 'alice',
  })
})

t.test('each request of one connection has its own user', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    const who = async (request: FastifyRequest): Promise<object> => {
      await immediate()
      return { request: nameOf(request), context: current() }
    }
    app.get('/closed', { config: { auth: true } }, who)
    app.get('/try', { config: { auth: 'try' } }, who)
    app.get('/open', who)
  })
  const port = await listen(app)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const token = (name: string): Record<string, string> => bearer(app.jwtService.generateToken(name))
  const get = async (path: string, headers: Record<string, string> = {}): Promise<unknown> =>
    JSON.parse((await send(port, { path, headers, agent })).body)
  const anonymous = { request: null, context: null }
  t.strictSame(await get('/closed', token('alice')), { request: 'alice', context: 'alice' })
  t.strictSame(await get('/open'), anonymous)
  t.strictSame(await get('/try'), anonymous)
  t.strictSame(await get('/try', bearer('a.b.c')), anonymous)
  t.strictSame(await get('/closed', token('bob')), { request: 'bob', context: 'bob' })
  t.strictSame(await get('/open', token('alice')), anonymous)
})

t.test('rejected and failed injected requests do not have the outer user', async (t) => {
  const seen: unknown[] = []
  const fails = { authenticate: () => Promise.reject(new Error('broken')) }
  const options = { ...standardOptions(), authenticators: { fails } }
  const app = await appWith(t, options, (app) => {
    app.addHook('onSend', async ({ url }) => void seen.push([url, current()]))
    app.get('/closed', { config: { auth: true } }, () => 'secret')
    app.get('/broken', { config: { auth: { use: 'fails' } } }, () => 'secret')
    app.get('/outer', { config: { auth: true } }, async () => {
      await app.inject('/closed')
      await app.inject('/broken')
      return 'outer'
    })
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  await app.inject({ url: '/outer', headers })
  t.strictSame(seen, [
    ['/closed', null],
    ['/broken', null],
    ['/outer', 'alice'],
  ])
})

t.test('a request that a handler injects has its own user, or none', async (t) => {
  const options: AuthnOptions = {
    ...standardOptions(),
    login: { tokenFunc: () => `token of ${String(current())}` },
  }
  const app = await appWith(t, options, async (app) => {
    const who = (request: FastifyRequest): object => ({
      request: nameOf(request),
      context: current(),
    })
    app.setNotFoundHandler((request) => who(request))
    app.get('/open', who)
    app.get('/false', { config: { auth: false } }, who)
    app.get('/optional', { config: { auth: 'optional' } }, who)
    app.get('/try', { config: { auth: 'try' } }, who)
    app.get('/closed', { config: { auth: true } }, who)
    app.get('/outer', { config: { auth: true } }, async (request) => {
      const { to, authorization } = request.headers as Record<string, string>
      const inner = await app.inject({
        url: to ?? '',
        headers: authorization === undefined ? {} : { authorization: String(request.headers.as) },
      })
      return { status: inner.statusCode, inner: inner.body, after: current() }
    })
    app.get('/sign-in', { config: { auth: true } }, async () => {
      const payload = { username: 'bob', password: passwords.bob }
      const inner = await app.inject({ method: 'POST', url: '/login', payload })
      return { status: inner.statusCode, inner: inner.body, after: current() }
    })
  })
  const token = bearer(app.jwtService.generateToken('alice'))
  const through = async (to: string, as = ''): Promise<unknown> => {
    const response = await app.inject({ url: '/outer', headers: { ...token, to, as } })
    const { inner, ...rest } = response.json<{ inner: string }>()
    return { ...rest, inner: JSON.parse(inner) as unknown }
  }
  const anonymous = { status: 200, inner: { request: null, context: null }, after: 'alice' }
  for (const to of ['/open', '/false', '/optional', '/try', '/nowhere']) {
    t.strictSame(await through(to), anonymous, to)
  }
  t.strictSame(await through('/try', 'Bearer a.b.c'), anonymous)
  t.match(await through('/closed'), { status: 401, after: 'alice' })
  const { authorization } = bearer(app.jwtService.generateToken('bob'))
  t.strictSame(await through('/closed', authorization), {
    status: 200,
    inner: { request: 'bob', context: 'bob' },
    after: 'alice',
  })
  const login = await app.inject({ url: '/sign-in', headers: token })
  t.strictSame(login.json(), { status: 200, inner: '{"token":"token of null"}', after: 'alice' })
})

t.test('content-type parsers find the user of their request', async (t) => {
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
    for (const [url, auth] of [
      ['/closed', true],
      ['/open', false],
    ] as const) {
      app.post<{ Body: unknown[] }>(url, { config: { auth } }, (request) => ({
        parser: [...new Set(request.body)],
        handler: current(),
      }))
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
        const { body } = await send(port, {
          method: 'POST',
          path: name === null ? '/open' : '/closed',
          headers: {
            'content-type': type,
            ...(name !== null && bearer(app.jwtService.generateToken(name))),
          },
          body: 'x'.repeat(length),
          agent,
        })
        t.strictSame(JSON.parse(body), { parser: [name], handler: name }, `${type}, ${length}`)
      }
    }
  }
})
