// What an answer of the introspection endpoint has to say for a token to be accepted.
import t, { type Test } from 'tap'
import { clockOf } from '../helpers/clock.js'
import { isRejection, isWelcome, messages, tokenChallenge } from '../helpers/flows.js'
import { audience } from '../helpers/issuer.js'
import { answering, introspectingApp, startIntrospection } from '../helpers/introspection.js'
import { movableClock } from '../helpers/load.js'
import { eventsOf } from '../helpers/sessions.js'
import { epochSeconds } from '../helpers/tokens.js'
import type { IntrospectionOptions, IssuerOptions } from '../../lib/index.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const expired = { error: messages.jwtExpired, challenge: tokenChallenge('The token expired') }
const early = { error: messages.jwtEarly, challenge: tokenChallenge('The token is not valid yet') }

/** Members of an answer that are to be missing. */
const without = (...members: string[]): object =>
  Object.fromEntries(members.map((member) => [member, undefined]))

/** Sends a token for each answer. @param reasonOrNull - of the rejection; null for a token that is accepted */
type Row = readonly [more: object, reasonOrNull: string | null]

async function play(
  t: Test,
  rows: readonly Row[],
  more: Partial<IntrospectionOptions> = {},
  options: Partial<IssuerOptions> = {},
  name: unknown = 'alice',
): Promise<void> {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer, more, options)
  const failures = eventsOf(t, 'failure')
  for (const [at, [members, reason]] of rows.entries()) {
    const what = JSON.stringify(members)
    issuer.known.set(`token-${at}`, issuer.active(members))
    const response = await get(`token-${at}`)
    if (reason === null) isWelcome(t, response, name, what)
    else isRejection(t, response, invalid, what)
    t.equal(failures.splice(0)[0]?.reason ?? null, reason, what)
  }
}

t.test('an answer is validated by the rules of JWTs', async (t) => {
  const later = epochSeconds() + 300
  await play(t, [
    [{}, null],
    [without('iss'), null],
    [{ aud: ['x', audience] }, null],
    [{ nbf: later - 600 }, null],
    [{ exp: later + 0.5 }, null],
    [{ exp: 1e300 }, null],
    [{ scope: ['notes:read'], username: ['x'], client_id: null }, null],
    [{ iss: null }, 'claim iss'],
    [{ iss: 'https://other.example' }, 'claim iss'],
    [{ iss: [] }, 'claim iss'],
    [{ aud: 'https://other.example' }, 'claim aud'],
    [{ aud: [] }, 'claim aud'],
    [{ aud: null }, 'claim aud'],
    [{ aud: {} }, 'claim aud'],
    [{ aud: [audience, null] }, 'claim aud'],
    [{ aud: { 0: audience, length: 1 } }, 'claim aud'],
    [without('aud'), 'claim aud'],
    [without('exp'), 'claim exp'],
    [{ exp: String(later) }, 'claim exp'],
    [{ exp: null }, 'claim exp'],
    [{ nbf: 'now' }, 'claim nbf'],
    [{ nbf: null }, 'claim nbf'],
    [without('sub'), 'claim sub'],
    [{ sub: '' }, 'claim sub'],
    [{ sub: null }, 'claim sub'],
    [{ sub: { $ne: null } }, 'claim sub'],
    [{ sub: ['alice'] }, 'claim sub'],
    [{ sub: 'a\u0000' }, 'claim sub'],
    [{ cnf: { jkt: 'x' } }, 'claim cnf'],
    [{ cnf: null }, 'claim cnf'],
    [{ active: false }, 'token inactive'],
    [{ active: false, aud: 'x', exp: 'x', cnf: {} }, 'token inactive'],
  ])
  await play(t, [[{ sub: 7 }, null]], {}, {}, 7)
})

t.test('only access tokens are accepted', async (t) => {
  await play(t, [
    [{ token_type: 'bearer' }, null],
    [without('token_type'), null],
    [{ typ: 'BEARER', token_use: 'access_token' }, null],
    [{ typ: 'at+JWT', token_use: 'access' }, null],
    [{ typ: 'JWT' }, null],
    [{ token_type: 'DPoP' }, 'claim token_type'],
    [{ token_type: 'refresh_token' }, 'claim token_type'],
    [{ token_type: null }, 'claim token_type'],
    [{ token_type: ['Bearer'] }, 'claim token_type'],
    [{ token_type: 'Bearer ' }, 'claim token_type'],
    [{ token_use: 'refresh_token' }, 'claim token_use'],
    [{ token_use: 'Access' }, 'claim token_use'],
    [{ token_use: 1 }, 'claim token_use'],
    [{ typ: 'Refresh' }, 'claim typ'],
    [{ typ: 'Offline' }, 'claim typ'],
    [{ typ: 'ID' }, 'claim typ'],
    [{ typ: 'x+jwt' }, 'claim typ'],
    [{ type: 'refresh' }, 'claim type'],
    [{ at_hash: 'x' }, 'claim at_hash'],
    [{ events: {} }, 'claim events'],
  ])
})

