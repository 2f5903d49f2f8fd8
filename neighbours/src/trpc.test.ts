import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import websocket from '@fastify/websocket'
import {
  createTRPCClient,
  createWSClient,
  httpBatchLink,
  httpLink,
  TRPCClientError,
  wsLink,
} from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { fastifyTRPCPlugin, type CreateFastifyContextOptions } from '@trpc/server/adapters/fastify'
import Fastify, { type FastifyInstance } from 'fastify'
import authn, { configFromEnv, type AuthMark } from 'fastify-authn'
import { WebSocket } from 'ws'
import { createApp, type AppRouter } from './trpc.js'
import { as, users } from './users.js'

const wrong = { authorization: 'Bearer wrong' }

/** Where an app listens, until the test ends. */
async function listen(t: TestContext, app: FastifyInstance) {
  t.after(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `127.0.0.1:${(app.server.address() as AddressInfo).port}/trpc`
}

/** What a client is told, or the code of its error; null for one without a code. */
async function told(query: Promise<unknown>) {
  try {
    return await query
  } catch (error) {
    assert.ok(error instanceof TRPCClientError)
    return (error as TRPCClientError<AppRouter>).data?.code ?? null
  }
}

test('tRPC: optional authentication, decided by procedures; clients know why', async (t) => {
  const app = await createApp()
  const address = await listen(t, app)
  for (const link of [httpLink, httpBatchLink]) {
    const ask = (headers: Record<string, string>) => {
      const links = [link({ url: `http://${address}`, headers })]
      const client = createTRPCClient<AppRouter>({ links })
      return Promise.all([told(client.hello.query()), told(client.drafts.query())])
    }
    assert.deepEqual(await ask({}), ['Hello, stranger!', 'UNAUTHORIZED'])
    assert.deepEqual(await ask(as('alice', app)), ['Hello, alice!', ['a draft of alice']])
    assert.deepEqual(await ask(wrong), ['UNAUTHORIZED', 'UNAUTHORIZED'])
  }
  const { error } = (await app.inject({ method: 'POST', url: '/login', payload: {} })).json<{
    error: unknown
  }>()
  assert.equal(typeof error, 'string')
})

test('tRPC: subscriptions by server-sent events know their user', async (t) => {
  const app = await createApp()
  t.after(() => app.close())
  await app.ready()
  const accept = 'text/event-stream'
  const ask = async (headers: object) =>
    (await app.inject({ url: '/trpc/news', headers: { accept, ...headers } })).body
  assert.match(await ask(as('alice', app)), /"news for alice"/)
  assert.match(await ask({}), /UNAUTHORIZED/)
})

/** An app with the default body of rejections. */
async function plainApp(t: TestContext, auth: AuthMark) {
  const app = Fastify()
  await app.register(websocket)
  await app.register(authn, { ...configFromEnv(), userService: users })
  const createContext = ({ req }: CreateFastifyContextOptions) => ({ user: req.user })
  const { router, procedure } = initTRPC.context<typeof createContext>().create()
  const typeOfUser = procedure.query(({ ctx: { user } }) => (user === null ? 'null' : typeof user))
  const trpcOptions = { router: router({ typeOfUser }), createContext }
  await app.register(fastifyTRPCPlugin, { prefix: '/trpc', auth, useWSS: true, trpcOptions })
  return { app, address: await listen(t, app), trpcOptions }
}

test('tRPC: without errorBody, clients do not understand rejections', async (t) => {
  for (const auth of [true, 'optional'] as const) {
    const { address, trpcOptions } = await plainApp(t, auth)
    const links = [httpLink({ url: `http://${address}`, headers: wrong })]
    const client = createTRPCClient<typeof trpcOptions.router>({ links })
    assert.equal(await told(client.typeOfUser.query()), null)
  }
})

test('tRPC: over WebSockets, the context has no user', async (t) => {
  const { app, address, trpcOptions } = await plainApp(t, true)
  class Client extends WebSocket {
    constructor(url: string) {
      super(url, { headers: as('alice', app) })
    }
  }
  const client = createWSClient({ url: `ws://${address}`, WebSocket: Client as never })
  const links = [wsLink({ client })]
  const { typeOfUser } = createTRPCClient<typeof trpcOptions.router>({ links })
  assert.equal(await typeOfUser.query(), 'undefined')
  await client.close()
})
