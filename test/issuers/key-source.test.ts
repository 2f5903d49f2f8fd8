import type { ServerResponse } from 'node:http'
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { AuthenticationError } from '../../lib/index.js'
import { KeySource } from '../../lib/issuers/key-source.js'
import { limits } from '../../lib/issuers/keys.js'
import { resolveIssuers } from '../../lib/issuers/options.js'
import { clockOf } from '../helpers/clock.js'
import {
  discoveryPath,
  goodKey,
  jwkOf,
  keysPath,
  oauthPath,
  startIssuer,
} from '../helpers/issuer.js'
import { fakeLog, until } from '../helpers/load.js'
import { eventsOf } from '../helpers/sessions.js'
import { keys } from '../helpers/tokens.js'
import type { VerifySignature } from '../../lib/tokens/engine.js'

async function setting(t: Test) {
  const issuer = await startIssuer(t)
  const { lines, log } = fakeLog()
  const [resolved] = resolveIssuers({ corp: issuer.options() }, [], undefined)
  if (resolved === undefined) throw new TypeError('no issuer')
  const verifierOf =
    ({ keys }: { keys: ReadonlyMap<string, unknown> }) =>
    () => ({ claims: { sub: [...keys.keys()].join() }, typ: undefined })
  const source = new KeySource(resolved, verifierOf, log)
  const events = eventsOf(t, 'issuer')
  t.teardown(() => source.stop())
  return {
    issuer,
    source,
    events,
    lines,
    advance: clockOf(t).advance,
    ended: (count: number) => until(() => events.length >= count, `${count} fetches have ended`),
  }
}

/** The names of the keys by which a set verifies. */
const kids = (verify: VerifySignature | null): unknown => verify?.('').claims.sub ?? null
const current = (source: KeySource): unknown => kids(source.current())
const obtained = async (source: KeySource): Promise<unknown> => kids(await source.obtain())
const renewed = async (source: KeySource): Promise<unknown> => {
  const running = source.renewed()
  return running === null ? 'not now' : kids(await running)
}

/** What a promise is rejected with. */
const rejection = (promise: Promise<unknown>): Promise<AuthenticationError> =>
  promise.then(
    () => Promise.reject(new Error('nothing was rejected')),
    (error: unknown) => error as AuthenticationError,
  )

const broken = (response: ServerResponse): unknown => response.writeHead(500).end('{"secret":1}')
const second = jwkOf(keys.p384, { kid: 'two' })

t.test('a key set of 8 to 10 minutes is used while it is fetched again', async (t) => {
  const { issuer, source, events, advance, ended } = await setting(t)
  t.equal(current(source), null, 'nothing is there, and nothing was asked for')
  t.strictSame(source.stats(), { keys: 0, fetches: 0, failures: 0, age: null })
  t.equal(await obtained(source), 'one')
  advance(479)
  t.equal(current(source), 'one')
  t.equal(issuer.fetches(), 1, 'fresh')
  issuer.published = [goodKey, second]
  advance(2)
  t.equal(current(source), 'one', 'the one before, at once')
  t.equal(current(source), 'one')
  await ended(2)
  t.equal(current(source), 'one,two')
  issuer.published = [second]
  advance(599)
  t.equal(current(source), 'one,two', 'the last second in which no request waits')
  await ended(3)
  t.equal(current(source), 'two', 'a set replaces the one before as a whole')
  t.strictSame(source.stats(), { keys: 1, fetches: 3, failures: 0, age: 0 })
  const good = { issuer: 'corp', outcome: 'renewed', leftOut: 0, reason: null }
  t.match(events, [
    { ...good, keys: 1 },
    { ...good, keys: 2 },
    { ...good, keys: 1 },
  ])
})

t.test('after 10 minutes a key set is used only if a new fetch fails', async (t) => {
  const { issuer, source, advance } = await setting(t)
  await source.obtain()
  issuer.published = [second]
  advance(600)
  t.strictSame([current(source), current(source)], [null, null])
  t.strictSame(await Promise.all([obtained(source), obtained(source)]), ['two', 'two'])
  t.equal(issuer.fetches(), 2, 'one fetch for all')
  issuer.answers.set(keysPath, broken)
  advance(600)
  t.equal(await obtained(source), 'two', 'the fetch has failed')
  advance(10)
  t.equal(current(source), 'two', 'so no other request waits, while the next one is on its way')
  t.equal(current(source), 'two')
  issuer.answers.clear()
  issuer.published = [goodKey]
  advance(1_800)
  t.equal(current(source), null, 'after idle time, the failure is of no account')
  t.equal(await obtained(source), 'one')
})

t.test('while an issuer is down, no request of a busy app waits', async (t) => {
  const { issuer, source, events, advance, ended } = await setting(t)
  await source.obtain()
  issuer.answers.set(keysPath, broken)
  advance(481)
  for (let fetches = 2, seconds = 481; seconds < 900; seconds += 5) {
    t.equal(current(source), 'one', `after ${seconds} seconds`)
    if (source.stats().fetches > events.length) await ended(fetches++)
    advance(5)
  }
})

