// program: small
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { channels, reportRejection, reportSuccess, startClock } from '../lib/events.js'
import { channels as exported } from '../lib/index.js'
import { AuthenticationError } from '../lib/errors/errors.js'
import { fakeRequest } from './helpers/load.js'
import { root } from './helpers/project.js'

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

t.test('the clock runs while any channel has a subscriber', async (t) => {
  for (const name of names) {
    await t.test(name, async (t) => {
      t.equal(startClock(), 0)
      listenTo(t, name)
      const before = performance.now()
      const started = startClock()
      t.ok(started >= before && started <= performance.now())
    })
  }
  t.equal(startClock(), 0, 'without subscribers it stops')
})

t.test('a rejection with an unknown code is published as a failure', async (t) => {
  const published = listenTo(t, ...names)
  const { request, lines } = fakeRequest()
  const error = { code: 'ERR_AUTH_REVOKED', statusCode: 503 } as unknown as AuthenticationError
  reportRejection(request, error, 'jwt', 1)
  const found = published.map(({ name, message }) => [name, message.code])
  t.strictSame(found, [['fastify-authn:failure', 'ERR_AUTH_REVOKED']])
  t.equal(lines[0]?.level, 'info')
})

t.test('a subscriber that joins during a request gets null as its duration', async (t) => {
  const started = startClock()
  const published = listenTo(t, ...names)
  const { request } = fakeRequest()
  reportSuccess(request, user, 'jwt', started)
  reportRejection(request, new AuthenticationError('auth.jwt-invalid'), 'jwt', started)
  const found = published.map(({ message }) => message.duration)
  t.strictSame(found, [null, null])
})

t.test('the exported channels are those of node:diagnostics_channel by name', async (t) => {
  t.equal(exported, channels)
  for (const [name, own] of Object.entries(exported)) {
    t.equal(own, channel(`fastify-authn:${name}`), name)
  }
  const page = readFileSync(join(root, 'docs/reference/events.md'), 'utf8')
  for (const name of Object.keys(exported))
    t.match(page, new RegExp(`^\\| [^|]*\`${name}\``, 'm'), `${name}: in the reference`)
  const published = [
    'rehash',
    'issuer',
    'reuse',
    'logout',
    'revoked',
    'provider',
    'account',
    'apiKey',
  ]
  const all = [...names, ...published.map((name) => `fastify-authn:${name}`)]
  const known = new Set(Object.values(exported).map(({ name }) => String(name)))
  const found = all.filter((name) => !known.has(name))
  t.strictSame(found, [], 'names that apps subscribe to stay')
  const codes: string[] = []
  const listener = ({ code }: { code: string }): void => void codes.push(code)
  const { request } = fakeRequest()
  const reject = (): void =>
    reportRejection(request, new AuthenticationError('auth.jwt-invalid'), 'jwt', 0)
  channels.failure.subscribe(listener)
  reject()
  t.equal(channels.failure.unsubscribe(listener), true)
  t.equal(channels.failure.unsubscribe(listener), false)
  reject()
  t.strictSame(codes, ['ERR_AUTH_JWT_INVALID'])
})
