import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { linesOf, tls } from '../helpers/cookies.js'
import { listen, send } from '../helpers/flows.js'
import { shortFiveSeconds } from '../helpers/load.js'
import { clientSecret, isAttempt, loginApp } from '../helpers/login-app.js'
import { json, startProvider, type TestProvider } from '../helpers/provider.js'
import { breakable, eventsOf, heldStore } from '../helpers/sessions.js'

type Answer = ReturnType<TestProvider['answers']['get']> & object

const invalid = [401, 'ERR_AUTH_LOGIN_INVALID'] as const
const unavailable = [503, 'ERR_AUTH_PROVIDER_UNAVAILABLE'] as const

/** A row: what an endpoint answers, the status and the code that the browser gets, and what the reason says. */
type Row = [answer: Answer, status: number, code: string, reason: RegExp]

const closed = 'a connection that breaks'
const faults: Readonly<Record<string, Row>> = {
  'status 500': [json({}, 500), ...unavailable, /500/],
  'status 503 with invalid_grant as text': [
    (r) => void r.writeHead(503).end('{"error":"invalid_grant"}'),
    ...unavailable,
    /503/,
  ],
  'status 404': [json({}, 404), ...unavailable, /404/],
  'status 302': [(r) => void r.writeHead(302, { location: '/keys' }).end(), ...unavailable, /302/],
  'status 200 of HTML': [
    (r) => void r.setHeader('content-type', 'text/html').end('<p>Hello'),
    ...unavailable,
    /200/,
  ],
  'no type': [(r) => void r.end('{}'), ...unavailable, /200/],
  'an empty body': [json(''), ...unavailable, /200/],
  'no JSON': [json('{"access'), ...unavailable, /200/],
  'a number': [json('7'), ...unavailable, /200/],
  'a list': [json('[]'), ...unavailable, /200/],
  'a body of 300 KiB': [json(`{"a":"${'a'.repeat(300 * 1024)}"}`), ...unavailable, /bytes/],
  [closed]: [(r) => void r.destroy(), ...unavailable, /failed/],
  'a body that breaks': [
    (r) =>
      void r
        .writeHead(200, { 'content-length': 99, 'content-type': 'application/json' })
        .write('{', () => r.destroy()),
    ...unavailable,
    /failed/,
  ],
}
const ofTokens: Readonly<Record<string, Row>> = {
  ...faults,
  invalid_grant: [
    json({ error: 'invalid_grant', error_description: 'a secret' }, 400),
    ...invalid,
    /rejected the code/,
  ],
  invalid_client: [json({ error: 'invalid_client' }, 401), ...unavailable, /401.*clientSecret/],
  'invalid_client with a challenge': [
    (r) =>
      json({ error: 'invalid_client' }, 401)(r.setHeader('www-authenticate', 'Basic realm="a"')),
    ...unavailable,
    /401.*clientSecret/,
  ],
  invalid_request: [json({ error: 'invalid_request' }, 400), ...invalid, /rejected the code/],
  'bad_client_secret with status 200': [
    json({ ok: false, error: 'bad_client_secret' }),
    ...unavailable,
    /clientSecret/,
  ],
  'an object': [json({}), ...invalid, /access_token/],
  'no access token': [json({ token_type: 'Bearer', id_token: 'a' }), ...invalid, /access_token/],
  'an error with status 200': [json({ error: 'invalid_grant' }), ...invalid, /rejected the code/],
  ...Object.fromEntries(
    Object.entries({
      token_type: [undefined, null, 7, '', ['a secret']],
      expires_in: ['a secret', {}, -1, null],
      refresh_token: [7, '', null],
      scope: [['a secret', 7], null, 7],
      id_token: [7, '', {}],
    }).flatMap(([member, values]) =>
      values.map((value): [string, Row] => {
        const good = { access_token: 'a', token_type: 'Bearer', id_token: 'a.a.a' }
        const reason = new RegExp(`^${member} of the token response`)
        return [
          `${member}: ${JSON.stringify(value)}`,
          [json({ ...good, [member]: value }), ...invalid, reason],
        ]
      }),
    ),
  ),
}
const ofKeys: Readonly<Record<string, Row>> = {
  ...faults,
  'an object': [json({}), ...unavailable, /no keys/],
  'keys that are no list': [json({ keys: {} }), ...unavailable, /no keys/],
  'keys that are no objects': [json({ keys: [null] }), ...unavailable, /no keys/],
  'no keys': [json({ keys: [] }), ...invalid, /kid/],
  'a broken key': [
    json({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'one', x: 'a', y: 'b' }] }),
    ...invalid,
    /./,
  ],
}
const ofUserinfo: Readonly<Record<string, Row>> = {
  ...faults,
  'status 401': [json({ error: 'invalid_token' }, 401), ...unavailable, /401/],
  'an object': [json({}), ...invalid, /^sub of UserInfo$/],
  'sub of another user': [json({ sub: 'bob', name: 'Bob' }), ...invalid, /^sub of UserInfo$/],
  'sub of another type': [json({ sub: ['alice'] }), ...invalid, /^sub of UserInfo$/],
}

