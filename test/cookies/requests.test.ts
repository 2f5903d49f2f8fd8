import websocket from '@fastify/websocket'
import Fastify, { type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  authn,
  basicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { appWith, basic, passwords, standardOptions } from '../helpers/app.js'
import { crossSite } from '../helpers/cookies.js'
import {
  basicChallenge,
  bearerChallenge,
  isRejection,
  listen,
  nameOf,
  probe,
  messages,
} from '../helpers/flows.js'
import { upgrade } from '../helpers/websocket.js'

const evil = { origin: 'https://evil.example' }

t.test('a route with several authenticators accepts a cookie without a header', async (t) => {
  const { handler, take } = probe()
  const apiKey: Authenticator = {
    accepts: ({ headers }) => 'x-api-key' in headers,
    authenticate: ({ headers }) => (headers['x-api-key'] === 'k' ? { name: 'robot' } : null),
  }
  const options = {
    ...standardOptions(),
    cookies: true as const,
    authenticators: { apiKey, nested: anyOf(anyOf(jwtAuthenticator(), basicAuthenticator())) },
  }
  const app = await appWith(t, options, (app) => {
    app.post('/both', { config: { auth: { use: ['jwt', 'basic'] } } }, handler)
    app.post('/key', { config: { auth: { use: ['apiKey', 'jwt'] } } }, handler)
    app.post('/nested', { config: { auth: { use: 'nested' } } }, handler)
    app.post('/basic', { config: { auth: { use: 'basic' } } }, handler)
  })
  const cookie = `token=${app.jwtService.generateToken('alice')}`
  const post = (url: string, headers: Record<string, string>) =>
    app.inject({ method: 'POST', url, headers })
  const bob = basic('bob', passwords.bob)
  const robot = { 'x-api-key': 'k' }
  const rows: [url: string, headers: Record<string, string>, result: unknown][] = [
    ['/both', { cookie }, 'alice'],
    ['/nested', { cookie }, 'alice'],
    ['/key', { cookie }, 'alice'],
    ['/key', { cookie, ...robot }, 'robot'],
    // No cookie decides here, so no origin does.
    ['/key', { cookie, ...robot, ...evil }, 'robot'],
    ['/both', { cookie, ...bob }, 'bob'],
    ['/both', { cookie, ...basic('bob', 'wrong') }, 401],
    ['/both', { cookie, authorization: 'Negotiate x' }, 401],
    ['/basic', { cookie }, 401],
    ['/both', { cookie: 'token=broken' }, 401],
  ]
  for (const [url, headers, result] of rows) {
    const { statusCode, body } = await post(url, headers)
    const { user = statusCode } = JSON.parse(body) as { user?: unknown }
    t.equal(user, result, `${url} ${Object.keys(headers).join()}`)
  }
  take()
  for (const url of ['/both', '/key', '/nested']) {
    isRejection(t, await post(url, { cookie, ...evil }), crossSite, url)
  }
  isRejection(t, await post('/both', { cookie: `${cookie}; ${cookie}` }), {
    error: messages.none,
    challenge: [bearerChallenge, basicChallenge],
  })
  t.equal(take(), 0)
})

t.test('a registration without cookies ignores them', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/me', { config: { auth: true } }, handler)
    app.get('/both', { config: { auth: { use: ['jwt', 'basic'] } } }, handler)
    app.post('/optional', { config: { auth: 'optional' } }, handler)
  })
  const token = app.jwtService.generateToken('alice')
  const cookie = `token=${token}; __Host-token=${token}`
  for (const url of ['/me', '/both']) {
    t.equal((await app.inject({ url, headers: { cookie } })).statusCode, 401, url)
  }
  t.equal(take(), 0)
  const headers = { cookie, ...evil }
  const anonymous = await app.inject({ method: 'POST', url: '/optional', headers })
  t.equal(anonymous.body, '{"user":null,"context":null}')
  t.equal(anonymous.headers['cache-control'], undefined)
})

/** An app whose WebSocket `/chat` sends the name of its user. */
async function chat(t: Test, options: Partial<AuthnOptions>, server: FastifyServerOptions = {}) {
  const app = Fastify(server)
  t.teardown(() => app.close())
  await app.register(websocket)
  await app.register(authn, { ...standardOptions(), ...options })
  let opened = 0
  await app.register(async (scope) => {
    scope.get('/chat', { websocket: true, config: { auth: true } }, (socket, request) => {
      opened += 1
      socket.send(String(nameOf(request)))
    })
  })
  const port = await listen(app)
  return {
    port,
    token: app.jwtService.generateToken('alice'),
    /** The status of an upgrade, or 101 if alice is in. */
    async statusOf(headers: Record<string, string>): Promise<number> {
      opened = 0
      const result = await upgrade(port, '/chat', headers, 1)
      const isOpen = 'messages' in result
      if (isOpen) t.strictSame(result.messages, ['alice'])
      t.equal(opened, isOpen ? 1 : 0, 'the handler')
      return isOpen ? 101 : result.rejected.statusCode
    },
  }
}

t.test('a WebSocket with a cookie is accepted from own and trusted origins only', async (t) => {
  const trustedOrigins = ['http://partner.example']
  const { port, token, statusOf } = await chat(t, { cookies: { trustedOrigins } })
  const own = `http://127.0.0.1:${port}`
  const cookie = `token=${token}`
  const rows: [headers: Record<string, string>, status: number][] = [
    [{ cookie }, 101],
    [{ cookie, origin: own }, 101],
    [{ cookie, origin: 'http://partner.example' }, 101],
    [{ cookie, 'sec-fetch-site': 'same-origin' }, 101],
    [{ cookie, ...evil }, 403],
    [{ cookie, origin: `http://localhost:${port}` }, 403],
    [{ cookie, origin: 'null' }, 403],
    [{ cookie, origin: own, 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: own }, 401],
    [{ ...evil }, 401],
  ]
  for (const [headers, status] of rows) {
    const title = JSON.stringify({ ...headers, cookie: 'cookie' in headers })
    t.equal(await statusOf(headers), status, title)
  }
})

t.test('a WebSocket is accepted from the origin of a proxy that says wss', async (t) => {
  const { token, statusOf } = await chat(t, { cookies: true }, { trustProxy: true })
  const cookie = `__Host-token=${token}`
  for (const [host, protocol, origin, status] of [
    ['shop.example', 'wss', 'https://shop.example', 101],
    ['shop.example', 'wss', 'http://shop.example', 403],
    ['localhost:3000', 'ws', 'http://localhost:3000', 101],
  ] as const) {
    const proxied = { 'x-forwarded-host': host, 'x-forwarded-proto': protocol }
    t.equal(await statusOf({ cookie, origin, ...proxied }), status, `${protocol} ${origin}`)
  }
})
