import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { WebSocket } from 'ws'
import { buildApp } from './websocket.js'
import {
  alice,
  bearer,
  expectAnswer,
  login,
  noCredentials,
  notAccepted,
  rejection,
  wrongCredentials,
} from './support/expected.js'

interface Options {
  ticketSeconds?: number
}

async function setUp(t: Test, { ticketSeconds }: Options = {}) {
  const password = await hashPassword(alice.password, { cost: 4 })
  const users = new Map<unknown, { id: number; username: string; password: string }>([
    ['alice', { id: 1, username: 'alice', password }],
  ])
  const service = { findByUsername: (username: string | number) => users.get(username) }
  const app = await buildApp(service, ticketSeconds)
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  return { app, users, answer: expectAnswer(t, app), token: await login(t, app, '/login', alice) }
}

async function ticketOf(t: Test, app: FastifyInstance, headers: { authorization: string }) {
  const response = await app.inject({ method: 'POST', url: '/tickets', headers })
  const { ticket } = response.json<{ ticket: string }>()
  t.match(
    { status: response.statusCode, ticket, headers: response.headers },
    { status: 200, ticket: /^[\w-]{43}$/, headers: { 'cache-control': 'no-store' } },
  )
  return ticket
}

function open(t: Test, app: FastifyInstance, protocols: string[], headers = {}): WebSocket {
  const { port } = app.server.address() as AddressInfo
  const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`, protocols, { headers })
  t.teardown(() => {
    // One that was rejected still counts as opening, and says so.
    socket.on('error', () => undefined)
    socket.terminate()
  })
  return socket
}

/** The upgrade is rejected, and how. */
async function isRejected(t: Test, socket: WebSocket, body: unknown): Promise<void> {
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  const text = Buffer.concat(await response.toArray()).toString()
  const expected = { ...rejection(), 'www-authenticate': undefined, upgrade: undefined }
  t.match(
    { status: response.statusCode, headers: response.headers },
    { status: 401, headers: expected },
  )
  t.strictSame(JSON.parse(text), body)
}

t.test('a ticket opens one socket, and is rejected afterwards', async (t) => {
  const { app, token } = await setUp(t)
  const ticket = `ticket.${await ticketOf(t, app, token)}`
  const socket = open(t, app, ['chat', ticket])
  await once(socket, 'open')
  t.equal(socket.protocol, 'chat', 'the ticket is not sent back')
  socket.send('Hello!')
  const [message] = (await once(socket, 'message')) as [Buffer]
  t.equal(message.toString(), 'alice: Hello!')
  socket.close()
  await once(socket, 'close')
  await isRejected(t, open(t, app, ['chat', ticket]), wrongCredentials)
})

t.test('no ticket, a wrong one or a token gets a 401 instead of a socket', async (t) => {
  const { app, answer, token } = await setUp(t)
  await isRejected(t, open(t, app, ['chat']), noCredentials)
  await isRejected(t, open(t, app, []), noCredentials)
  await isRejected(t, open(t, app, ['chat', `ticket.${'A'.repeat(43)}`]), wrongCredentials)
  // A token in its place, or in its header.
  const jwt = token.authorization.slice('Bearer '.length)
  await isRejected(t, open(t, app, ['chat', `ticket.${jwt}`]), wrongCredentials)
  await isRejected(t, open(t, app, ['chat'], token), notAccepted)
  // And a ticket is good for nothing else.
  const ticket = await ticketOf(t, app, token)
  const headers = bearer(ticket)
  const challenged = { 'www-authenticate': /error="invalid_token"/ }
  const wrong = { error: 'Your authentication token is invalid.' }
  await answer({ method: 'POST', url: '/tickets', headers }, 401, wrong, challenged)
  await answer({ method: 'POST', url: '/tickets' }, 401, noCredentials, rejection())
})

t.test('of five requests with one ticket at once, one opens a socket', async (t) => {
  const { app, token } = await setUp(t)
  const ticket = `ticket.${await ticketOf(t, app, token)}`
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const socket = open(t, app, ['chat', ticket])
      return Promise.race([
        once(socket, 'open').then(() => 101),
        once(socket, 'unexpected-response').then(
          ([, response]) => (response as IncomingMessage).statusCode,
        ),
      ])
    }),
  )
  const found = outcomes.toSorted((a = 0, b = 0) => a - b)
  t.strictSame(found, [101, 401, 401, 401, 401])
})

t.test('an expired ticket gets a 401', async (t) => {
  const { app, token } = await setUp(t, { ticketSeconds: 0 })
  const ticket = await ticketOf(t, app, token)
  await isRejected(t, open(t, app, ['chat', `ticket.${ticket}`]), wrongCredentials)
})

t.test('the ticket of a deleted user gets a 401', async (t) => {
  const { app, users, token } = await setUp(t)
  const ticket = await ticketOf(t, app, token)
  users.clear()
  await isRejected(t, open(t, app, ['chat', `ticket.${ticket}`]), wrongCredentials)
})

t.test('the socket is closed when the token expires', async (t) => {
  const { app } = await setUp(t)
  const exp = Math.floor(Date.now() / 1000) + 2
  const short = bearer(app.jwtService.generateTokenWithClaims({ sub: 'alice', exp }))
  const socket = open(t, app, ['chat', `ticket.${await ticketOf(t, app, short)}`])
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
  t.strictSame([code, reason.toString()], [4401, 'session ended'])
  t.ok(Date.now() >= exp * 1000 - 50, 'not earlier')
})

t.test('a message that is too long closes its socket only', async (t) => {
  const { app, token } = await setUp(t)
  const socket = open(t, app, ['chat', `ticket.${await ticketOf(t, app, token)}`])
  await once(socket, 'open')
  socket.send('x'.repeat(65_537))
  const [code] = (await once(socket, 'close')) as [number]
  t.equal(code, 1009)
  await ticketOf(t, app, token)
})