t.test('a response of an endpoint that is not good is no login', async (t) => {
  const provider = await startProvider(t)
  for (const [path, rows] of Object.entries({
    '/token': ofTokens,
    '/keys': ofKeys,
    '/userinfo': ofUserinfo,
  })) {
    for (const [what, [answer, status, code, reason]] of Object.entries(rows)) {
      const title = `${path}: ${what}`
      // A new one has no keys yet.
      const { begin, finish, last, lines } = await loginApp(t, provider, { userinfo: true })
      const begun = await begin()
      provider.answers.set(path, answer)
      const response = await finish(begun)
      provider.answers.clear()
      t.equal(response.statusCode, status, title)
      t.equal(response.headers['retry-after'] !== undefined, status === 503, title)
      t.ok(
        linesOf(response).length === 1 && linesOf(response).every(isAttempt),
        `${title}: no session`,
      )
      const logged = JSON.stringify(lines)
      for (const secret of [
        clientSecret,
        begun.cookie,
        begun.callback.search,
        'a secret',
        ...begun.sent.getAll('nonce'),
      ]) {
        t.notOk(logged.includes(secret), `${title}: no secret in the log`)
      }
      t.match(last(), { code, provider: 'corp', reason }, title)
      // A closed connection may be an unused one of before. A code is never sent twice.
      const requests = what === closed && path !== '/token' ? 2 : 1
      t.equal(
        provider.take().filter((each) => each === path).length,
        requests,
        `${title}: how often it is asked`,
      )
    }
  }
})

/** Collects garbage, after which fetch() of Node 20 misses the abort of a signal. */
function collect(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  for (const wait of [20, 60]) setTimeout(gc, wait)
}

t.test('scopes may be an array, as those of Twitch are', async (t) => {
  const provider = await startProvider(t)
  let seen: object = {}
  const { logIn } = await loginApp(t, provider, {
    username: ({ sub }, _request, tokens) => ((seen = tokens), sub),
  })
  provider.response = { scope: ['openid', 'user:read:email'] }
  t.equal((await logIn()).statusCode, 303)
  t.match(seen, { scope: 'openid user:read:email', idToken: String })
})

t.test('tokens of another type are no login, and the log does not quote it', async (t) => {
  const provider = await startProvider(t)
  const { logIn, last, lines } = await loginApp(t, provider)
  provider.response = { token_type: 'a-type' }
  t.equal((await logIn()).statusCode, 401)
  t.notMatch(JSON.stringify(lines), 'a-type')
  t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason: 'token_type of the token response' })
})

t.test(
  'a provider that hangs is given up after five seconds, one that is down at once',
  async (t) => {
    const provider = await startProvider(t)
    const limits = shortFiveSeconds(t)
    const { begin, finish, last } = await loginApp(t, provider)
    const overloaded = eventsOf(t, 'overloaded')
    const hangs: Record<string, Answer> = {
      'without an answer': collect,
      'in the middle of the body': (r) =>
        void r.writeHead(200, { 'content-type': 'application/json' }).write('{', collect),
    }
    for (const [what, answer] of Object.entries(hangs)) {
      const begun = await begin()
      provider.answers.set('/token', answer)
      limits.length = 0
      t.equal((await finish(begun)).statusCode, 503, what)
      t.match(last(), { code: 'ERR_AUTH_PROVIDER_UNAVAILABLE', reason: /too long/ }, what)
      t.ok(limits.includes(5000), what)
      provider.answers.clear()
    }
    t.match(overloaded, [{ provider: 'corp', authenticator: 'login' }, {}])
    const begun = await begin()
    await provider.kill()
    t.equal((await finish(begun)).statusCode, 503)
    t.match(last(), { reason: /^the token endpoint failed: the connection failed/ })
  },
)

