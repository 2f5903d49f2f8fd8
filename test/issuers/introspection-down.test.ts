// A server that is down, and one that only dislikes some tokens.
import type { ServerResponse } from 'node:http'
import { setTimeout as later } from 'node:timers/promises'
import t from 'tap'
import { clockOf } from '../helpers/clock.js'
import { isRejection, isWelcome, messages, tokenChallenge } from '../helpers/flows.js'
import {
  answering,
  introspectingApp,
  introspectionPath,
  startIntrospection,
  strangers,
} from '../helpers/introspection.js'
import { busy, shortFiveSeconds, tally, until } from '../helpers/load.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const unavailable = { status: 503, error: busy, challenge: null }

t.test('while a server is down, one request is sent after 1, 2, 4 … 30 seconds', async (t) => {
  const issuer = await startIntrospection(t)
  const get = strangers(await introspectingApp(t, issuer))
  const { advance } = clockOf(t)
  issuer.known.set('good', issuer.active())
  issuer.misbehave = answering('', 500)
  const fail = async (retryAfter: number): Promise<void> => {
    const response = await get(`bad-${Math.random()}`)
    isRejection(t, response, unavailable)
    t.equal(response.headers['retry-after'], String(retryAfter))
  }
  const sent = (count: number) => until(() => issuer.forms.length === count, `${count} were sent`)
  for (let count = 0; count < 3; count += 1) await fail(1)
  await sent(4)
  await later(50)
  for (const pause of [1, 2, 4, 8, 16, 30, 30]) {
    issuer.forms.length = 0
    advance(pause - 1)
    await fail(1)
    t.equal(issuer.forms.length, 0, 'nothing is sent')
    advance(1)
    const both = await Promise.all([get(`bad-${Math.random()}`), get(`bad-${Math.random()}`)])
    t.strictSame(tally(both), { 503: 2 })
    await sent(2)
    await later(50)
  }
  advance(30)
  issuer.misbehave = null
  isWelcome(t, await get('good'), 'alice', 'the server is back')
  isRejection(t, await get('other'), invalid)
  issuer.misbehave = answering('', 500)
  await fail(1)
  await fail(1)
  await fail(1)
  issuer.misbehave = null
  isRejection(t, await get('another'), invalid, 'after a success of late, three may be chance')
})

t.test('a server that answers nothing keeps only the first requests for 5 seconds', async (t) => {
  const issuer = await startIntrospection(t)
  const get = strangers(await introspectingApp(t, issuer))
  issuer.misbehave = () => undefined
  const limits = shortFiveSeconds(t)
  const all = await Promise.all(Array.from({ length: 60 }, (_, at) => get(`bad-${at}`)))
  t.strictSame(tally(all), { 503: 60 })
  t.ok(limits.includes(5000))
  limits.length = 0
  t.strictSame(tally(await Promise.all([get('a'), get('b'), get('c')])), { 503: 3 })
  t.notOk(limits.includes(5000), 'at once')
  for (const { request } of issuer.forms.splice(0)) request.destroy()
})

const odd: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  '403': answering('blocked', 403),
  '406': answering('', 406),
  '500': answering('', 500),
  'a page': answering('<h1>Blocked</h1>'),
  'no answer': (response) => response.destroy(),
}

for (const [what, answer] of Object.entries(odd)) {
  t.test(`odd tokens of one client, or of many, stop nobody: ${what}`, async (t) => {
    const issuer = await startIntrospection(t)
    const asking = await introspectingApp(t, issuer)
    const get = strangers(asking)
    issuer.misbehave = (response, { form }) => {
      const token = String(form.get('token'))
      const rest = JSON.stringify(token === 'good' ? issuer.active() : { active: false })
      return (token.startsWith('../') ? answer : answering(rest))(response)
    }
    for (let count = 0; count < 20; count += 1) {
      const send = count % 2 === 0 ? get : asking.get
      isRejection(t, await send(`../../etc/passwd/${count}`), unavailable)
    }
    isWelcome(t, await get('good'), 'alice')
    isRejection(t, await asking.get('unknown'), invalid)
  })
}

t.test('a request on a kept connection that the server has closed is sent again', async (t) => {
  const issuer = await startIntrospection(t)
  const endpoint = `${issuer.url}${introspectionPath}`
  const { get, app } = await introspectingApp(t, issuer, { endpoint })
  const seen = new Set<unknown>()
  issuer.misbehave = (response, { request: { socket } }) => {
    if (seen.has(socket)) return socket.destroy()
    seen.add(socket)
    return response.end(JSON.stringify(issuer.active()))
  }
  for (let at = 0; at < 5; at += 1) {
    isWelcome(t, await get(`token-${at}`), 'alice')
    // Without it, fetch() opens another connection, and keeps both.
    await later(20)
  }
  t.match(app.authn.stats().issuers.corp?.introspection, { failures: 0 })
  issuer.forms.length = 0
  issuer.misbehave = (response) => response.destroy()
  isRejection(t, await get('other'), unavailable)
  t.equal(issuer.forms.length, 2, 'once')
  issuer.misbehave = (response) => {
    response.write('{')
    setImmediate(() => response.destroy())
  }
  isRejection(t, await get('half'), unavailable)
  t.equal(issuer.forms.length, 3, 'an answer has begun')
})
