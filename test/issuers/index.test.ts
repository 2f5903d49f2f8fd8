import t, { type Test } from 'tap'
import { AuthenticationError, type AuthnOptions, type IssuerOptions } from '../../lib/index.js'
import { clockOf } from '../helpers/clock.js'
import { appWith, bearer } from '../helpers/app.js'
import {
  isFault,
  isRejection,
  isWelcome,
  probe,
  messages,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'
import { goodKey, jwkOf, keysPath, startIssuer, type TestIssuer } from '../helpers/issuer.js'
import { busy, leaveOneOfTwo, settle, tally, until } from '../helpers/load.js'
import { eventsOf } from '../helpers/sessions.js'
import { keys } from '../helpers/tokens.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const waiting = { status: 503, error: busy, challenge: null }
const unknown = { error: messages.invalid, challenge: tokenChallenge('The token is not accepted') }

async function setting(
  t: Test,
  issuer: TestIssuer,
  more: Partial<IssuerOptions> = {},
  options: AuthnOptions = {},
) {
  const { handler } = probe()
  const app = await appWith(t, { issuers: { corp: issuer.options(more) }, ...options }, (app) => {
    app.get('/', { config: { auth: { use: 'corp' } } }, handler)
    app.get('/notes', { config: { auth: { use: 'corp', scope: 'notes:read' } } }, handler)
    app.get('/claims', { config: { auth: { use: 'corp', mode: 'try' } } }, ({ extra }) => extra)
  })
  return { app, get: (token: string) => app.inject({ url: '/', headers: bearer(token) }) }
}

t.test('the keys are fetched when the app is ready', async (t) => {
  const issuer = await startIssuer(t)
  const { get, app } = await setting(t, issuer)
  await until(() => app.authn.stats().issuers.corp?.keys === 1, 'the keys are there')
  isWelcome(t, await get(issuer.token()), 'alice')
  t.strictSame(app.authn.stats().issuers, { corp: { keys: 1, fetches: 1, failures: 0, age: 0 } })
  t.strictSame(app.authn.authenticators, ['corp'])
})

t.test('no user is looked up for a client that leaves while its request waits', async (t) => {
  const issuer = await startIssuer(t)
  let answer: () => void = () => undefined
  issuer.answers.set(keysPath, (response) => {
    answer = () => response.end(JSON.stringify({ keys: issuer.published }))
  })
  const names: unknown[] = []
  const user = ({ sub }: { readonly sub?: unknown }): object => {
    names.push(sub)
    return { name: sub }
  }
  const { app } = await setting(t, issuer, { user })
  const headersOf = (sub: string) => bearer(issuer.token({ claims: { sub } }))
  const patient = await leaveOneOfTwo(t, app, [headersOf('mallory'), headersOf('alice')], {
    isAsked: () => issuer.fetches() === 1,
    answer: () => answer(),
  })
  isWelcome(t, patient, 'alice')
  t.strictSame(names, ['alice'])
})

t.test('startup and close() do not wait for an issuer', async (t) => {
  const issuer = await startIssuer(t)
  issuer.answers.set(keysPath, () => undefined)
  const { app, get } = await setting(t, issuer)
  await until(() => issuer.fetches() === 1, 'the set is asked for')
  const answer = get(issuer.token())
  isRejection(t, await get('x'), invalid, 'what is no token need not wait')
  await app.close()
  isRejection(t, await answer, waiting)
})

t.test('requests of one client that wait for keys keep no other client out', async (t) => {
  const issuer = await startIssuer(t)
  let answer = (): unknown => undefined
  issuer.answers.set(keysPath, (response) => {
    answer = () => response.end(JSON.stringify({ keys: [goodKey] }))
  })
  const { app, get } = await setting(t, issuer)
  await until(() => issuer.fetches() === 1, 'the set is asked for')
  const many = Array.from({ length: 1_100 }, () => get(issuer.token()))
  const headers = bearer(issuer.token())
  const other = app.inject({ url: '/', headers, remoteAddress: '192.0.2.1' })
  await settle()
  answer()
  isWelcome(t, await other, 'alice')
  t.strictSame(tally(await Promise.all(many)), { 200: 1_016, 503: 84 })
  t.equal(issuer.fetches(), 1)
})

t.test('the log says that a token is opaque, and that the claim scope is a list', async (t) => {
  const issuer = await startIssuer(t)
  const { app } = await setting(t, issuer)
  const get = (token: string, url = '/') => app.inject({ url, headers: bearer(token) })
  const failures = eventsOf(t, 'failure')
  isRejection(t, await get('2YotnFZFEjr1zCsicMWpAA'), invalid)
  t.match(failures.splice(0), [{ reason: /opaque.*introspection/ }])
  isRejection(t, await get(issuer.token().slice(0, 90)), invalid)
  t.notMatch(failures.splice(0)[0]?.reason, /opaque/)
  const listed = issuer.token({ claims: { scope: ['x', 'notes:read'] } })
  t.equal((await get(listed, '/notes')).statusCode, 403)
  t.match(failures.splice(0), [{ reason: /needs scope notes:read.*"scope" is a list/ }])
  t.equal((await get(issuer.token({ claims: { scope: 'x' } }), '/notes')).statusCode, 403)
  t.equal(failures[0]?.reason, 'needs scope notes:read')
})

t.test('200 tokens with unknown kids cause one fetch', async (t) => {
  const issuer = await startIssuer(t)
  const { get, app } = await setting(t, issuer)
  isWelcome(t, await get(issuer.token()), 'alice')
  const { advance } = clockOf(t)
  const flood = (): Promise<AnyResponse[]> =>
    Promise.all(
      Array.from({ length: 200 }, (_, at) => get(issuer.token({ header: { kid: `k${at}` } }))),
    )
  t.strictSame(tally(await flood()), { 401: 200 })
  t.equal(issuer.fetches(), 1, 'within 30 seconds: none')
  advance(31)
  t.strictSame(tally(await flood()), { 401: 200 })
  t.equal(issuer.fetches(), 2)
  isWelcome(t, await get(issuer.token()), 'alice')
  t.equal(app.authn.stats().issuers.corp?.failures, 0)
})

t.test('a token of an algorithm that the issuer does not list gets a 401', async (t) => {
  const issuer = await startIssuer(t)
  issuer.published.push(jwkOf(keys.rsa, { kid: 'rsa' }))
  const { get } = await setting(t, issuer, { algorithms: ['ES256'] })
  isWelcome(t, await get(issuer.token()), 'alice')
  const rsa = { key: keys.rsa.privateKey, alg: 'RS256' as const, header: { kid: 'rsa' } }
  isRejection(t, await get(issuer.token(rsa)), invalid)
})

t.test('the claims are in request.extra, and a missing scope gets a 403', async (t) => {
  const issuer = await startIssuer(t)
  const { app } = await setting(t, issuer)
  const headers = bearer(issuer.token({ claims: { scope: 'x' } }))
  const claims = { iss: issuer.url, sub: 'alice', scope: 'x' }
  t.match((await app.inject({ url: '/claims', headers })).json(), { jwtClaims: claims })
  t.equal((await app.inject({ url: '/notes', headers })).statusCode, 403)
})

t.test('user() decides between a 200, a 401 and a 500, and is a 503 if it is slow', async (t) => {
  const issuer = await startIssuer(t)
  const welcome = (response: AnyResponse): unknown => isWelcome(t, response, 'alice')
  const unauthorized = (response: AnyResponse): unknown => isRejection(t, response, unknown)
  const fault = (response: AnyResponse): unknown => isFault(t, response)
  const secret = new TypeError('secret')
  const rejected = new AuthenticationError('auth.invalid-credentials')
  const thrown = (error: Error) => () => {
    throw error
  }
  const answers: [IssuerOptions['user'], (response: AnyResponse) => unknown][] = [
    [async ({ sub }) => ({ name: sub }), welcome],
    [() => null, unauthorized],
    [async () => undefined, unauthorized],
    [thrown(rejected), unauthorized],
    [() => Promise.reject(rejected), unauthorized],
    [() => [], fault],
    [async () => 'alice', fault],
    [() => new Error('no'), fault],
    [thrown(secret), fault],
    [() => Promise.reject(secret), fault],
  ]
  for (const [user, check] of answers) {
    const { get } = await setting(t, issuer, { user })
    check(await get(issuer.token()))
  }
  const own = await setting(t, issuer, { user: thrown(new AuthenticationError('Not here.')) })
  isRejection(t, await own.get(issuer.token()), { ...unknown, error: 'Not here.', language: null })
  const seen: unknown[] = []
  const user: IssuerOptions['user'] = (claims, request) => {
    seen.push(Object.isFrozen(claims), request.url)
    return new Promise(() => undefined)
  }
  const slow = await setting(t, issuer, { user }, { userServiceTimeout: 0.05 })
  isRejection(t, await slow.get(issuer.token()), waiting)
  t.strictSame(seen, [true, '/'])
})

t.test('a valid token is accepted only if trusted() returns true', async (t) => {
  const issuer = await startIssuer(t)
  const calls: unknown[] = []
  const users: unknown[] = []
  let answer = (): unknown => true
  const trusted = (claims: object, request: { readonly url: string }): boolean => {
    calls.push([(claims as { sub?: unknown }).sub, request.url, users.length])
    return answer() as boolean
  }
  const user: IssuerOptions['user'] = ({ sub }) => {
    users.push(sub)
    return { name: sub }
  }
  const { get } = await setting(t, issuer, { user, trusted }, { userServiceTimeout: 0.05 })
  isWelcome(t, await get(issuer.token()), 'alice')
  t.strictSame(calls, [['alice', '/', 0]], 'before the user is looked up')
  answer = async () => true
  isWelcome(t, await get(issuer.token()), 'alice')
  users.length = 0
  for (const other of [false, undefined, 1, 'true', Promise.resolve(1)]) {
    answer = () => other
    isRejection(t, await get(issuer.token()), invalid, typeof other)
  }
  answer = () => Promise.reject(new AuthenticationError('auth.invalid-credentials'))
  isRejection(t, await get(issuer.token()), unknown)
  answer = () => Promise.reject(new TypeError('secret'))
  isFault(t, await get(issuer.token()), 'ERR_AUTH_AUTHENTICATOR')
  answer = () => new Promise(() => undefined)
  isRejection(t, await get(issuer.token()), waiting)
  t.strictSame(users, [], 'no user is looked up')
  calls.length = 0
  isRejection(t, await get(issuer.token({ claims: { aud: 'x' } })), invalid)
  t.strictSame(calls, [], 'an invalid token is not asked about')
})
