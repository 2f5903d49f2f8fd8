// The entries of `fastify-authn/providers`, each with a stand-in that does what the provider does, and refuses what it refuses.
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { cost, fastify, rawLines, secret } from '../helpers/app.js'
import { cookieOf, type Headers } from '../helpers/client.js'
import { linesOf, tls } from '../helpers/cookies.js'
import { isAttempt } from '../helpers/login-app.js'
import { play, standIns, type StandIn } from '../helpers/stand-ins.js'

const callbackUrl = 'https://shop.example/login/one/callback'

/** An app with a table of users, whose users log in with this provider. @param claims - that `username` would get */
async function open(t: Test, provider: StandIn, more: object = {}) {
  const seen: Record<string, unknown>[] = []
  const { lines, stream } = rawLines()
  const app = fastify(t, { logger: { stream }, trustProxy: true })
  const played = play(t, provider, callbackUrl)
  await app.register(authn, {
    users: {
      store: memoryUsers(),
      newUser: ({ claims }: { claims: Record<string, unknown> }) => (seen.push(claims), {}),
    },
    jwt: { secret },
    hashing: { cost },
    throttle: false,
    errorBody: ({ code }: { code: string }) => ({ code }),
    sessions: true,
    cookies: true,
    loginWith: { one: provider.entry(more) },
  } as unknown as AuthnOptions)
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  await app.ready()
  const get = (url: string, cookie = '') =>
    app.inject({ url, headers: { ...tls, ...(cookie && { cookie }) } })
  const begin = async (isCancelled = false) => {
    const begun = await get('/login/one')
    if (begun.statusCode !== 303) throw new Error(`${begun.statusCode}: ${begun.body}`)
    const sent = played.visit(String(begun.headers.location), isCancelled)
    if (typeof sent === 'string') throw new Error(`the provider shows a page: ${sent}`)
    return { sent, cookie: cookieOf(begun) }
  }
  const finish = async ({ sent, cookie }: Awaited<ReturnType<typeof begin>>) => {
    if (!provider.hasForm) return get(`/login/one/callback?${sent.toString()}`, cookie)
    const headers: Headers = {
      ...tls,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'cross-site',
      origin: new URL(provider.authorize).origin,
    }
    const url = '/login/one/callback'
    const led = await app.inject({ method: 'POST', url, headers, payload: sent.toString() })
    return get(String(led.headers.location), cookie)
  }
  return {
    ...played,
    app,
    get,
    lines,
    seen,
    begin,
    finish,
    logIn: async () => finish(await begin()),
  }
}

