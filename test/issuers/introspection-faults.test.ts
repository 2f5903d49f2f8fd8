// A server that fails: no token is accepted because of it, and none is rejected for good.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as later } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { clockOf } from '../helpers/clock.js'
import { isRejection, isWelcome, listen, messages, send, tokenChallenge } from '../helpers/flows.js'
import { bearer, rawLines } from '../helpers/app.js'
import { discoveryPath, oauthPath } from '../helpers/issuer.js'
import {
  answering,
  clientSecret,
  introspectingApp,
  introspectionPath,
  startIntrospection,
  strangers,
} from '../helpers/introspection.js'
import {
  busy,
  leaveOneOfTwo,
  movableClock,
  shortFiveSeconds,
  tally,
  until,
} from '../helpers/load.js'
import { eventsOf } from '../helpers/sessions.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const unavailable = { status: 503, error: busy, challenge: null }

/** Trickles until the client goes away. */
const trickle =
  (start: string) =>
  (response: ServerResponse): void => {
    response.write(start)
    const timer = setInterval(() => response.write(' '), 5)
    response.on('close', () => clearInterval(timer))
  }

t.test('an answer that is none is a 503, whatever the mode', async (t) => {
  const issuer = await startIntrospection(t)
  const events = eventsOf(t, 'introspection')
  const { app, get } = await introspectingApp(t, issuer)
  const good = JSON.stringify(issuer.active())
  const bodies: (string | Buffer)[] = [
    '',
    ' ',
    'null',
    'true',
    '[]',
    `[${good}]`,
    `"${'x'.repeat(9)}"`,
    '{}',
    '{"sub":"alice"}',
    '{"Active":true}',
    ...['"true"', '1', 'null', '[true]', '{}', '"false"', '0'].map(
      (active) => `{"active":${active}}`,
    ),
    '{"__proto__":{"active":true}}',
    `${good}x`,
    `${good}${good}`,
    `\ufeff${good}`,
    good.slice(0, -1),
    Buffer.from(good.replace('alice', 'al\xefce'), 'latin1'),
    '['.repeat(60_000),
    `${good}${' '.repeat(65_537 - good.length)}`,
    `active=true&sub=alice`,
  ]
  const statuses = [201, 204, 202, 206, 301, 302, 303, 304, 307, 308, 404, 410, 429, 500, 502, 503]
  const location = `${issuer.url}${introspectionPath}?redirected`
  const rows = [
    ...bodies.map((body) => answering(body)),
    ...statuses.map((status) =>
      answering(status === 204 || status === 304 ? '' : good, status, {
        location,
        'retry-after': '3600',
      }),
    ),
    answering(gzipSync(good), 200, { 'content-encoding': 'gzip' }),
    answering(good, 200, { 'content-encoding': 'br' }),
    answering(good, 200, { 'content-length': String(good.length + 9), connection: 'close' }),
    (response: ServerResponse) => response.destroy(),
    (response: ServerResponse) => {
      response.write(good)
      response.destroy()
    },
    (response: ServerResponse) => response.socket?.end('secret words\r\n\r\n'),
  ]
  const urls = ['/', '/claims', '/optional']
  for (const [at, answer] of rows.entries()) {
    // A good answer between them, so that no pause begins.
    issuer.misbehave = answering(good)
    isWelcome(t, await get(`good-${at}`), 'alice')
    issuer.misbehave = answer
    const url = urls[at % 3] ?? '/'
    const response = await get(`token-${at}`, url)
    isRejection(t, response, unavailable, `${at} ${url}`)
    t.equal(response.headers['retry-after'], '1')
  }
  const { requests, failures, cached } = app.authn.stats().issuers.corp?.introspection ?? {}
  t.strictSame([requests, failures, cached], [2 * rows.length, rows.length, rows.length])
  t.equal(events.length, 2 * rows.length)
  t.match(events[1], { issuer: 'corp', outcome: 'failed', reason: String, duration: Number })
  t.match(events[0], { issuer: 'corp', outcome: 'active', reason: null, duration: Number })
  t.notMatch(issuer.asked.join(), 'redirected')
  const identity = { 'content-encoding': 'identity' }
  issuer.misbehave = answering(`${good}${' '.repeat(65_536 - good.length)}`, 200, identity)
  isWelcome(t, await get('longest'), 'alice')
})

t.test('a polluted Object.prototype makes no token active', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  const { active: _, ...others } = issuer.active()
  issuer.misbehave = answering(JSON.stringify(others))
  Object.assign(Object.prototype, { active: true })
  t.teardown(() => Reflect.deleteProperty(Object.prototype, 'active'))
  isRejection(t, await get('token'), unavailable)
})

