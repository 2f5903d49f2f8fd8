// Also holds lib/issuers/attempts.ts and lib/issuers/stopwatch.ts.
import type { ServerResponse } from 'node:http'
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { channels, type AuthenticationError } from '../../lib/index.js'
import { KeySource } from '../../lib/issuers/key-source.js'
import { limits } from '../../lib/issuers/limits.js'
import { resolveIssuers } from '../../lib/options/resolve-issuers.js'
import {
  clocks,
  goodKey,
  jwkOf,
  keysPath,
  startIssuer,
  type TestIssuer,
} from '../helpers/issuer.js'
import { fakeLog, until } from '../helpers/load.js'
import { keys } from '../helpers/tokens.js'
import type { IssuerEvent } from '../../lib/index.js'

interface Setting {
  readonly issuer: TestIssuer
  readonly source: KeySource<string>
  readonly events: IssuerEvent[]
  readonly lines: ReturnType<typeof fakeLog>['lines']
  readonly advance: (seconds: number) => void
  /** Waits until so many fetches have ended. */
  ended(count: number): Promise<void>
}

/** A source whose sets are made of the names of their keys. */
async function setting(t: Test): Promise<Setting> {
  const issuer = await startIssuer(t)
  const { lines, log } = fakeLog()
  const [resolved] = resolveIssuers({ corp: issuer.options() }, [], undefined)
  if (resolved === undefined) throw new TypeError('no issuer')
  const source = new KeySource(resolved, ({ keys }) => [...keys.keys()].join(), log)
  const events: IssuerEvent[] = []
  const listener = (event: IssuerEvent): void => void events.push(event)
  channels.issuer.subscribe(listener)
  t.teardown(() => {
    channels.issuer.unsubscribe(listener)
    source.stop()
  })
  return {
    issuer,
    source,
    events,
    lines,
    advance: clocks(t).advance,
    ended: (count) => until(() => events.length >= count, `${count} fetches have ended`),
  }
}

/** What a promise is rejected with. */
const refusalOf = (promise: Promise<unknown>): Promise<AuthenticationError> =>
  promise.then(
    () => Promise.reject(new Error('nothing was refused')),
    (error: unknown) => error as AuthenticationError,
  )

const broken = (response: ServerResponse): unknown => response.writeHead(500).end('{"secret":1}')
const second = jwkOf(keys.p384, { kid: 'two' })

t.test('fresh for 10 minutes; then it is renewed in the background', async (t) => {
  const { issuer, source, events, advance, ended } = await setting(t)
  t.equal(source.usable(), null, 'nothing is there, and nothing was asked for')
  t.strictSame(source.stats(), { keys: 0, fetches: 0, failures: 0, age: null })
  t.equal(await source.obtain(), 'one')
  advance(599)
  t.equal(source.usable(), 'one')
  t.equal(issuer.fetches(), 1, 'fresh')
  issuer.published = [goodKey, second]
  advance(2)
  t.equal(source.usable(), 'one', 'the one before, at once')
  t.equal(source.usable(), 'one')
  await ended(2)
  t.equal(source.usable(), 'one,two')
  issuer.published = [second]
  advance(601)
  source.usable()
  await ended(3)
  t.equal(source.usable(), 'two', 'a set replaces the one before as a whole')
  t.strictSame(source.stats(), { keys: 1, fetches: 3, failures: 0, age: 0 })
  t.match(
    events.map(({ issuer, outcome, keys, leftOut, reason }) => [
      issuer,
      outcome,
      keys,
      leftOut,
      reason,
    ]),
    [
      ['corp', 'renewed', 1, 0, null],
      ['corp', 'renewed', 2, 0, null],
      ['corp', 'renewed', 1, 0, null],
    ],
  )
})

t.test('stale for an hour, while renewing fails; then not any more', async (t) => {
  const { issuer, source, events, lines, advance, ended } = await setting(t)
  await source.obtain()
  issuer.answers.set(keysPath, broken)
  advance(300)
  t.equal(source.usable(), 'one', 'down for 5 minutes')
  advance(301)
  t.equal(source.usable(), 'one')
  await ended(2)
  t.match(events[1], {
    outcome: 'failed',
    keys: 1,
    leftOut: 0,
    reason: 'the status is 500, expected 200',
  })
  advance(3_590)
  t.equal(source.usable(), 'one', 'a second before the hour is over')
  await ended(3)
  t.match(source.stats(), { keys: 1, failures: 2, age: 4_191 })
  advance(10)
  t.strictSame(source.stats(), { keys: 0, fetches: 3, failures: 2, age: 4_201 })
  t.equal(source.usable(), null, 'over')
  t.match(await refusalOf(source.obtain()), {
    code: 'ERR_AUTH_ISSUER_UNAVAILABLE',
    statusCode: 503,
    key: 'auth.overloaded',
  })
  t.strictSame(source.stats(), { keys: 0, fetches: 4, failures: 3, age: null })
  issuer.answers.clear()
  advance(31)
  t.equal(await source.obtain(), 'one', 'back')
  t.match(lines.at(-1), {
    level: 'info',
    args: [{ issuer: 'corp' }, 'An issuer gives its keys again'],
  })
  t.notMatch(JSON.stringify([events, lines]), 'secret')
})

t.test('a set that nobody needed for hours is not used, but asked for', async (t) => {
  const { issuer, source, advance } = await setting(t)
  await source.obtain()
  issuer.published = [second]
  advance(5_000)
  t.equal(source.usable(), null)
  t.equal(await source.obtain(), 'two')
})

