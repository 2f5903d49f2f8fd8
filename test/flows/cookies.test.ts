import websocket from '@fastify/websocket'
import Fastify from 'fastify'
import t from 'tap'
import {
  anyOf,
  authn,
  basicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
} from '../../lib/index.js'
import { appWith, basic, passwords, standardOptions } from '../helpers/app.js'
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

const crossSite = {
  status: 403,
  error: 'Requests from other sites are not accepted.',
  challenge: null,
}
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
  const user = async (url: string, headers: Record<string, string>): Promise<unknown> => {
    const response = await post(url, headers)
    return response.statusCode === 200
      ? response.json<{ user: string }>().user
      : response.statusCode
  }
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
    t.equal(await user(url, headers), result, `${url} ${Object.keys(headers).join()}`)
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
  for (const url of ['/me', '/both'])
    t.equal((await app.inject({ url, headers: { cookie } })).statusCode, 401)
  t.equal(take(), 0)
  const headers = { cookie, ...evil }
  const anonymous = await app.inject({ method: 'POST', url: '/optional', headers })
  t.equal(anonymous.body, '{"user":null,"context":null}')
  t.equal(anonymous.headers['cache-control'], undefined)
})

t.test('a WebSocket with a cookie is accepted from own and trusted origins only', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(websocket)
  await app.register(authn, {
    ...standardOptions(),
    cookies: { trustedOrigins: ['http://partner.example'] },
  })
  let opened = 0
  await app.register(async (scope) => {
    scope.get('/chat', { websocket: true, config: { auth: true } }, (socket, request) => {
      opened += 1
      socket.send(String(nameOf(request)))
    })
  })
  const port = await listen(app)
  const own = `http://127.0.0.1:${port}`
  const cookie = `token=${app.jwtService.generateToken('alice')}`
  const rows: [headers: Record<string, string>, status: number | null][] = [
    [{ cookie }, null],
    [{ cookie, origin: own }, null],
    [{ cookie, origin: 'http://partner.example' }, null],
    [{ cookie, 'sec-fetch-site': 'same-origin' }, null],
    [{ cookie, ...evil }, 403],
    [{ cookie, origin: `http://localhost:${port}` }, 403],
    [{ cookie, origin: 'null' }, 403],
    [{ cookie, origin: own, 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: own }, 401],
    [{ ...evil }, 401],
  ]
  for (const [headers, status] of rows) {
    opened = 0
    const result = await upgrade(port, '/chat', headers, 1)
    const title = JSON.stringify({ ...headers, cookie: 'cookie' in headers })
    if (status === null) t.strictSame(result, { messages: ['alice'] }, title)
    else t.equal('refused' in result && result.refused.statusCode, status, title)
    t.equal(opened, status === null ? 1 : 0, 'the handler')
  }
})

t.test('a WebSocket is accepted from the origin of a proxy that says wss', async (t) => {
  const app = Fastify({ trustProxy: true })
  t.teardown(() => app.close())
  await app.register(websocket)
  await app.register(authn, { ...standardOptions(), cookies: true })
  await app.register(async (scope) => {
    scope.get('/chat', { websocket: true, config: { auth: true } }, (socket, request) =>
      socket.send(String(nameOf(request))),
    )
  })
  const port = await listen(app)
  const cookie = `__Host-token=${app.jwtService.generateToken('alice')}`
  const proxied = { cookie, 'x-forwarded-host': 'shop.example', 'x-forwarded-proto': 'wss' }
  const own = await upgrade(port, '/chat', { ...proxied, origin: 'https://shop.example' }, 1)
  t.strictSame(own, { messages: ['alice'] })
  const other = await upgrade(port, '/chat', { ...proxied, origin: 'http://shop.example' }, 1)
  t.equal('refused' in other && other.refused.statusCode, 403)
  const local = { origin: 'http://localhost:3000', cookie }
  const forwarded = { 'x-forwarded-host': 'localhost:3000', 'x-forwarded-proto': 'ws' }
  const dev = await upgrade(port, '/chat', { ...local, ...forwarded }, 1)
  t.strictSame(dev, { messages: ['alice'] })
})