t.test('optionalClaims are missing or right', async (t) => {
  const noType = without('aud', 'token_type')
  await play(
    t,
    [
      [without('aud'), null],
      [{ aud: [] }, null],
      [{ aud: audience }, null],
      [{ aud: audience, ...without('token_type') }, null],
      [noType, 'claim token_type'],
      [{ aud: [], ...without('token_type') }, 'claim token_type'],
      [{ aud: 'https://other.example' }, 'claim aud'],
      [{ aud: null }, 'claim aud'],
      [{ aud: '' }, 'claim aud'],
      [without('aud', 'sub'), 'claim sub'],
    ],
    { optionalClaims: ['aud'] },
  )
  await play(
    t,
    [
      [noType, null],
      [{ ...without('aud'), token_type: 'refresh_token' }, 'claim token_type'],
      [{ ...without('aud'), token_type: null }, 'claim token_type'],
      [{ ...noType, typ: 'Refresh' }, 'claim typ'],
    ],
    { optionalClaims: ['aud', 'token_type'] },
  )
  await play(t, [[noType, 'claim aud']], { optionalClaims: ['token_type'] })
  await play(
    t,
    [
      [{ username: 'bob', ...without('sub') }, null],
      [{ username: 'bob', sub: 'alice' }, null],
      [{ username: 'bob', sub: '' }, 'claim sub'],
      [{ username: 'bob', sub: null }, 'claim sub'],
      [{ username: 'bob', ...without('sub', 'aud') }, 'claim aud'],
    ],
    { optionalClaims: ['sub'] },
    { user: ({ username }) => ({ name: username }) },
    'bob',
  )
})

t.test('requireExp, audienceClaim and clockTolerance apply', async (t) => {
  await play(t, [[without('exp'), null]], {}, { requireExp: false })
  const byClient = { client_id: audience, token_use: 'access', ...without('aud', 'token_type') }
  await play(
    t,
    [
      [byClient, null],
      [{ ...byClient, client_id: 'other' }, 'claim client_id'],
      [{ ...byClient, ...without('token_use') }, 'claim token_use'],
    ],
    {},
    { audienceClaim: 'client_id' },
  )
  const now = epochSeconds()
  await play(t, [[{ exp: now - 60, nbf: now + 60 }, null]], {}, { clockTolerance: 120 })
})

t.test('an expired token, and one that is not valid yet, have their own codes', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  const now = epochSeconds()
  for (const exp of [now - 1, -1, 0.5]) {
    issuer.known.set(`expired${exp}`, issuer.active({ exp }))
    isRejection(t, await get(`expired${exp}`), expired, String(exp))
  }
  issuer.known.set('early', issuer.active({ nbf: now + 60 }))
  isRejection(t, await get('early'), early)
})

t.test('claims are those of the answer, frozen, and give scopes', async (t) => {
  const issuer = await startIntrospection(t)
  const seen: unknown[] = []
  const user: IssuerOptions['user'] = (claims) => {
    seen.push(Object.isFrozen(claims), Object.isFrozen((claims.deep as object[] | undefined)?.[0]))
    return { name: claims.sub }
  }
  const { app, get } = await introspectingApp(t, issuer, {}, { user })
  const answer = issuer.active({ scope: 'notes:read', deep: [{ a: 1 }] })
  issuer.misbehave = answering(JSON.stringify(answer).replace(/}$/, ',"__proto__":{"admin":true}}'))
  const claims = (await get('good', '/claims')).body
  t.match(JSON.parse(claims), {
    jwtClaims: { active: true, scope: 'notes:read', deep: [{ a: 1 }] },
  })
  isWelcome(t, await get('good', '/notes'), 'alice')
  t.strictSame(seen, [true, true, true, true], 'the user is looked up at each request')
  issuer.misbehave = null
  issuer.known.set('no-scope', issuer.active())
  t.equal((await get('no-scope', '/notes')).statusCode, 403)
  t.equal(app.authn.stats().issuers.corp?.introspection?.cached, 2)
})

