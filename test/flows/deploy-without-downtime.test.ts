// program: its own
// A new process takes over from an old one: docs/guides/deployment.md. Both share keys and the session store.
import type { AddressInfo } from 'node:net'
import { PGlite } from '@electric-sql/pglite'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { sqlSessions } from '../../lib/sessions/index.js'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { passwords, secret, userService } from '../helpers/app.js'

const database = new PGlite()
await database.exec(sqlSchema('shop'))
t.teardown(() => database.close())
const store = () =>
  sqlSessions({
    query: (text, params) => database.query(text, params as unknown[]),
    prefix: 'shop',
  })

/** A process of the app. */
async function start(slow: Promise<void>): Promise<FastifyInstance> {
  // Else close() waits 72 seconds for connections that a client keeps open.
  const app = Fastify({ keepAliveTimeout: 500 })
  await app.register(authn, {
    userService: userService(),
    jwt: { secret },
    sessions: { store: store() },
  })
  app.get('/health', { config: { auth: false } }, () => 'ok')
  app.get('/me', { config: { auth: true } }, ({ user }) => user)
  app.get('/slow', { config: { auth: true } }, async () => {
    await slow
    return 'done'
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app
}

async function send(app: FastifyInstance, path: string, token = '', body?: object) {
  const { port } = app.server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text }
}

interface Tokens {
  readonly token: string
  readonly refreshToken: string
}

t.test('no request fails, and no user is logged out', async (t) => {
  let finish = (): void => undefined
  const slow = new Promise<void>((resolve) => {
    finish = resolve
  })
  const old = await start(slow)
  const credentials = { username: 'alice', password: passwords.alice }
  const login = await send(old, '/login', '', credentials)
  t.equal(login.status, 200)
  const { token, refreshToken } = JSON.parse(login.text) as Tokens
  const isUnderWay = new Promise((resolve) => old.server.once('request', resolve))
  const underWay = send(old, '/slow', token)
  await isUnderWay

  const next = await start(slow)
  t.teardown(() => next.close())
  t.equal((await send(next, '/health')).status, 200)
  const closed = old.close()
  t.equal((await send(next, '/me', token)).status, 200, 'a token of the old process')
  const refreshed = await send(next, '/login/refresh', '', { refreshToken })
  t.equal(refreshed.status, 200)
  t.equal((await send(next, '/me', (JSON.parse(refreshed.text) as Tokens).token)).status, 200)
  finish()
  t.strictSame(await underWay, { status: 200, text: 'done' })
  await closed
})
