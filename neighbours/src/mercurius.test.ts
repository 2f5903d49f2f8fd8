import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import authn, { configFromEnv, type AuthMark } from 'fastify-authn'
import mercurius from 'mercurius'
import { WebSocket } from 'ws'
import { createApp } from './mercurius.js'
import { as, users } from './users.js'

async function ask(app: FastifyInstance, query: string, headers = {}) {
  const response = await app.inject({
    method: 'POST',
    url: '/graphql',
    payload: { query },
    headers,
  })
  const { data, errors, error } = response.json<{
    data: object | null
    errors?: { extensions?: { code: string } }[]
    error?: string
  }>()
  return {
    status: response.statusCode,
    data,
    code: errors?.[0]?.extensions?.code,
    isRejected: typeof error === 'string',
  }
}

test('mercurius: optional authentication, decided by resolvers', async (t) => {
  const app = await createApp()
  t.after(() => app.close())
  await app.ready()
  const alice = as('alice', app)
  const anonymous = await ask(app, '{ hello }')
  assert.deepEqual(anonymous.data, { hello: 'Hello, stranger!' })
  const { status, code } = await ask(app, '{ drafts }')
  assert.deepEqual([status, code], [200, 'UNAUTHENTICATED'])
  const known = await ask(app, '{ hello drafts }', alice)
  assert.deepEqual(known.data, { hello: 'Hello, alice!', drafts: ['a draft of alice'] })
  const wrong = await ask(app, '{ hello }', { authorization: 'Bearer wrong' })
  assert.deepEqual([wrong.status, wrong.isRejected], [401, true])
  const url = `/graphql?query=${encodeURIComponent('{ drafts }')}`
  assert.deepEqual((await app.inject({ url, headers: alice })).json(), {
    data: { drafts: ['a draft of alice'] },
  })
})

/** An app whose resolver tells who asks. */
async function appOf(t: TestContext, mark?: AuthMark, scope?: AuthMark) {
  const app = Fastify()
  t.after(() => app.close())
  const errorBody = ({ message, code }: Error & { code: string }) => ({
    errors: [{ message, extensions: { code } }],
  })
  await app.register(authn, { ...configFromEnv(), userService: users, errorBody })
  const options = {
    schema: 'type Query { me: String }  type Mutation { change: String }',
    resolvers: { Query: { me: (_: unknown, _args: unknown, { user }: { user: unknown }) => user } },
    context: ({ user }: { user: { name: string } | null }) => ({ user: user?.name ?? null }),
    graphiql: true,
    ...(mark && { additionalRouteOptions: { config: { auth: mark } } }),
  }
  await app.register(
    async (inner) => {
      await inner.register(mercurius, options as never)
    },
    scope === undefined ? {} : { auth: scope },
  )
  await app.ready()
  return app
}

test('mercurius: without a mark, everyone is anonymous', async (t) => {
  const app = await appOf(t)
  const { status, data } = await ask(app, '{ me }', as('alice', app))
  assert.deepEqual([status, data], [200, { me: null }])
})

test('mercurius: a mark of its routes does not protect GraphiQL, one of a scope does', async (t) => {
  const routes = await appOf(t, true)
  const scope = await appOf(t, undefined, true)
  for (const app of [routes, scope]) {
    const { status, data } = await ask(app, '{ me }', as('alice', app))
    assert.deepEqual([status, data], [200, { me: 'alice' }])
    const anonymous = await ask(app, '{ me }')
    assert.deepEqual([anonymous.status, anonymous.code], [401, 'ERR_AUTH_NO_CREDENTIALS'])
  }
  assert.equal((await routes.inject('/graphiql')).statusCode, 200)
  assert.equal((await scope.inject('/graphiql')).statusCode, 401)
})

test('mercurius: a GET changes nothing', async (t) => {
  const app = await appOf(t, 'optional')
  const url = `/graphql?query=${encodeURIComponent('mutation { change }')}`
  assert.equal((await app.inject({ url, headers: as('alice', app) })).statusCode, 405)
})

/** Subscribes, and gives what the server says first; the connection stays open. */
async function subscribe(t: TestContext, app: FastifyInstance, headers: Record<string, string>) {
  const { port } = app.server.address() as AddressInfo
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws', {
    headers,
  })
  t.after(() => socket.terminate())
  const messages: { type: string; payload: unknown }[] = []
  const first = new Promise((resolve) => {
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as (typeof messages)[number]
      messages.push(message)
      if (messages.length === 2) resolve(message)
      const query = 'subscription { news }'
      if (message.type !== 'connection_ack') return
      socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }))
    })
  })
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'connection_init' }))
  await first
  return { socket, type: messages[1]?.type, payload: messages[1]?.payload }
}

test('mercurius: subscriptions know their user, and end with the token', async (t) => {
  const app = await createApp()
  t.after(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { type, payload, socket } = await subscribe(t, app, as('alice', app))
  assert.deepEqual([type, payload], ['next', { data: { news: 'news for alice' } }])
  assert.equal((await subscribe(t, app, {})).type, 'error')
  await assert.rejects(subscribe(t, app, { authorization: 'Bearer wrong' }), /401/)

  const closed = once(socket, 'close')
  t.mock.timers.tick(300_000)
  const [code] = (await closed) as [number]
  assert.equal(code, 4403)
  t.mock.timers.reset()
})