t.test('answers are used for `cache` seconds, by both clocks', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer, { cache: 20 })
  const steady = movableClock(t)
  const wall = clockOf(t)
  const asks = async (token: string): Promise<number> => {
    isWelcome(t, await get(token), 'alice')
    return issuer.forms.splice(0).length
  }
  issuer.known.set('good', issuer.active())
  t.equal(await asks('good'), 1)
  t.equal(await asks('good'), 0)
  wall.advance(19)
  t.equal(await asks('good'), 0)
  wall.advance(1)
  t.equal(await asks('good'), 1)
  await steady.advance(19_000)
  t.equal(await asks('good'), 0)
  await steady.advance(1_001)
  t.equal(await asks('good'), 1)
  wall.advance(-25)
  t.equal(await asks('good'), 1, 'a clock that is set back makes nothing younger')
})

t.test('no answer is used beyond exp, whatever clockTolerance is', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer, {}, { clockTolerance: 30 })
  const { advance } = clockOf(t)
  issuer.known.set('short', issuer.active({ exp: epochSeconds() + 10, nbf: epochSeconds() }))
  isWelcome(t, await get('short'), 'alice')
  advance(8)
  isWelcome(t, await get('short'), 'alice')
  t.equal(issuer.forms.length, 1)
  advance(5)
  isWelcome(t, await get('short'), 'alice', 'within clockTolerance')
  isWelcome(t, await get('short'), 'alice')
  t.equal(issuer.forms.length, 3, 'the server is asked each time')
  advance(30)
  isRejection(t, await get('short'), expired)
})

t.test('nbf is validated at each use of an answer', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  const { advance } = clockOf(t)
  issuer.known.set('good', issuer.active({ nbf: epochSeconds() - 5 }))
  isWelcome(t, await get('good'), 'alice')
  advance(-20)
  isRejection(t, await get('good'), early)
})

t.test('rejected tokens are kept for 5 seconds, and cache: 0 keeps nothing', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  const { advance } = clockOf(t)
  issuer.known.set('other', issuer.active({ aud: 'x' }))
  const ask = async (): Promise<void> => {
    isRejection(t, await get('unknown'), invalid)
    isRejection(t, await get('other'), invalid)
  }
  await ask()
  await ask()
  t.equal(issuer.forms.length, 2)
  issuer.known.set('unknown', issuer.active())
  advance(4)
  await ask()
  t.equal(issuer.forms.length, 2)
  advance(1)
  isWelcome(t, await get('unknown'), 'alice', 'a replica knows it by now')
  isRejection(t, await get('other'), invalid)
  t.equal(issuer.forms.length, 4)

  const never = await introspectingApp(t, issuer, { cache: 0 })
  for (let time = 0; time < 2; time += 1) {
    isWelcome(t, await never.get('unknown'), 'alice')
    isRejection(t, await never.get('other'), invalid)
  }
  t.equal(issuer.forms.length, 8)
  t.equal(never.app.authn.stats().issuers.corp?.introspection?.cached, 0)
})

t.test('at most 8 MiB of answers are kept', async (t) => {
  const issuer = await startIntrospection(t)
  const { get, app } = await introspectingApp(t, issuer)
  issuer.misbehave = answering(JSON.stringify(issuer.active({ long: 'x'.repeat(60_000) })))
  for (let at = 0; at < 150; at += 1) isWelcome(t, await get(`token-${at}`), 'alice')
  const { cached = 0 } = app.authn.stats().issuers.corp?.introspection ?? {}
  t.ok(cached > 130 && cached < 140, String(cached))
})

t.test('a flood of bad tokens displaces no good one', async (t) => {
  const issuer = await startIntrospection(t)
  const { get, app } = await introspectingApp(t, issuer)
  issuer.known.set('good', issuer.active())
  isWelcome(t, await get('good'), 'alice')
  for (let at = 0; at < 1_100; at += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, more) => get(`bad-${at + more}`)))
  }
  t.equal(issuer.forms.length, 1_101)
  isRejection(t, await get('bad-1099'), invalid)
  isWelcome(t, await get('good'), 'alice')
  t.equal(issuer.forms.length, 1_101)
  isRejection(t, await get('bad-0'), invalid)
  t.equal(issuer.forms.length, 1_102, 'the oldest of them was forgotten')
  t.strictSame(app.authn.stats().issuers.corp?.introspection, {
    requests: 1_102,
    failures: 0,
    cached: 1,
  })
})
