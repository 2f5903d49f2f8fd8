import assert from 'node:assert/strict'
import { test } from 'node:test'
import awsLambdaFastify, { type LambdaFastifyOptions } from '@fastify/aws-lambda'
import Fastify, { type FastifyServerOptions } from 'fastify'
import authn, { configFromEnv, type AuthnOptions } from 'fastify-authn'
import { as, credentials, users } from './users.js'

interface Call {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly multiValueHeaders?: Record<string, string[]>
  readonly body?: string
}

const client = '203.0.113.7'

/** Events of a function URL or an HTTP API, of a REST API, and of a load balancer. */
const events = {
  http: ({ method = 'GET', path, headers = {}, body }: Call) => {
    const { cookie, ...others } = headers
    return {
      version: '2.0',
      rawPath: path,
      headers: others,
      ...(cookie !== undefined && { cookies: cookie.split('; ') }),
      requestContext: { http: { method, sourceIp: client } },
      body,
    }
  },
  rest: ({ method = 'GET', path, headers = {}, multiValueHeaders, body }: Call) => ({
    httpMethod: method,
    path,
    headers,
    multiValueHeaders,
    requestContext: { identity: { sourceIp: client } },
    body,
  }),
  balancer: ({ method = 'GET', path, headers = {}, multiValueHeaders, body }: Call) => ({
    httpMethod: method,
    path,
    ...(multiValueHeaders === undefined ? { headers } : { multiValueHeaders }),
    requestContext: { elb: { targetGroupArn: 'arn' } },
    body,
  }),
}

interface Reply {
  statusCode: number
  headers: Record<string, string>
  multiValueHeaders?: Record<string, string[]>
  cookies?: string[]
  body: string
}

async function instance(
  options: Pick<AuthnOptions, 'cookies' | 'sessions'> = {},
  server: FastifyServerOptions = {},
  lambda: LambdaFastifyOptions = {},
) {
  const app = Fastify(server)
  await app.register(authn, { ...configFromEnv(), userService: users, ...options })
  app.get('/me', { config: { auth: true } }, (request) => request.user.name)
  app.get('/address', (request) => request.ip)
  const handler = awsLambdaFastify(app, lambda)
  await app.ready()
  const call = (event: object) => handler(event, {} as never) as Promise<Reply>
  return { app, call }
}

const json = { 'content-type': 'application/json' }
const login = { method: 'POST', path: '/login', headers: json, body: JSON.stringify(credentials) }

test('AWS Lambda: the sample', async () => {
  const { handler } = await import('./aws-lambda.js')
  const call = (event: object) => handler(event, {} as never) as Promise<Reply>
  const { token } = JSON.parse((await call(events.http(login))).body) as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await call(events.http({ path: '/me', headers }))
  assert.deepEqual(JSON.parse(body), { name: 'alice', address: client })
  assert.equal((await call(events.http({ path: '/me' }))).statusCode, 401)
})

test('AWS Lambda: every kind of event is authenticated', async () => {
  const { app, call } = await instance()
  for (const event of Object.values(events)) {
    const headers = as('alice', app)
    assert.equal((await call(event({ path: '/me', headers }))).body, 'alice')
    assert.equal((await call(event({ path: '/me' }))).statusCode, 401)
    assert.equal((await call(event(login))).statusCode, 200)
  }
  const { authorization } = as('alice', app)
  const multiValueHeaders = { authorization: [authorization, authorization] }
  const twice = { path: '/me', headers: { authorization }, multiValueHeaders }
  assert.equal((await call(events.rest(twice))).statusCode, 401)
})

test('AWS Lambda: the address of the client', async () => {
  const address = async (kind: keyof typeof events, trustProxy?: boolean | string) => {
    const { call } = await instance({}, trustProxy === undefined ? {} : { trustProxy })
    // What the client has sent, and what AWS has appended.
    const headers = { 'x-forwarded-for': `198.51.100.66, ${client}` }
    return (await call(events[kind]({ path: '/address', headers }))).body
  }
  for (const kind of ['http', 'rest'] as const) {
    assert.equal(await address(kind), client)
    assert.equal(await address(kind, true), '198.51.100.66', 'what the client likes')
  }
  assert.equal(await address('balancer'), '127.0.0.1', 'the same one for all clients')
  assert.equal(await address('balancer', 'loopback'), client)
})

/** The cookies that a client gets, as name and value. */
function cookiesOf({ cookies, multiValueHeaders, headers }: Reply, isMultiValue = true) {
  const all = cookies ?? (isMultiValue ? multiValueHeaders?.['set-cookie'] : undefined)
  return (all ?? [headers['set-cookie'] ?? '']).map((cookie) => cookie.split(';')[0] ?? '')
}

test('AWS Lambda: cookies', async () => {
  const both = { cookies: true, sessions: true } as const
  for (const kind of ['http', 'rest'] as const) {
    const { call } = await instance(both)
    const cookies = cookiesOf(await call(events[kind](login)))
    assert.equal(cookies.length, 2)
    const headers = { cookie: cookies.join('; ') }
    assert.equal((await call(events[kind]({ path: '/me', headers }))).body, 'alice')
  }
  const { call } = await instance(both)
  assert.deepEqual(cookiesOf(await call(events.balancer(login)), false), [''], 'they are lost')
  const { call: multi } = await instance(both, {}, { albMultiValueHeaders: true })
  const multiValueHeaders = { 'content-type': ['application/json'] }
  const reply = await multi(events.balancer({ ...login, multiValueHeaders }))
  const cookie = [cookiesOf(reply).join('; ')]
  const event = events.balancer({ path: '/me', multiValueHeaders: { cookie } })
  assert.equal((await multi(event)).body, 'alice')

  const older = {
    ...login,
    headers: { ...json, host: 'app.example', origin: 'https://app.example' },
  }
  assert.equal((await call(events.http(older))).statusCode, 403)
  const trusted = { ...both, cookies: { trustedOrigins: ['https://app.example'] } }
  assert.equal((await (await instance(trusted)).call(events.http(older))).statusCode, 200)
})

test('AWS Lambda: sessions in memory are unknown to other instances', async () => {
  const [one, other] = [await instance({ sessions: true }), await instance({ sessions: true })]
  const { refreshToken } = JSON.parse((await one.call(events.http(login))).body) as object & {
    refreshToken: string
  }
  const body = JSON.stringify({ refreshToken })
  const refresh = events.http({ ...login, path: '/login/refresh', body })
  assert.equal((await other.call(structuredClone(refresh))).statusCode, 401)
  assert.equal((await one.call(refresh)).statusCode, 200)
})