for (const [name, provider] of Object.entries(standIns)) {
  t.test(`${name}: a user logs in, with one line of an app`, async (t) => {
    const { app, get, logIn, seen, asked, state } = await open(t, provider)
    const response = await logIn()
    t.equal(response.statusCode, 303, response.body)
    const { iss, ...claims } = seen[0] ?? {}
    t.equal(iss, provider.issuer)
    t.match(claims, provider.claims)
    const me = (await get('/me', cookieOf(response))).json<{ id: string; email: unknown }>()
    const { email, email_verified: isVerified, sub: subject } = provider.claims
    t.equal(me.email, isVerified === true ? email : null)
    t.match(await app.authn.users.identities(me.id), [
      { provider: 'one', issuer: provider.issuer, subject },
    ])
    const metadata = `${provider.issuer}/.well-known/openid-configuration`
    t.equal(asked.includes(metadata), provider.hasMetadata === true)
    t.equal((await logIn()).statusCode, 303, 'again')
    t.equal(seen.length, 1, 'the same user')

    for (const [at, [change, expected]] of provider.unverified.entries()) {
      const isApi = provider.keys === undefined
      state.user = { ...provider.user, ...(isApi ? change : { ...change, sub: `other ${at}` }) }
      const other = await open(t, provider)
      other.state.user = state.user
      t.equal((await other.logIn()).statusCode, 303, JSON.stringify(change))
      const found = other.seen[0] ?? {}
      const shown = expected === undefined ? found.email : found.email_verified
      t.equal(shown, expected, JSON.stringify(change))
      if (expected === undefined) t.not(found.email_verified, true, JSON.stringify(change))
    }
  })

  t.test(
    `${name}: what the provider refuses is no login, and the log tells no secret`,
    async (t) => {
      const { begin, finish, lines, state, asked } = await open(t, provider)
      const begun = await begin()
      t.equal((await finish(begun)).statusCode, 303)
      const again = await finish(begun)
      t.equal(again.statusCode, 401, 'a code that was used')
      t.ok(linesOf(again).every(isAttempt))
      const cancelled = await finish(await begin(true))
      t.match([cancelled.statusCode, cancelled.json()], [401, { code: 'ERR_AUTH_LOGIN_DENIED' }])
      const issuer = await begin()
      issuer.sent.set('iss', 'https://evil.example')
      asked.length = 0
      t.equal((await finish(issuer)).statusCode, 401, 'another issuer')
      t.strictSame(asked, [])
      for (const body of [
        '',
        '<p>Hello',
        '{',
        'null',
        '[]',
        '"a"',
        `{"a":"${'a'.repeat(300_000)}"}`,
      ]) {
        state.replies.set(provider.token, [200, body])
        t.equal((await finish(await begin())).statusCode, 503)
      }
      state.replies.delete(provider.token)
      const wrong = provider.issuer.includes('apple')
        ? { clientSecret: () => 'e30.e30.e30' }
        : { clientSecret: 'another' }
      const other = await open(t, {
        ...provider,
        entry: () => ({ ...provider.entry({}), ...wrong }),
      })
      t.equal((await other.logIn()).statusCode, provider.onBadClient ?? 503, 'another secret')
      t.match(other.lines.join(''), /"reason":"[^"]*clientSecret/)
      for (const redirectUri of [`${callbackUrl}/below`, 'https://shop.example/login']) {
        const { begin } = await open(t, provider, { redirectUri })
        await t.rejects(begin(), /redirect_uri/)
      }
      const logged = [...lines, ...other.lines].join('')
      for (const text of ['the secret', 'the-access-token', 'eyJ', String(begun.sent.get('code'))])
        t.notMatch(logged, text)
    },
  )
}

t.test('what an API has as null is not there', async (t) => {
  for (const [name, provider] of Object.entries(standIns)) {
    if (provider.keys !== undefined) continue
    const { logIn, seen, state } = await open(t, provider)
    state.user = Object.fromEntries(
      Object.entries(provider.user).map(([api, body]) => [
        api,
        JSON.parse(JSON.stringify(body), (key, value: unknown) =>
          /name|login|picture|avatar/.test(key) ? null : value,
        ) as object,
      ]),
    )
    t.equal((await logIn()).statusCode, 303, name)
    t.notOk(Object.values(seen[0] ?? {}).includes(null), name)
  }
})

t.test('hostile bodies of an API give no user, and no 500', async (t) => {
  const odd: unknown[] = [
    'null',
    '[]',
    '7',
    '"a"',
    '{}',
    '{"id":null}',
    '{"id":{}}',
    '{"id":[7]}',
    '{"id":""}',
    '{"id":-1}',
    '{"data":null}',
    '{"data":7}',
    '{"data":[]}',
    '{"__proto__":{"id":7,"sub":"7","data":{"id":"7"}}}',
    '{"id":1e400,"sub":7.5}',
    `{"id":"${'a'.repeat(256)}"}`,
    '{"id":"\\ud800"}',
  ]
  for (const [name, provider] of Object.entries(standIns)) {
    if (provider.keys !== undefined) continue
    const { logIn, state } = await open(t, provider)
    const [first = ''] = Object.keys(provider.user)
    for (const body of odd) {
      state.replies.set(first, [200, String(body)])
      const { statusCode } = await logIn()
      t.ok([401, 503].includes(statusCode), `${name}: ${String(body).slice(0, 40)}: ${statusCode}`)
    }
    for (const api of Object.keys(provider.user)) {
      state.replies.clear()
      for (const status of [401, 429, 500, 503]) {
        state.replies.set(api, [status, '{}'])
        t.equal((await logIn()).statusCode, 503, `${name}: ${api} ${status}`)
      }
    }
  }
})
