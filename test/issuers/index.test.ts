import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, type AuthnOptions, type IssuerOptions } from '../../lib/index.js'
import { appWith, bearer, logLines, type TestApp } from '../helpers/app.js'
import {
  isFault,
  isRefusal,
  isWelcome,
  listen,
  probe,
  send,
  texts,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'
import {
  clockOf,
  goodKey,
  jwkOf,
  keysPath,
  startIssuer,
  type TestIssuer,
} from '../helpers/issuer.js'
import { busy, retryAfterOf, tally, until } from '../helpers/load.js'
import { keys, now } from '../helpers/tokens.js'

const invalid = { error: texts.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const waiting = { status: 503, error: busy, challenge: null }
const unknown = { error: texts.invalid, challenge: tokenChallenge('The token is not accepted') }

interface Setting {
  readonly app: TestApp
  readonly get: (token: string) => Promise<AnyResponse>
}

async function setting(
  t: Test,
  issuer: TestIssuer,
  more: Partial<IssuerOptions> = {},
  options: AuthnOptions = {},
  server: FastifyServerOptions = {},
): Promise<Setting> {
  const { handler } = probe()
  const routes = (app: FastifyInstance): void => {
    app.get('/', { config: { auth: { use: 'corp' } } }, handler)
    app.get('/notes', { config: { auth: { use: 'corp', scope: 'notes:read' } } }, handler)
    app.get('/claims', { config: { auth: { use: 'corp', mode: 'try' } } }, ({ extra }) => extra)
  }
  const issuers = { corp: issuer.options(more) }
  const app = await appWith(t, { issuers, ...options }, routes, server)
  return { app, get: (token) => app.inject({ url: '/', headers: bearer(token) }) }
}

t.test('the keys are fetched when the app is ready', async (t) => {
  const issuer = await startIssuer(t)
  const { get, app } = await setting(t, issuer)
  await until(() => app.authn.stats().issuers.corp?.keys === 1, 'the keys are there')
  isWelcome(t, await get(issuer.token()), 'alice')
  t.strictSame(app.authn.stats().issuers, { corp: { keys: 1, fetches: 1, failures: 0, age: 0 } })
  t.strictSame(app.authn.authenticators, ['corp'])
})

t.test('a client that leaves while its request waits for keys: nobody is looked up', async (t) => {
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
  const arrived = new Set<string>()
  let left = 0
  app.server.on('request', ({ headers, socket }) => {
    arrived.add(String(headers['x-who']))
    socket.once('close', () => (left += 1))
  })
  const port = await listen(app)
  const ask = (who: string, signal?: AbortSignal): ReturnType<typeof send> => {
    const headers = { ...bearer(issuer.token({ claims: { sub: who } })), 'x-who': who }
    return send(port, { path: '/', headers, ...(signal !== undefined && { signal }) })
  }
  const client = new AbortController()
  const hanging = ask('mallory', client.signal)
  const patient = ask('alice')
  await until(() => issuer.fetches() === 1 && arrived.size === 2, 'both wait')
  client.abort()
  await t.rejects(hanging, { name: 'AbortError' })
  await until(() => left === 1, 'the server knows that one has left')
  answer()
  isWelcome(t, await patient, 'alice')
  t.strictSame(names, ['alice'])
})

t.test('the boot does not wait for an issuer, nor does closing', async (t) => {
  const issuer = await startIssuer(t)
  issuer.answers.set(keysPath, () => undefined)
  const { app, get } = await setting(t, issuer)
  await until(() => issuer.fetches() === 1, 'the set is asked for')
  const answer = get(issuer.token())
  isRefusal(t, await get('x'), invalid, 'what is no token need not wait')
  await app.close()
  isRefusal(t, await answer, waiting)
})

t.test('200 unknown kids: one fetch', async (t) => {
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

t.test('rotation under load: old and new keys are both accepted', async (t) => {
  const issuer = await startIssuer(t)
  const { get } = await setting(t, issuer)
  const old = issuer.token({ claims: { exp: now() + 9_999 } })
  isWelcome(t, await get(old), 'alice')
  const { advance } = clockOf(t)
  const next = {
    key: keys.rsa.privateKey,
    alg: 'RS256',
    header: { kid: 'next' },
    claims: { exp: now() + 9_999 },
  } as const
  advance(31)
  isRefusal(t, await get(issuer.token(next)), invalid, 'used before it is published')
  issuer.published = [goodKey, jwkOf(keys.rsa, { kid: 'next', alg: 'RS256' })]
  advance(31)
  const tokens = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? old : issuer.token(next)))
  t.strictSame(tally(await Promise.all(tokens.map(get))), { 200: 100 })
  t.equal(issuer.fetches(), 3)
})

t.test('an issuer that is down: tokens go on for an hour, and then get a 503', async (t) => {
  const issuer = await startIssuer(t)
  const { lines, stream } = logLines()
  const { app, get } = await setting(t, issuer, {}, {}, { logger: { stream, level: 'info' } })
  const { advance } = clockOf(t)
  const fresh = (): Promise<AnyResponse> =>
    get(issuer.token({ claims: { exp: Math.floor(Date.now() / 1000) + 60 } }))
  isWelcome(t, await fresh(), 'alice')
  await issuer.kill()
  advance(4_100)
  isWelcome(t, await fresh(), 'alice', 'for more than an hour')
  await until(() => app.authn.stats().issuers.corp?.failures === 1, 'the renewing has failed')
  isRefusal(t, await get(issuer.token({ header: { kid: 'new' } })), invalid)
  advance(101)
  const rejected = await fresh()
  isRefusal(t, rejected, waiting)
  t.ok(retryAfterOf(rejected) >= 1)
  isRefusal(t, await get(''), {
    error: texts.none,
    challenge: 'Bearer realm="Authorization required"',
  })
  await issuer.revive()
  advance(31)
  isWelcome(t, await fresh(), 'alice', 'it is back')
  const failure = { level: 40, issuer: 'corp', reason: /^the connection failed \(/, keys: 1 }
  t.match(
    lines.find(({ reason }) => /connection/.test(String(reason))),
    failure,
  )
  t.ok(lines.some(({ code }) => code === 'ERR_AUTH_ISSUER_UNAVAILABLE'))
})

t.test('never loaded: 503, and neither a 401 nor a 500', async (t) => {
  const issuer = await startIssuer(t)
  issuer.answers.set(keysPath, (response) => response.end('<h1>secret</h1>'))
  const { get } = await setting(t, issuer)
  for (let at = 0; at < 3; at += 1) {
    const response = await get(issuer.token())
    isRefusal(t, response, waiting)
    t.equal(retryAfterOf(response), 1)
  }
  isRefusal(t, await get(issuer.token({ header: { kid: undefined } })), invalid)
  t.equal(issuer.fetches(), 1)
})

t.test('scopes are those of the claims, which are in request.extra', async (t) => {
  const issuer = await startIssuer(t)
  const { app } = await setting(t, issuer)
  const notes = (claims: object): Promise<AnyResponse> =>
    app.inject({ url: '/notes', headers: bearer(issuer.token({ claims })) })
  isWelcome(t, await notes({ scope: 'x notes:read' }), 'alice')
  isWelcome(t, await notes({ scp: ['notes:read'] }), 'alice')
  t.equal((await notes({ scope: 'notes' })).statusCode, 403)
  t.equal((await notes({})).statusCode, 403)
  const headers = bearer(issuer.token({ claims: { scope: 'x' } }))
  t.match((await app.inject({ url: '/claims', headers })).json(), {
    jwtClaims: { iss: issuer.url, sub: 'alice', scope: 'x' },
  })
})

t.test('users: found, not found, rejected, broken', async (t) => {
  const issuer = await startIssuer(t)
  const welcome = (response: AnyResponse): unknown => isWelcome(t, response, 'alice')
  const unauthorized = (response: AnyResponse): unknown => isRefusal(t, response, unknown)
  const fault = (response: AnyResponse): unknown => isFault(t, response)
  const secret = new TypeError('secret')
  const refused = new AuthenticationError('auth.invalid-credentials')
  const thrown = (error: Error) => () => {
    throw error
  }
  const answers: [IssuerOptions['user'], (response: AnyResponse) => unknown][] = [
    [async ({ sub }) => ({ name: sub }), welcome],
    [() => null, unauthorized],
    [async () => undefined, unauthorized],
    [thrown(refused), unauthorized],
    [() => Promise.reject(refused), unauthorized],
    [() => [], fault],
    [async () => 'alice' as never, fault],
    [() => new Error('no'), fault],
    [thrown(secret), fault],
    [() => Promise.reject(secret), fault],
  ]
  for (const [user, check] of answers) {
    const { get } = await setting(t, issuer, { user })
    check(await get(issuer.token()))
  }
  const own = await setting(t, issuer, { user: thrown(new AuthenticationError('Not here.')) })
  isRefusal(t, await own.get(issuer.token()), { ...unknown, error: 'Not here.', language: null })
})

t.test('user() gets the claims and the request, and has userServiceTimeout', async (t) => {
  const issuer = await startIssuer(t)
  const seen: unknown[] = []
  const user: IssuerOptions['user'] = (claims, request) => {
    seen.push(Object.isFrozen(claims), request.url)
    return claims.sub === 'slow' ? new Promise(() => undefined) : { name: 'x' }
  }
  const { get } = await setting(t, issuer, { user }, { userServiceTimeout: 0.05 })
  isWelcome(t, await get(issuer.token()), 'x')
  t.strictSame(seen, [true, '/'])
  isRefusal(t, await get(issuer.token({ claims: { sub: 'slow' } })), waiting)
})
