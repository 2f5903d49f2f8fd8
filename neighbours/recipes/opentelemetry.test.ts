// The recipe as its page tells it, with the SDK of OpenTelemetry.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { context, metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import Fastify from 'fastify'
import { authn, hashPassword } from 'fastify-authn'
import { memorySessions } from 'fastify-authn/sessions'
import { observeAuthentication } from './opentelemetry.js'

const exporter = new InMemorySpanExporter()
const traces = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 1e8 })
const meters = new MeterProvider({ readers: [reader] })
trace.setGlobalTracerProvider(traces)
metrics.setGlobalMeterProvider(meters)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const stop = observeAuthentication()

const password = 'wonderland-1865'
const alice = { id: 1, name: 'alice', password: await hashPassword(password, { cost: 4 }) }

async function start() {
  const app = Fastify()
  // What the instrumentation of Fastify or of node:http does.
  app.addHook('onRequest', (request, reply, next) => {
    const span = trace.getTracer('http').startSpan(`${request.method} ${request.url}`)
    reply.raw.on('finish', () => span.end())
    context.with(trace.setSpan(context.active(), span), next)
  })
  let now = 1_800_000_000
  await app.register(authn, {
    userService: {
      async findByUsername(name) {
        await new Promise(setImmediate)
        if (name === 'slow') await new Promise((resolve) => setTimeout(resolve, 400))
        return name === 'alice' ? alice : null
      },
    },
    userServiceTimeout: 0.2,
    jwt: { secret: randomBytes(64) },
    sessions: { store: memorySessions({ now: () => now }) },
    throttle: { perUsername: 2 },
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  const post = async (url: string, payload: object) => {
    const { body } = await app.inject({ method: 'POST', url, payload })
    return JSON.parse(body) as { token: string; refreshToken: string }
  }
  const wait = (seconds: number) => void (now += seconds)
  return { app, post, wait }
}

/** The spans of a request, its own and that of the authentication, since the last call. */
function spans() {
  const finished = exporter.getFinishedSpans()
  exporter.reset()
  const own = finished.find(({ name }) => name !== 'authenticate')
  const inner = finished.filter(({ name }) => name === 'authenticate')
  assert.equal(inner.length, 1)
  return { own, inner: inner[0] }
}

test('spans are children of the request, and name the user', async (t) => {
  const { app, post } = await start()
  t.after(() => app.close())
  exporter.reset()
  const { token } = await post('/login', { username: 'alice', password })
  const login = spans()
  assert.equal(login.inner?.attributes['auth.outcome'], 'login')
  assert.equal(login.own?.attributes['user.id'], '1')

  await app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })
  const { own, inner } = spans()
  assert.deepEqual(inner?.attributes, { 'auth.outcome': 'success', 'auth.authenticator': 'jwt' })
  assert.equal(inner?.parentSpanContext?.spanId, own?.spanContext().spanId)
  assert.equal(own?.attributes['user.id'], '1')
  assert.ok(inner !== undefined && inner.duration[0] === 0 && inner.duration[1] > 0)

  await app.inject('/me')
  const anonymous = spans()
  assert.equal(anonymous.inner?.attributes['auth.code'], 'ERR_AUTH_NO_CREDENTIALS')
  assert.equal(anonymous.inner?.status.code, SpanStatusCode.UNSET)
  assert.equal(anonymous.own?.attributes['user.id'], undefined)

  const slow = app.jwtService.generateToken('slow')
  await app.inject({ url: '/me', headers: { authorization: `Bearer ${slow}` } })
  assert.equal(spans().inner?.status.code, SpanStatusCode.ERROR)
})

test('metrics count outcomes, and nothing secret is in them', async (t) => {
  const { app, post, wait } = await start()
  t.after(() => app.close())
  exporter.reset()
  const { token, refreshToken } = await post('/login', { username: 'alice', password })
  for (let turn = 0; turn < 3; turn += 1) {
    await post('/login', { username: 'mallory', password: 'a guess' })
  }
  const next = await post('/login/refresh', { refreshToken })
  wait(60)
  await post('/login/refresh', { refreshToken })
  await meters.forceFlush()
  const all =
    measured
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
  const counts = new Map<string, unknown>()
  for (const { descriptor, dataPoints } of all) {
    for (const { attributes, value } of dataPoints) {
      const { 'auth.outcome': outcome, 'auth.code': code } = attributes
      const name = [descriptor.name, outcome, code].filter((part) => part !== undefined).join(' ')
      counts.set(name, Object(value).count ?? value)
    }
  }
  const throttled = 'throttled ERR_AUTH_TOO_MANY_ATTEMPTS'
  assert.equal(counts.get('auth.requests login'), 2, 'with that of the other test')
  assert.equal(counts.get('auth.requests failure ERR_AUTH_INVALID_CREDENTIALS'), 2)
  assert.equal(counts.get(`auth.requests ${throttled}`), 1)
  assert.equal(counts.get(`auth.duration ${throttled}`), 1)
  assert.equal(counts.get('auth.requests failure ERR_AUTH_REFRESH_REUSED'), 1)
  assert.equal(counts.get('auth.reused_refresh_tokens'), 1)

  const reported = JSON.stringify([
    all,
    exporter
      .getFinishedSpans()
      .map(({ name, attributes, events }) => ({ name, attributes, events })),
  ])
  for (const secret of [token, refreshToken, next.refreshToken, password, 'a guess', 'mallory']) {
    assert.ok(!reported.includes(secret))
  }

  stop()
  exporter.reset()
  await app.inject('/me')
  assert.deepEqual(
    exporter.getFinishedSpans().map(({ name }) => name),
    ['GET /me'],
  )
})