t.test('a server that is down, hangs or trickles allows nothing that is not cached', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  issuer.known.set('good', issuer.active())
  isWelcome(t, await get('good'), 'alice')
  const limits = shortFiveSeconds(t)
  const waiting = []
  for (const answer of [() => undefined, trickle('{"active":true,'), trickle('')]) {
    issuer.misbehave = answer
    const before = issuer.forms.length
    waiting.push(get(`bad-${before}`))
    await until(() => issuer.forms.length > before, 'it was asked')
  }
  for (const response of await Promise.all(waiting)) isRejection(t, response, unavailable)
  t.ok(limits.includes(5000))
  await issuer.kill()
  isRejection(t, await get('other'), unavailable)
  isWelcome(t, await get('good'), 'alice', 'a cached token goes on')
})

t.test('a status that is about one odd token is no reason for a pause', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  issuer.known.set('good', issuer.active())
  for (const status of [400, 413, 414, 431, 400]) {
    issuer.misbehave = answering('', status)
    isRejection(t, await get(`odd-${status}`), unavailable)
  }
  issuer.misbehave = null
  isWelcome(t, await get('good'), 'alice')
  t.equal(issuer.asked.filter((each) => each === discoveryPath).length, 1)
})

t.test('the endpoint is discovered at the first token, and anew when it is down', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  const { advance } = clockOf(t)
  const steady = movableClock(t)
  t.strictSame(issuer.asked, [], 'nothing is asked for before the first token')
  for (const token of ['one', 'two', 'three']) issuer.known.set(token, issuer.active())
  const insecure = `http://0.0.0.0:${new URL(issuer.url).port}${introspectionPath}`
  const found = issuer.answers.get(discoveryPath) ?? (() => undefined)
  const metadata = (more: object) => answering(JSON.stringify({ issuer: issuer.url, ...more }))
  issuer.answers.set(discoveryPath, metadata({}))
  isRejection(t, await get('one'), unavailable, 'no endpoint in the metadata')
  issuer.answers.set(discoveryPath, metadata({ introspection_endpoint: insecure }))
  isRejection(t, await get('one'), unavailable, 'not a secure one')
  issuer.answers.set(discoveryPath, answering('', 404))
  issuer.answers.set(oauthPath, found)
  const all = await Promise.all(['one', 'one', 'two', 'three'].map((token) => get(token)))
  t.strictSame(tally(all), { 200: 4 })
  const documents = [discoveryPath, discoveryPath, discoveryPath, oauthPath]
  t.strictSame(issuer.asked.splice(0), [...documents, ...Array(3).fill(introspectionPath)])
  issuer.misbehave = answering('', 503)
  isRejection(t, await get('four'), unavailable)
  issuer.misbehave = null
  isRejection(t, await get('four'), invalid)
  t.strictSame(
    issuer.asked.splice(0),
    [introspectionPath, introspectionPath],
    'not after one failure',
  )
  issuer.misbehave = answering('', 503)
  await steady.advance(2_000)
  for (const token of ['five', 'six', 'seven']) isRejection(t, await get(token), unavailable)
  await until(() => issuer.asked.length === 4, 'a random token was asked about')
  await later(50)
  issuer.misbehave = null
  advance(1)
  isRejection(t, await get('five'), invalid)
  t.strictSame(issuer.asked.slice(4, 6), [discoveryPath, oauthPath])
})

t.test('equal tokens share a request; 16 of a client are sent at once, 32 of all', async (t) => {
  const issuer = await startIntrospection(t)
  const asking = await introspectingApp(t, issuer, { cache: 0 })
  const [{ get }, other] = [asking, strangers(asking)]
  const held: ServerResponse[] = []
  let atOnce = 0
  let most = 0
  issuer.misbehave = (response) => {
    held.push(response)
    most = Math.max(most, (atOnce += 1))
  }
  const answer = (): void => {
    for (const response of held.splice(0)) {
      atOnce -= 1
      response.end(JSON.stringify(issuer.active()))
    }
  }
  const equal = Array.from({ length: 200 }, () => get('equal'))
  await until(() => held.length === 1, 'it was asked')
  await later(50)
  answer()
  t.strictSame(tally(await Promise.all(equal)), { 200: 200 })
  t.equal(issuer.forms.length, 1)
  const different = Array.from({ length: 200 }, (_, at) => get(`token-${at}`))
  let settled = false
  const done = Promise.all(different).finally(() => (settled = true))
  await until(() => held.length === 16, 'the first are there')
  await later(50)
  t.equal(held.length, 16)
  const others = Array.from({ length: 40 }, (_, at) => other(`other-${at}`))
  await until(() => held.length === 32, 'some of others are there')
  await later(50)
  answer()
  await until(() => held.length === 32, 'the next are there')
  const tokens = issuer.forms.slice(-32).map(({ form }) => String(form.get('token')))
  t.ok(tokens.filter((token) => token.startsWith('other-')).length >= 24, 'clients take turns')
  await until(() => {
    answer()
    return settled
  }, 'all are answered')
  t.strictSame(tally(await done), { 200: 200 })
  t.strictSame(tally(await Promise.all(others)), { 200: 40 })
  t.strictSame([issuer.forms.length, most], [241, 32])
})

