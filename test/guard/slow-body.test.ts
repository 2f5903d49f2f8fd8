import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import Fastify, { type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { authn } from '../../lib/index.js'
import { userFromContext } from '../../lib/request/context.js'
import { basic, bearer, cost, logLines, passwords } from '../helpers/app.js'
import { secret, users, userService } from '../helpers/app.js'
import { movableClock } from '../helpers/load.js'
import { eventsOf } from '../helpers/sessions.js'
import { hmacToken } from '../helpers/tokens.js'

type Named = { name: string } | null

/** An app whose clocks a test sets forward while a request waits for its body. */
async function setting(t: Test, server: object = {}) {
  const clock = movableClock(t)
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead, configurable: true })
  const list = users.map((each) => ({ ...each }))
  const service = userService(list)
  const { lines, stream } = logLines()
  const app = Fastify({ ...server, logger: { stream } })
  app.addHttpMethod('GET', { hasBody: true })
  t.teardown(() => app.close())
  const ran: unknown[] = []
  const upload = async ({ headers, raw }: FastifyRequest): Promise<void> => {
    if (headers['content-type'] === 'multipart/form-data') await raw.toArray()
  }
  app.post('/declared-before', { config: { auth: true }, preValidation: upload }, () =>
    ran.push('/'),
  )
  app.addHook('preHandler', async ({ url, user }) => {
    if (url === '/declared-before') ran.push((user as Named)?.name)
  })
  await app.register(authn, {
    userService: service,
    jwt: { secret, validAfterField: 'validAfter' },
    hashing: { cost },
    access: { rolesOf: (user) => (user as { roles?: string[] }).roles ?? ['writer'] },
    apiKeys: { prefix: 'acme', store: memoryApiKeys({ prefix: 'slow' }) },
  })
  // As plugins for uploads do, which read the body in a hook.
  app.addContentTypeParser('multipart/form-data', (_request, _body, done) => done(null))
  app.addHook('preValidation', async (request) => {
    if (request.url !== '/declared-before') await upload(request)
  })
  let passed: () => void = () => undefined
  app.addHook('onRequest', async ({ extra }) => {
    extra.trace = 'kept'
    passed()
  })
  app.addHook('onRoute', (options) => {
    if (options.url === '/replaced') options.preValidation = async () => undefined
  })
  const marks = {
    '/': true,
    '/replaced': true,
    '/optional': 'optional',
    '/try': 'try',
    '/role': { role: 'writer' },
    '/any': { use: ['jwt', 'basic', 'apiKey'] },
    '/key-try': { mode: 'try', use: 'apiKey' },
  } as const
  for (const [url, auth] of Object.entries(marks)) {
    app.all(url, { config: { auth } }, (request) => {
      const user = request.user as Named
      const { extra } = request
      ran.push(url)
      return {
        user: user?.name ?? null,
        context: userFromContext<{ name: string }>()?.name ?? null,
        claims: extra.jwtClaims !== undefined,
        key: extra.apiKey !== undefined,
        authenticator: extra.authenticator ?? null,
        trace: extra.trace,
      }
    })
  }
  await app.ready()
  const successes = eventsOf(t, 'success')
  const wait = async (milliseconds: number): Promise<void> => {
    ahead += milliseconds
    await clock.advance(milliseconds)
  }
  /** Resolves when the guard has let the next request pass. */
  const nextPass = (): Promise<void> => new Promise((resolve) => (passed = resolve))
  async function slow(
    url: string,
    headers: Record<string, string>,
    meanwhile: () => unknown = () => undefined,
    milliseconds = 2100,
    method: 'GET' | 'POST' = 'POST',
  ) {
    ran.length = successes.length = lines.length = 0
    const body = new PassThrough()
    body.write('{"text":')
    const isIn = nextPass()
    const json = { 'content-type': 'application/json', ...headers }
    const response = app.inject({ method, url, headers: json, payload: body })
    await isIn
    await meanwhile()
    await wait(milliseconds)
    body.end('"x"}')
    const { statusCode, body: text } = await response
    return { statusCode, body: JSON.parse(text) as object, ran: ran.length }
  }
  const token = (life = 60): Record<string, string> => {
    const iat = Date.now() / 1000
    const claims = { sub: 'alice', iat, exp: iat + life }
    return bearer(hmacToken({ alg: 'HS256' }, claims, secret))
  }
  return { app, slow, wait, nextPass, token, list, service, successes, lines, ran }
}

const anonymous = { user: null, context: null, claims: false, key: false, authenticator: null }