t.test('the client proves who it is as the metadata and the option say', async (t) => {
  const provider = await startProvider(t)
  const post = { client_id: 'shop', client_secret: clientSecret }
  type Options = Parameters<typeof loginApp>[2]
  const rows: [methods: string[] | undefined, options: Options, inBody: object | null][] = [
    [undefined, {}, null],
    [['client_secret_basic', 'client_secret_post'], {}, null],
    [['client_secret_post'], {}, post],
    [['private_key_jwt'], {}, post],
    [['client_secret_post'], { clientAuth: 'basic' }, null],
    [undefined, { clientAuth: 'post' }, post],
  ]
  for (const [methods, options, inBody] of rows) {
    provider.metadata = { token_endpoint_auth_methods_supported: methods }
    const { logIn } = await loginApp(t, provider, options)
    t.equal((await logIn()).statusCode, 303)
    await isAuthenticatedBy(t, provider, inBody)
  }
  const loginWith = { corp: { issuer: provider.url, clientId: 'shop', username: () => 'alice' } }
  const { logIn } = await loginApp(t, provider, {}, { loginWith })
  t.equal((await logIn()).statusCode, 303, 'a public client')
  const { headers, body } = provider.asked.findLast(({ path }) => path === '/token') ?? {}
  t.equal(headers?.authorization, undefined)
  t.equal(body?.get('client_id'), 'shop')
  t.equal(body?.has('client_secret'), false)
})

async function isAuthenticatedBy(t: Test, { asked }: TestProvider, inBody: object | null) {
  const { headers, body } = asked.findLast(({ path }) => path === '/token') ?? {}
  t.match(headers, inBody === null ? { authorization: /^Basic / } : { authorization: undefined })
  const { client_id, client_secret } = Object.fromEntries(body ?? [])
  t.strictSame(
    { client_id, client_secret },
    inBody ?? { client_id: undefined, client_secret: undefined },
  )
}

t.test('claims of UserInfo are added, and those of the ID token win', async (t) => {
  const provider = await startProvider(t)
  provider.idToken = { claims: { email: 'alice@id.example' } }
  provider.userinfo = {
    sub: 'alice',
    email: 'x@id.example',
    name: 'Alice',
    iss: 'https://evil.example',
  }
  let seen: object = {}
  for (const userinfo of [true, false]) {
    const { logIn } = await loginApp(t, provider, {
      userinfo,
      username: (claims) => ((seen = claims), 'alice'),
    })
    t.equal((await logIn()).statusCode, 303)
    const name = userinfo ? 'Alice' : undefined
    t.match(seen, { iss: provider.url, email: 'alice@id.example', name })
    t.equal(provider.take().includes('/userinfo'), userinfo)
  }
  const asked = provider.asked.find(({ path }) => path === '/userinfo')
  t.equal(asked?.headers.authorization ?? 'Bearer an access token', 'Bearer an access token')
})

t.test('a browser that leaves in the middle gets no session', async (t) => {
  const provider = await startProvider(t)
  const store = breakable(heldStore().factory)
  const browsers: (() => Promise<unknown>)[] = []
  const leave = (): Promise<unknown> | undefined => browsers.pop()?.()
  let names = 0
  const username = async (): Promise<string> => {
    names += 1
    await leave()
    return 'alice'
  }
  const sessions = { store: store.factory }
  const { app, begin, logIn } = await loginApp(t, provider, { username }, { sessions })
  const port = await listen(app)
  const visit = async (): Promise<void> => {
    const { callback, cookie } = await begin()
    const { pathname, search } = callback
    const browser = new AbortController()
    const connected = once(app.server, 'connection') as Promise<[Socket]>
    browsers.push(async () => {
      const [socket] = await connected
      browser.abort()
      await once(socket, 'close')
    })
    const { signal } = browser
    const sent = send(port, { path: `${pathname}${search}`, headers: { ...tls, cookie }, signal })
    await t.rejects(sent, { name: 'AbortError' })
  }
  const keys = json({ keys: provider.published })
  provider.answers.set('/keys', (response) => void leave()?.then(() => keys(response)))
  await visit()
  provider.answers.clear()
  await visit()
  t.equal((await logIn()).statusCode, 303)
  t.equal(names, 2, 'the name of the first one was not asked for')
  t.strictSame(store.calls, ['create'], 'the last one alone has a session')
})