t.test('1,000 requests of a client wait, for 5 seconds, and closing ends it', async (t) => {
  const issuer = await startIntrospection(t)
  const asking = await introspectingApp(t, issuer)
  const { get, app } = asking
  const { advance } = movableClock(t)
  const answers: ServerResponse[] = []
  issuer.misbehave = (response) => answers.push(response)
  const waiting = Array.from({ length: 1_016 }, (_, at) => get(`token-${at}`))
  await until(() => issuer.forms.length === 16, 'they wait')
  const start = performance.now()
  isRejection(t, await get('one-more'), unavailable, 'at once')
  t.ok(performance.now() - start < 4_500)
  issuer.misbehave = answering(JSON.stringify(issuer.active()))
  isWelcome(t, await strangers(asking)('good'), 'alice', 'another client')
  await advance(5_000)
  for (const response of answers) response.end(JSON.stringify(issuer.active()))
  t.strictSame(tally(await Promise.all(waiting)), { 200: 16, 503: 1_000 })
  await later(20)
  t.equal(issuer.forms.splice(0).length, 17, 'those that have waited are not sent')
  t.match(app.authn.stats().issuers.corp?.introspection, { failures: 0 }, 'which is no failure')
  issuer.misbehave = () => undefined
  const last = get('last')
  await until(() => issuer.forms.length === 1, 'it was asked')
  const events = eventsOf(t, 'introspection')
  await app.close()
  isRejection(t, await last, unavailable)
  t.match(events, [{ outcome: 'failed', reason: /^the connection failed/ }], 'it was aborted')
})

t.test('tokens of a client that is gone are not sent', async (t) => {
  const issuer = await startIntrospection(t)
  const { app } = await introspectingApp(t, issuer)
  const answers: ServerResponse[] = []
  issuer.misbehave = (response) => answers.push(response)
  const closed: Promise<unknown>[] = []
  app.server.on('connection', (socket) => closed.push(once(socket, 'close')))
  const port = await listen(app)
  const client = new AbortController()
  const { signal } = client
  const all = Array.from({ length: 60 }, (_, at) =>
    send(port, { path: '/', headers: bearer(`token-${at}`), signal }).catch(() => null),
  )
  await until(() => answers.length === 16 && closed.length === 60, 'they wait')
  client.abort()
  await Promise.all([...all, ...closed])
  for (const response of answers) response.end('{"active":false}')
  await later(50)
  t.equal(issuer.forms.length, 16)
})

t.test('a client that leaves cancels nothing for others, and no user is looked up', async (t) => {
  const issuer = await startIntrospection(t)
  const names: unknown[] = []
  const user = ({ sub }: { readonly sub?: unknown }): object => {
    names.push(sub)
    return { name: sub }
  }
  const { app } = await introspectingApp(t, issuer, {}, { user })
  let answer = (): unknown => undefined
  issuer.misbehave = (response) => (answer = () => response.end(JSON.stringify(issuer.active())))
  const headers = bearer('good')
  const patient = await leaveOneOfTwo(t, app, [headers, headers], {
    isAsked: () => issuer.forms.length === 1,
    answer: () => answer(),
  })
  isWelcome(t, patient, 'alice')
  t.strictSame(names, ['alice'])
  t.equal(issuer.forms.length, 1)
})

t.test('failures are logged once a minute each, without token, secret or body', async (t) => {
  const issuer = await startIntrospection(t)
  const { lines, stream } = rawLines()
  const options = { logger: { stream, level: 'trace' } }
  const { get } = await introspectingApp(t, issuer, {}, {}, {}, options)
  const wall = clockOf(t)
  const steady = movableClock(t)
  for (const status of [500, 401, 403, 500, 401]) {
    issuer.misbehave = answering('{"active":"body-of-server"}', status)
    await get('token-of-alice')
    wall.advance(60)
  }
  const found = (): Record<string, unknown>[] =>
    lines
      .splice(0)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ status }) => status !== undefined)
  t.notMatch(lines.join(), /token-of-alice|body-of-server/)
  t.notMatch(lines.join(), clientSecret)
  const [first, second, third, ...more] = found()
  t.match(first, {
    level: 40,
    issuer: 'corp',
    status: 500,
    reason: 'the status is 500, expected 200',
  })
  t.match(second, { level: 50, status: 401, msg: /issuers\.corp\.introspection\.clientSecret/ })
  t.match(third, { level: 50, status: 403 })
  t.strictSame(more, [])
  await steady.advance(60_000)
  issuer.misbehave = answering('', 500)
  await get('another')
  t.match(found(), [{ level: 40, status: 500 }])
})