t.test('pauses of 1, 2, 4 and up to 30 seconds, which Retry-After tells', async (t) => {
  const { issuer, source, advance } = await setting(t)
  issuer.answers.set(keysPath, broken)
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    const before = issuer.fetches()
    t.match(await refusalOf(source.obtain()), { retryAfter: seconds }, 'after the failure')
    t.equal(issuer.fetches(), before + 1)
    advance(seconds / 2)
    t.match(
      await refusalOf(source.obtain()),
      { retryAfter: Math.ceil(seconds / 2) },
      'what is left',
    )
    t.equal(issuer.fetches(), before + 1, 'and nothing is asked')
    advance(seconds / 2 + 0.001)
  }
  issuer.answers.clear()
  t.equal(await source.obtain(), 'one')
  issuer.answers.set(keysPath, broken)
  advance(5_000)
  t.match(await refusalOf(source.obtain()), { retryAfter: 1 }, 'a success begins anew')
})

t.test('an unknown kid asks again, once in 30 seconds, whatever comes of it', async (t) => {
  const { issuer, source, advance, ended } = await setting(t)
  await source.obtain()
  t.equal(source.renewed(), null, 'the last attempt was just now')
  advance(29.9)
  t.equal(source.renewed(), null)
  advance(0.2)
  issuer.published = [second]
  const [first, again] = [source.renewed(), source.renewed()]
  t.strictSame(
    await Promise.all([first, again]),
    ['two', 'two'],
    'who comes meanwhile waits for the same one',
  )
  t.equal(issuer.fetches(), 2)
  issuer.answers.set(keysPath, broken)
  advance(31)
  t.equal(await source.renewed(), 'two', 'a failure leaves the set')
  await ended(3)
  advance(20)
  t.equal(source.renewed(), null, 'the pause after the failure is over, the 30 seconds are not')
  t.equal(issuer.fetches(), 3)
  advance(11)
  t.equal(await source.renewed(), 'two')
  t.equal(issuer.fetches(), 4)
})

t.test('one fetch at a time, for which a thousand may wait', async (t) => {
  const { issuer, source } = await setting(t)
  let answer: (() => void) | undefined
  issuer.answers.set(keysPath, (response) => {
    answer = () => response.end(JSON.stringify({ keys: [goodKey] }))
  })
  const waiting = Array.from({ length: limits.waiting }, () => source.obtain())
  const refused = await refusalOf(source.obtain())
  t.match(refused, { code: 'ERR_AUTH_ISSUER_UNAVAILABLE', statusCode: 503 })
  t.equal(refused.retryAfter, 5, 'what is left of the fetch')
  await until(() => answer !== undefined, 'it is asked for')
  answer?.()
  t.strictSame(new Set(await Promise.all(waiting)), new Set(['one']))
  t.equal(issuer.fetches(), 1)
  t.equal(source.usable(), 'one')
})

t.test('an issuer that accepts and is silent, or slow, fails in time', async (t) => {
  const { issuer, source, events, lines } = await setting(t)
  t.intercept(limits, 'fetchTime', { value: 150 })
  issuer.answers.set('/.well-known/openid-configuration', () => undefined)
  t.match(await refusalOf(source.obtain()), { statusCode: 503, retryAfter: 1 })
  t.match(events[0], { outcome: 'failed', reason: 'it took too long', keys: 0 })
  t.match(lines[0], {
    level: 'warn',
    args: [
      { issuer: 'corp', reason: 'it took too long', keys: 0, age: null },
      'The keys of an issuer could not be fetched',
    ],
  })
})

t.test('discovery, its fall-back and the set have 5 seconds together', async (t) => {
  const { issuer, source, events } = await setting(t)
  t.intercept(limits, 'fetchTime', { value: 300 })
  const slowly = (status: number, body: unknown) => async (response: ServerResponse) => {
    await later(120)
    response.writeHead(status).end(JSON.stringify(body))
  }
  const metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}${keysPath}` }
  issuer.answers.set('/.well-known/openid-configuration', slowly(404, {}))
  issuer.answers.set('/.well-known/oauth-authorization-server', slowly(200, metadata))
  issuer.answers.set(keysPath, slowly(200, { keys: [goodKey] }))
  t.match(await refusalOf(source.obtain()), { statusCode: 503 })
  t.match(events[0], { outcome: 'failed', reason: 'it took too long' })
})

t.test('private keys are told of, without any of them', async (t) => {
  const { issuer, source, events, lines } = await setting(t)
  const exposed = { ...keys.rsa.privateKey.export({ format: 'jwk' }), kid: 'exposed' }
  issuer.published = [goodKey, exposed]
  t.equal(await source.obtain(), 'one')
  t.match(events[0], { leftOut: 1, keys: 1 })
  t.strictSame(lines, [
    {
      level: 'warn',
      args: [{ issuer: 'corp', keys: 1 }, 'An issuer publishes private keys; these are not used'],
    },
  ])
})

t.test('after stop() nothing is fetched, and what is under way ends', async (t) => {
  const { issuer, source, lines } = await setting(t)
  issuer.answers.set(keysPath, () => undefined)
  source.start()
  const waiting = refusalOf(source.obtain())
  await until(() => issuer.fetches() === 1, 'the set is asked for')
  source.stop()
  t.match(await waiting, { statusCode: 503 })
  t.match(await refusalOf(source.obtain()), { statusCode: 503 })
  t.equal(issuer.fetches(), 1)
  t.strictSame(lines, [], 'and nobody is told that it failed')
})

t.test('either clock that goes forward makes a set older', async (t) => {
  const { issuer, source } = await setting(t)
  await source.obtain()
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() - 86_400_000 })
  t.equal(source.stats().age, 0, 'a clock that is set back does not make it younger')
  t.intercept(Date, 'now', { value: () => now() + 5_000_000 })
  t.equal(source.usable(), null)
  t.equal(issuer.fetches(), 1)
})
