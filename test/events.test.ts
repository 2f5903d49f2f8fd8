import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import t, { type Test } from 'tap'
import { channels, reportRefusal, reportSuccess, startClock } from '../lib/events.js'
import { channels as exported } from '../lib/index.js'
import { AuthenticationError } from '../lib/errors.js'
import { fakeRequest } from './helpers/load.js'

const names = ['success', 'failure', 'login', 'throttled', 'overloaded'].map(
  (name) => `fastify-authn:${name}`,
)

interface Published {
  readonly name: string
  readonly message: Record<string, unknown>
}

/** Subscribes to channels until the test ends. */
function listenTo(t: Test, ...wanted: string[]): Published[] {
  const published: Published[] = []
  for (const name of wanted) {
    const listener = (message: unknown): void =>
      void published.push({ name, message: message as Record<string, unknown> })
    subscribe(name, listener)
    t.teardown(() => unsubscribe(name, listener))
  }
  return published
}

const user = { name: 'alice' }

t.test('without subscribers there is no clock and no event, but the log', async (t) => {
  const clock = t.capture(performance, 'now')
  const publishing = names.map((name) => t.capture(channel(name), 'publish'))
  const { request, lines } = fakeRequest()
  t.equal(startClock(), 0)
  reportSuccess(request, user, 'jwt', 0)
  reportSuccess(request, user, 'login', 0)
  reportRefusal(request, new AuthenticationError('auth.jwt-invalid'), 'jwt', 0)
  reportRefusal(request, new AuthenticationError('auth.overloaded'), 'basic', 0)
  reportRefusal(request, new AuthenticationError('auth.too-many-attempts'), 'login', 0)
  t.equal(clock().length, 0)
  for (const calls of publishing) t.equal(calls().length, 0)
  t.equal(lines.length, 3)
})

t.test('one subscriber, of whichever channel, starts the clock', async (t) => {
  for (const name of names) {
    await t.test(name, async (t) => {
      t.equal(startClock(), 0)
      listenTo(t, name)
      const before = performance.now()
      const started = startClock()
      t.ok(started >= before && started <= performance.now())
    })
  }
  t.equal(startClock(), 0, 'and the last one to leave stops it')
})

t.test('a success is told to its channel, with everything about it', async (t) => {
  const published = listenTo(t, ...names)
  const { request, lines } = fakeRequest()
  reportSuccess(request, user, 'jwt', performance.now() - 5)
  reportSuccess(request, user, 'login', performance.now() - 5)
  t.strictSame(
    published.map(({ name }) => name),
    ['fastify-authn:success', 'fastify-authn:login'],
  )
  const authenticators = ['jwt', 'login']
  for (const [index, { message }] of published.entries()) {
    const { duration, ...rest } = message
    t.strictSame(Object.keys(rest), ['request', 'user', 'authenticator', 'accepts'])
    t.equal(message.request, request)
    t.equal(message.user, user)
    t.equal(message.authenticator, authenticators[index])
    t.ok(typeof duration === 'number' && duration >= 5, 'milliseconds')
  }
  t.strictSame(lines, [], 'and not logged')
})

t.test('a refusal is told to the channel of its kind, and logged', async (t) => {
  const rows: [error: AuthenticationError, name: string, level: string][] = [
    [new AuthenticationError('auth.invalid-credentials'), 'failure', 'info'],
    [new AuthenticationError('auth.no-credentials-provided'), 'failure', 'info'],
    [new AuthenticationError('This key was revoked.'), 'failure', 'info'],
    [new AuthenticationError('auth.too-many-attempts'), 'throttled', 'warn'],
    [new AuthenticationError('auth.overloaded'), 'overloaded', 'warn'],
    [
      new AuthenticationError('auth.overloaded', { code: 'ERR_AUTH_USER_SERVICE_TIMEOUT' }),
      'overloaded',
      'warn',
    ],
  ]
  for (const [error, name, level] of rows) {
    await t.test(error.code, async (t) => {
      const published = listenTo(t, ...names)
      const { request, lines } = fakeRequest()
      reportRefusal(request, error, 'basic', performance.now() - 5)
      t.equal(published.length, 1)
      const [event] = published
      t.equal(event?.name, `fastify-authn:${name}`)
      const { duration, request: told, ...rest } = event?.message ?? {}
      t.equal(told, request)
      t.strictSame(rest, { code: error.code, authenticator: 'basic', accepts: [] })
      t.ok(typeof duration === 'number' && duration >= 5)
      t.strictSame(lines, [
        { level, args: [{ code: error.code, authenticator: 'basic' }, 'Request rejected'] },
      ])
    })
  }
})

t.test('a refusal of another version of the package, with a code unknown here', async (t) => {
  const published = listenTo(t, ...names)
  const { request, lines } = fakeRequest()
  const error = { code: 'ERR_AUTH_REVOKED', statusCode: 503 } as unknown as AuthenticationError
  reportRefusal(request, error, 'jwt', 1)
  t.strictSame(
    published.map(({ name, message }) => [name, message.code]),
    [['fastify-authn:failure', 'ERR_AUTH_REVOKED']],
  )
  t.equal(lines[0]?.level, 'info')
})

t.test('the log has the reason, where it is a text', async (t) => {
  const reasons: [cause: unknown, logged: object][] = [
    ['exp', { reason: 'exp' }],
    [new Error('with a token in it'), {}],
    [undefined, {}],
  ]
  for (const [cause, logged] of reasons) {
    const { request, lines } = fakeRequest()
    reportRefusal(request, new AuthenticationError('auth.jwt-invalid', { cause }), 'jwt', 0)
    t.strictSame(lines[0]?.args[0], {
      code: 'ERR_AUTH_JWT_INVALID',
      authenticator: 'jwt',
      ...logged,
    })
  }
})

t.test('who subscribes while a request runs gets no duration', async (t) => {
  const started = startClock()
  const published = listenTo(t, ...names)
  const { request } = fakeRequest()
  reportSuccess(request, user, 'jwt', started)
  reportRefusal(request, new AuthenticationError('auth.jwt-invalid'), 'jwt', started)
  t.strictSame(
    published.map(({ message }) => message.duration),
    [null, null],
  )
})

t.test('the typed channels are those that are found by name', async (t) => {
  t.equal(exported, channels)
  for (const [name, own] of Object.entries(exported)) {
    t.equal(own, channel(`fastify-authn:${name}`), name)
  }
  t.strictSame(
    Object.keys(exported).map((name) => `fastify-authn:${name}`),
    [...names, ...['issuer', 'reuse', 'logout', 'apiKey'].map((name) => `fastify-authn:${name}`)],
  )
  const codes: string[] = []
  const listener = ({ code }: { code: string }): void => void codes.push(code)
  const { request } = fakeRequest()
  const refuse = (): void =>
    reportRefusal(request, new AuthenticationError('auth.jwt-invalid'), 'jwt', 0)
  channels.failure.subscribe(listener)
  refuse()
  t.equal(channels.failure.unsubscribe(listener), true)
  t.equal(channels.failure.unsubscribe(listener), false)
  refuse()
  t.strictSame(codes, ['ERR_AUTH_JWT_INVALID'])
})