t.test('while fetches fail, a key set is used for an hour, and then gives a 503', async (t) => {
  const { issuer, source, events, lines, advance } = await setting(t)
  await source.obtain()
  issuer.answers.set(keysPath, broken)
  advance(601)
  t.equal(await obtained(source), 'one')
  t.match(events[1], { outcome: 'failed', keys: 1, leftOut: 0, reason: /the status is 500/ })
  advance(3_590)
  t.equal(await obtained(source), 'one', 'seconds before the hour has passed')
  advance(10)
  t.strictSame(source.stats(), { keys: 0, fetches: 3, failures: 2, age: null })
  t.equal(current(source), null, 'too old')
  t.match(await rejection(source.obtain()), {
    code: 'ERR_AUTH_ISSUER_UNAVAILABLE',
    statusCode: 503,
    key: 'auth.overloaded',
  })
  t.strictSame(source.stats(), { keys: 0, fetches: 4, failures: 3, age: null })
  issuer.answers.clear()
  advance(31)
  t.equal(await obtained(source), 'one', 'back')
  t.match(lines.at(-1), { level: 'info', args: [{ issuer: 'corp' }] })
  t.notMatch(JSON.stringify([events, lines]), 'secret')
})

t.test('a key set that is too old, or from the future, is fetched again', async (t) => {
  for (const seconds of [5_000, -86_400]) {
    const { issuer, source, advance } = await setting(t)
    await source.obtain()
    issuer.published = [second]
    advance(seconds)
    t.equal(current(source), null)
    t.equal(await obtained(source), 'two')
  }
})

t.test('after failures it pauses 1, 2, 4 and up to 30 seconds, as Retry-After says', async (t) => {
  const { issuer, source, advance } = await setting(t)
  issuer.answers.set(keysPath, broken)
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    const before = issuer.fetches()
    t.match(await rejection(source.obtain()), { retryAfter: seconds }, 'after the failure')
    t.equal(issuer.fetches(), before + 1)
    advance(seconds / 2)
    const retryAfter = Math.ceil(seconds / 2)
    t.match(await rejection(source.obtain()), { retryAfter }, 'what is left')
    t.equal(issuer.fetches(), before + 1, 'and nothing is asked')
    advance(seconds / 2 + 0.001)
  }
  issuer.answers.clear()
  t.equal(await obtained(source), 'one')
  issuer.answers.set(keysPath, broken)
  advance(5_000)
  t.match(await rejection(source.obtain()), { retryAfter: 1 }, 'a success begins anew')
})

t.test('an unknown kid causes at most one fetch in 30 seconds', async (t) => {
  const { issuer, source, advance, ended } = await setting(t)
  await source.obtain()
  advance(29.9)
  t.equal(await renewed(source), 'not now', 'the last attempt was just now')
  advance(0.2)
  issuer.published = [second]
  t.strictSame(await Promise.all([renewed(source), renewed(source)]), ['two', 'two'])
  t.equal(issuer.fetches(), 2, 'one fetch for both')
  issuer.answers.set(keysPath, broken)
  advance(31)
  t.equal(await renewed(source), 'two', 'a failure leaves the set')
  await ended(3)
  advance(20)
  t.equal(await renewed(source), 'not now', 'the pause has ended, the 30 seconds have not')
  t.equal(issuer.fetches(), 3)
  advance(11)
  t.equal(await renewed(source), 'two')
  t.equal(issuer.fetches(), 4)
})

t.test('discovery, its fallback and the key set have 5 seconds together', async (t) => {
  t.equal(limits.fetchTime, 5_000)
  t.intercept(limits, 'fetchTime', { value: 300 })
  const { issuer, source, events, lines } = await setting(t)
  const slowly = (status: number, body: unknown) => async (response: ServerResponse) => {
    await later(120)
    response.writeHead(status).end(JSON.stringify(body))
  }
  const metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}${keysPath}` }
  issuer.answers.set(discoveryPath, slowly(404, {}))
  issuer.answers.set(oauthPath, slowly(200, metadata))
  issuer.answers.set(keysPath, slowly(200, { keys: [goodKey] }))
  t.match(await rejection(source.obtain()), { statusCode: 503, retryAfter: 1 })
  t.match(events, [{ outcome: 'failed', reason: 'it took too long', keys: 0 }])
  const about = { issuer: 'corp', reason: 'it took too long', keys: 0, age: null }
  t.match(lines, [{ level: 'warn', args: [about] }])
})

t.test('private keys in a key set give a warning that does not quote them', async (t) => {
  const { issuer, source, events, lines } = await setting(t)
  const exposed = { ...keys.rsa.privateKey.export({ format: 'jwk' }), kid: 'exposed' }
  issuer.published = [goodKey, exposed]
  t.equal(await obtained(source), 'one')
  t.match(events[0], { leftOut: 1, keys: 1 })
  t.match(lines, [{ level: 'warn', args: [{ issuer: 'corp', keys: 1 }, /private keys/] }])
  t.notMatch(JSON.stringify(lines), String(exposed.d))
})

t.test('stop() aborts the fetch, and requests get a 503', async (t) => {
  const { issuer, source, lines } = await setting(t)
  issuer.answers.set(keysPath, () => undefined)
  source.begin()
  const waiting = rejection(source.obtain())
  await until(() => issuer.fetches() === 1, 'the set is asked for')
  source.stop()
  t.match(await waiting, { statusCode: 503 })
  t.match(await rejection(source.obtain()), { statusCode: 503 })
  t.equal(issuer.fetches(), 1)
  t.strictSame(lines, [], 'and no failure is logged')
})
