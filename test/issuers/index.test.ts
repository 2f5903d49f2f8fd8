// Also holds lib/issuers/user.ts and lib/issuers/user-finders.ts.
import t, { type Test } from 'tap'
import { AuthenticationError, type AuthnOptions, type IssuerOptions } from '../../lib/index.js'
import { appWith, bearer, logLines, userService, type TestApp } from '../helpers/app.js'
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
const nobody = { error: texts.invalid, challenge: tokenChallenge('The token is not accepted') }

interface Setting {
  readonly app: TestApp
  readonly get: (token: string) => Promise<AnyResponse>
}

async function setting(
  t: Test,
  issuer: TestIssuer,
  more: Partial<IssuerOptions> = {},
  options: AuthnOptions = {},
): Promise<Setting> {
  const { handler } = probe()
  const app = await appWith(t, { issuers: { corp: issuer.options(more) }, ...options }, (app) => {
    app.get('/', { config: { auth: { use: 'corp' } } }, handler)
    app.get('/notes', { config: { auth: { use: 'corp', scope: 'notes:read' } } }, handler)
    app.get('/claims', { config: { auth: { use: 'corp', mode: 'try' } } }, ({ extra }) => extra)
  })
  return { app, get: (token) => app.inject({ url: '/', headers: bearer(token) }) }
}

t.test(
  'a token of an issuer lets its user in; the keys are fetched when the app is ready',
  async (t) => {
    const issuer = await startIssuer(t)
    const { get, app } = await setting(t, issuer)
    await until(() => app.authn.stats().issuers.corp?.keys === 1, 'the keys are there')
    isWelcome(t, await get(issuer.token()), 'alice')
    t.strictSame(app.authn.stats().issuers, { corp: { keys: 1, fetches: 1, failures: 0, age: 0 } })
    t.strictSame(app.authn.authenticators, ['corp'])
  },
)

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

t.test(
  'rotation under load: a known key is never refused, and the new one is accepted',
  async (t) => {
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
  },
)

t.test('an issuer that is down: tokens go on for an hour, and then get a 503', async (t) => {
  const issuer = await startIssuer(t)
  const { lines, stream } = logLines()
  const { handler } = probe()
  const app = await appWith(
    t,
    { issuers: { corp: issuer.options() } },
    (app) => void app.get('/', { config: { auth: true } }, handler),
    { logger: { stream, level: 'info' } },
  )
  const { advance } = clockOf(t)
  const fresh = (): Promise<AnyResponse> =>
    app.inject({
      url: '/',
      headers: bearer(issuer.token({ claims: { exp: Math.floor(Date.now() / 1000) + 60 } })),
    })
  isWelcome(t, await fresh(), 'alice')
  await issuer.kill()
  advance(300)
  isWelcome(t, await fresh(), 'alice', 'for 5 minutes')
  advance(3_800)
  isWelcome(t, await fresh(), 'alice', 'for more than an hour')
  await until(() => app.authn.stats().issuers.corp?.failures === 1, 'the renewing has failed')
  isRefusal(
    t,
    await app.inject({ url: '/', headers: bearer(issuer.token({ header: { kid: 'new' } })) }),
    invalid,
  )
  advance(101)
  const refused = await fresh()
  isRefusal(t, refused, waiting)
  t.ok(retryAfterOf(refused) >= 1)
  isRefusal(t, await app.inject('/'), {
    error: texts.none,
    challenge: 'Bearer realm="Authorization required"',
  })
  await issuer.revive()
  advance(31)
  isWelcome(t, await fresh(), 'alice', 'it is back')
  t.match(
    lines.find(({ msg }) => /keys of an issuer/.test(String(msg))),
    {
      level: 40,
      issuer: 'corp',
      reason: /^the connection failed \(/,
      keys: 1,
    },
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

t.test('users: found, not found, refused, broken', async (t) => {
  const issuer = await startIssuer(t)
  const answers: [string, IssuerOptions['user'], (t: Test, response: AnyResponse) => void][] = [
    [
      'a promise',
      async ({ sub }) => ({ name: sub }),
      (t, response) => isWelcome(t, response, 'alice'),
    ],
    ['null', () => null, (t, response) => isRefusal(t, response, nobody)],
    ['undefined, later', async () => undefined, (t, response) => isRefusal(t, response, nobody)],
    ['an array', () => [], (t, response) => isFault(t, response)],
    ['a text, later', async () => 'alice', (t, response) => isFault(t, response)],
    ['an error that is returned', () => new Error('no'), (t, response) => isFault(t, response)],
    [
      'a throw',
      () => {
        throw new TypeError('secret')
      },
      (t, response) => isFault(t, response),
    ],
    [
      'a rejection',
      () => Promise.reject(new TypeError('secret')),
      (t, response) => isFault(t, response),
    ],
    [
      'a refusal',
      () => {
        throw new AuthenticationError('Not here.')
      },
      (t, response) =>
        isRefusal(t, response, {
          error: 'Not here.',
          challenge: tokenChallenge('The token is not accepted'),
          language: null,
        }),
    ],
    [
      'a refusal, later',
      () => Promise.reject(new AuthenticationError('auth.invalid-credentials')),
      (t, response) => isRefusal(t, response, nobody),
    ],
  ]
  for (const [what, user, check] of answers) {
    const { get } = await setting(t, issuer, { user })
    await t.test(what, async (t) => check(t, await get(issuer.token())))
  }
})

t.test(
  'user() is called on its options, with the claims and the request, and not for ever',
  async (t) => {
    const issuer = await startIssuer(t)
    const seen: unknown[] = []
    const corp = issuer.options({
      user(claims, request) {
        seen.push(this === corp, Object.isFrozen(claims), request.url)
        return claims.sub === 'slow' ? new Promise(() => undefined) : { name: 'x' }
      },
    })
    const app = await appWith(t, { issuers: { corp }, userServiceTimeout: 0.05 }, (app) => {
      app.get('/', { config: { auth: true } }, probe().handler)
    })
    const get = (sub: string): Promise<AnyResponse> =>
      app.inject({ url: '/', headers: bearer(issuer.token({ claims: { sub } })) })
    isWelcome(t, await get('alice'), 'x')
    t.strictSame(seen, [true, true, '/'])
    isRefusal(t, await get('slow'), waiting)
  },
)

t.test('by sub, in the user service', async (t) => {
  const issuer = await startIssuer(t)
  const users = userService()
  const { get } = await setting(t, issuer, { user: undefined }, { userService: users })
  isWelcome(t, await get(issuer.token()), 'alice')
  isRefusal(t, await get(issuer.token({ claims: { sub: 'carol' } })), nobody)
  t.strictSame(users.asked, ['alice', 'carol'])
  const failing = {
    findByUsername: () => {
      throw new AuthenticationError('auth.invalid-credentials')
    },
  }
  const broken = await setting(t, issuer, { user: undefined }, { userService: failing })
  isFault(t, await broken.get(issuer.token()))
})