t.test('a request with a late body is rejected if its token expired meanwhile', async (t) => {
  const { slow, token, list, service, successes, lines } = await setting(t)
  const [alice] = list
  const again = await slow('/', token())
  t.match(again, { statusCode: 200, body: { user: 'alice', context: 'alice', trace: 'kept' } })
  t.equal(service.asked.length, 2, 'the user is looked up again')
  t.equal(successes.length, 1, 'one event')

  for (const url of ['/', '/optional', '/any']) {
    t.match(await slow(url, token(2)), { statusCode: 401, ran: 0 }, url)
    const found = lines.find(({ msg }) => msg === 'Request rejected')
    t.match(found, { code: 'ERR_AUTH_JWT_EXPIRED' })
  }
  const upload = { 'content-type': 'multipart/form-data' }
  t.match(await slow('/', { ...token(2), ...upload }), { statusCode: 401, ran: 0 })
  t.match(await slow('/', { ...token(), ...upload }), { statusCode: 200, ran: 1 })

  const before = '/declared-before'
  t.match(await slow(before, token(2)), { statusCode: 401, ran: 0 }, 'no preHandler hook has run')
  t.match(await slow(before, { ...token(2), ...upload }), { statusCode: 401, ran: 0 })
  t.match(await slow(before, { ...token(), ...upload }), { statusCode: 200, ran: 2 })

  const replaced = await slow('/replaced', token(2))
  t.match(replaced, { statusCode: 401, ran: 0 }, 'whatever an onRoute hook does with its hooks')

  const get = { ...token(2), 'transfer-encoding': 'chunked' }
  t.match(await slow('/', get, () => undefined, 2100, 'GET'), { statusCode: 401, ran: 0 })

  const tried = await slow('/try', token(2))
  t.match(tried, { statusCode: 200, body: { ...anonymous, trace: 'kept' } })

  const demote = (): void => void Object.assign(alice ?? {}, { roles: [] })
  t.match(await slow('/role', token(), demote), { statusCode: 403, ran: 0 })
  Object.assign(alice ?? {}, { roles: ['writer'] })
  t.match(await slow('/role', token()), { statusCode: 200 })
  const rename = (): void => void Object.assign(alice ?? {}, { name: 'left' })
  t.match(await slow('/', token(), rename), { statusCode: 401, ran: 0 })
})

t.test('a request is not authenticated again without a body or within two seconds', async (t) => {
  const { app, slow, token, service, wait, nextPass } = await setting(t)
  t.match(await slow('/', token(1), undefined, 1500), { statusCode: 200 })
  t.equal(service.asked.length, 1)
  for (const method of ['GET', 'HEAD'] as const) {
    const isIn = nextPass()
    const response = app.inject({ method, url: '/', headers: token() })
    await isIn
    await wait(5000)
    t.equal((await response).statusCode, 200)
  }
  t.equal(service.asked.length, 3)
  t.match(await slow('/optional', {}), { statusCode: 200, body: anonymous })
  t.equal(service.asked.length, 3)
})

t.test('a slow request gets a 401 after a new password or a revoked API key', async (t) => {
  const { app, slow, list } = await setting(t)
  const [alice, bob] = list
  const byPassword = basic('alice', passwords.alice)
  t.match(await slow('/any', byPassword), {
    statusCode: 200,
    body: { user: 'alice', authenticator: 'basic' },
  })
  const change = (): void => void Object.assign(alice ?? {}, { password: bob?.password })
  t.match(await slow('/any', byPassword, change), { statusCode: 401, ran: 0 })

  const about = { owner: 'bob', name: 'job', scopes: [], expiresAt: null }
  for (const url of ['/any', '/key-try']) {
    const { key, id } = await app.authn.apiKeys.issue(about)
    t.match(await slow(url, bearer(key)), {
      statusCode: 200,
      body: { user: 'bob', context: 'bob', key: true, authenticator: 'apiKey' },
    })
    const revoked = await slow(url, bearer(key), () =>
      app.authn.apiKeys.revoke(id, { owner: 'bob' }),
    )
    t.match(revoked, url === '/any' ? { statusCode: 401, ran: 0 } : { body: anonymous })
  }
})

t.test('a slow request over HTTP/1.1 is authenticated again', async (t) => {
  const { app, token, wait, nextPass, ran } = await setting(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const chunked = 'transfer-encoding: chunked\r\n\r\n2\r\n{"\r\n'
  const expecting = 'content-length: 7\r\nexpect: 100-continue\r\n\r\n{"'
  const rest = { [chunked]: '5\r\na":1}\r\n0\r\n\r\n', [expecting]: 'a":1}' }
  for (const [first, second] of Object.entries(rest)) {
    for (const [life, status] of [
      [2, 401],
      [600, 200],
    ] as const) {
      const isIn = nextPass()
      const socket = connect(port, '127.0.0.1')
      const { authorization } = token(life)
      const head = `POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n`
      socket.write(head + first)
      let answer = ''
      socket.on('data', (chunk) => (answer += String(chunk)))
      await isIn
      await wait(2100)
      socket.write(second)
      await once(socket, 'close')
      t.match(answer, `HTTP/1.1 ${status} `)
    }
  }
  t.equal(ran.length, 2)
  const isIn = nextPass()
  const socket = connect(port, '127.0.0.1')
  const { authorization } = token()
  socket.write(
    `POST / HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\ncontent-length: 9\r\n\r\n{`,
  )
  await isIn
  await wait(2100)
  socket.destroy()
  await app.close()
  t.equal(ran.length, 2, 'a client that leaves runs nothing')
})

t.test('a slow request over HTTP/2 without a length is authenticated again', async (t) => {
  const { app, token, wait, nextPass, ran } = await setting(t, { http2: true })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => session.destroy())
  for (const [life, status] of [
    [2, 401],
    [600, 200],
  ] as const) {
    const isIn = nextPass()
    const { authorization } = token(life)
    const request = session.request({
      ':method': 'POST',
      ':path': '/',
      'content-type': 'application/json',
      authorization,
    })
    request.write('{')
    await isIn
    await wait(2100)
    request.end('}')
    const [headers] = (await once(request, 'response')) as [Record<string, unknown>]
    t.equal(headers[':status'], status)
    request.resume()
  }
  t.equal(ran.length, 1)
})
