// `loginWith.<name>.oauth2`: providers that have a profile in place of ID tokens.
import t, { type Test } from 'tap'
import {
  AuthenticationError,
  type GetJson,
  type OAuth2Options,
  type LoginProviderOptions,
} from '../../lib/index.js'
import { linesOf } from '../helpers/cookies.js'
import { shortFiveSeconds, tally, until } from '../helpers/load.js'
import { clientSecret, isAttempt, loginApp, oauth2Entry } from '../helpers/login-app.js'
import { json, startProvider, type TestProvider } from '../helpers/provider.js'
import { claimsOf, eventsOf } from '../helpers/sessions.js'

type Answer = ReturnType<TestProvider['answers']['get']> & object
type Profile = OAuth2Options['profile']

async function oauth2App(
  t: Test,
  provider: TestProvider,
  oauth2: Partial<OAuth2Options> = {},
  more: Partial<LoginProviderOptions> = {},
  options: object = {},
) {
  const loginWith = { corp: oauth2Entry(provider, oauth2, more) }
  return loginApp(t, provider, {}, { loginWith, ...options })
}

/** An app whose users have this profile. */
const appWithProfile = (t: Test, provider: TestProvider, profile: unknown) =>
  oauth2App(t, provider, { profile: profile as Profile })

t.test('a user logs in with a profile in place of an ID token', async (t) => {
  const logins = eventsOf(t, 'login')
  const provider = await startProvider(t)
  const seen: unknown[] = []
  provider.userinfo = { sub: 4711, email: 'alice@id.example', email_verified: true, more: [{}] }
  provider.response = {
    id_token: 'ignored',
    scope: 'profile',
    expires_in: '60',
    token_type: 'BEARER',
  }
  const username: LoginProviderOptions['username'] = (...given) => (seen.push(...given), 'alice')
  const { app, begin, finish, get } = await oauth2App(t, provider, {}, { username })
  const begun = await begin('?returnTo=/notes')
  const {
    state,
    code_challenge: challenge,
    redirect_uri: uri,
    ...sent
  } = Object.fromEntries(begun.sent)
  t.strictSame(sent, {
    tenant: 'one',
    response_type: 'code',
    client_id: 'shop',
    scope: 'profile user:email',
    code_challenge_method: 'S256',
  })
  t.match([state, challenge], [/^[\w-]{43}$/, /^[\w-]{43}$/])
  const before = Math.floor(Date.now() / 1000)
  const response = await finish(begun)
  t.match(response, { statusCode: 303, headers: { location: '/notes' } })
  const [claims, , tokens] = seen
  t.strictSame(claims, { ...provider.userinfo, iss: provider.url, sub: '4711' })
  t.ok(Object.isFrozen(claims))
  const accessToken = 'an access token'
  t.strictSame(tokens, { accessToken, scope: 'profile', expiresIn: 60 })
  t.match(logins, [{ provider: 'corp' }])
  const [, token = ''] = /__Host-token=([^;]+)/.exec(linesOf(response).join('\n')) ?? []
  t.ok(Number(claimsOf(token).auth_time) >= before, 'the login counts as fresh')

  t.strictSame(provider.take(), ['/token', '/userinfo'], 'no metadata, no keys')
  t.equal(await app.authn.loginWith.corp?.logoutUrl(), null)
  t.match(await get('/login/corp?max_age=0'), { statusCode: 400, body: /max_age/ })
  t.equal(uri, 'https://shop.example/login/corp/callback')
})

t.test('the token request is that of RFC 6749, and a code is exchanged once', async (t) => {
  const provider = await startProvider(t)
  const post = { client_id: 'shop', client_secret: clientSecret }
  const basic = `Basic ${Buffer.from(`shop:${new URLSearchParams({ '': clientSecret }).toString().slice(1)}`).toString('base64')}`
  const { clientSecret: _, ...open } = oauth2Entry(provider)
  const rows: [LoginProviderOptions, authorization: string | undefined, body: object][] = [
    [oauth2Entry(provider), basic, {}],
    [oauth2Entry(provider, {}, { clientAuth: 'post' }), undefined, post],
    [oauth2Entry(provider, { pkce: false }, { clientAuth: 'post' }), undefined, post],
    [open, undefined, { client_id: 'shop' }],
  ]
  for (const [corp, authorization, ofClient] of rows) {
    const { begin, finish } = await loginApp(t, provider, {}, { loginWith: { corp } })
    const begun = await begin()
    const hasPkce = corp.oauth2?.pkce !== false
    t.equal(begun.sent.has('code_challenge'), hasPkce)
    t.equal(begun.sent.has('code_challenge_method'), hasPkce)
    t.equal((await finish(begun)).statusCode, 303)
    const { headers, body } = provider.asked.findLast(({ path }) => path === '/token') ?? {}
    const { code_verifier: verifier, ...others } = Object.fromEntries(body ?? [])
    t.equal(verifier !== undefined, hasPkce)
    t.strictSame(others, {
      grant_type: 'authorization_code',
      code: begun.callback.searchParams.get('code'),
      redirect_uri: begun.sent.get('redirect_uri'),
      ...ofClient,
    })
    t.match(headers, { accept: 'application/json', authorization })
    t.equal((await finish(begun)).statusCode, 401, 'the code was used')
  }
})

const invalid = [401, 'ERR_AUTH_LOGIN_INVALID', true] as const
/** No client can help it. */
const unavailable = [503, 'ERR_AUTH_PROVIDER_UNAVAILABLE', false] as const

type Row = [answer: Answer, status: number, code: string, counts: boolean, reason: RegExp]

const form =
  (body: string, status = 200): Answer =>
  (response) =>
    void response
      .writeHead(status, { 'content-type': 'application/x-www-form-urlencoded' })
      .end(body)
const page: Answer = (r) => void r.setHeader('content-type', 'text/html').end('<p>a secret')
const good = { access_token: 'an access token', token_type: 'bearer' }
const rejects = [...invalid, /^the token endpoint has rejected the code/] as const
const rejectsEither = [...invalid, /rejected the code.*clientSecret/] as const
const ofApp = [...unavailable, /check clientId, clientSecret and the callback/] as const

const ofTokens: Readonly<Record<string, Row>> = {
  'status 200 with an error': [json({ error: 'bad_verification_code' }), ...rejects],
  'status 200 with an error and a token': [json({ ...good, error: 'a' }), ...rejects],
  'status 200 with an error of another type': [json({ error: { code: 1 } }), ...rejectsEither],
  'status 200 with an error in a form': [form('error=bad_verification_code'), ...rejects],
  invalid_grant: [json({ error: 'invalid_grant' }, 400), ...rejects],
  'status 400 without an error': [json({ status: 400, message: 'a secret' }, 400), ...rejects],
  'status 400 with an error of another type': [json({ error: { code: 1 } }, 400), ...rejectsEither],
  'status 400 with a form': [form('error=a', 400), ...rejects],
  invalid_client: [json({ error: 'invalid_client' }, 401), ...ofApp],
  'invalid_client at 400': [json({ error: 'invalid_client' }, 400), ...ofApp],
  'invalid_client in a form': [form('error=invalid_client', 400), ...ofApp],
  'status 401 alone': [json({}, 401), ...ofApp],
  'a code that was rejected with 401': [json({ error: 'invalid_grant' }, 401), ...rejects],
  incorrect_client_credentials: [json({ error: 'incorrect_client_credentials' }), ...ofApp],
  redirect_uri_mismatch: [json({ error: 'redirect_uri_mismatch' }), ...ofApp],
  'status 403 alone': [json({ message: 'a secret' }, 403), ...ofApp],
  'status 403': [json({ error: 'a secret' }, 403), ...unavailable, /answered 403$/],
  'status 429': [json({}, 429), ...unavailable, /answered 429$/],
  'status 500': [json({ error: 'invalid_client' }, 500), ...unavailable, /answered 500$/],
  'a redirect': [(r) => void r.writeHead(302, { location: '/me' }).end(), ...unavailable, /302$/],
  HTML: [page, ...unavailable, /answered 200$/],
  'no JSON': [json('{"access'), ...unavailable, /200$/],
  'a list': [json('[]'), ...unavailable, /200$/],
  null: [json('null'), ...unavailable, /200$/],
  'too big': [json(`{"a":"${'a'.repeat(300 * 1024)}"}`), ...unavailable, /bytes/],
  'a closed connection': [(r) => void r.destroy(), ...unavailable, /the token endpoint failed/],
  'no access token': [json({ token_type: 'bearer' }), ...invalid, /^access_token of/],
  'an empty access token': [json({ ...good, access_token: '' }), ...invalid, /^access_token of/],
  'no text as a token': [json({ ...good, access_token: ['a'] }), ...invalid, /^access_token of/],
  'a line break in it': [json({ ...good, access_token: 'a\nb' }), ...invalid, /^access_token of/],
  'é in it': [json({ ...good, access_token: 'é' }), ...invalid, /^access_token of/],
  'an inherited token': [json('{"__proto__": {"access_token": "a"}}'), ...invalid, /^access_token/],
  'another type': [json({ ...good, token_type: 'mac' }), ...invalid, /^token_type of/],
  'no type': [json({ ...good, token_type: null }), ...invalid, /^token_type of/],
  'a list as type': [json({ ...good, token_type: ['bearer'] }), ...invalid, /^token_type of/],
}

const failed = /^the profile of corp failed: /
const ofProfile: Readonly<Record<string, Row>> = {
  'status 401': [json({}, 401), ...unavailable, failed],
  'status 500': [json({ sub: 'alice' }, 500), ...unavailable, failed],
  'status 204': [(r) => void r.writeHead(204).end(), ...unavailable, failed],
  'a redirect': [(r) => void r.writeHead(302, { location: '/keys' }).end(), ...unavailable, failed],
  HTML: [page, ...unavailable, failed],
  'too big': [json(`{"a":"${'a'.repeat(300 * 1024)}"}`), ...unavailable, failed],
  'no JSON': [json('{"sub"'), ...unavailable, failed],
  null: [json('null'), ...unavailable, failed],
  'a number': [json('7'), ...unavailable, failed],
  'a closed connection': [(r) => void r.destroy(), ...unavailable, failed],
  'no sub': [json({}), ...invalid, /^sub of the profile$/],
  'a list': [json([{ sub: 'alice' }]), ...invalid, /^sub of the profile$/],
  'an inherited sub': [json('{"__proto__": {"sub": "alice"}}'), ...invalid, /^sub of the profile$/],
}

t.test('a response that is not good is no login, and the log tells no secret', async (t) => {
  const provider = await startProvider(t)
  for (const [path, rows] of Object.entries({ '/token': ofTokens, '/userinfo': ofProfile })) {
    for (const [what, [answer, status, code, counts, reason]] of Object.entries(rows)) {
      const title = `${path}: ${what}`
      const throttle = { perAddress: 1 }
      const { begin, finish, last, lines } = await oauth2App(t, provider, {}, {}, { throttle })
      const begun = await begin()
      provider.answers.set(path, answer)
      const response = await finish(begun)
      provider.answers.clear()
      t.match(response, { statusCode: status }, title)
      t.equal(response.headers['retry-after'] !== undefined, status === 503, title)
      t.ok(linesOf(response).every(isAttempt), `${title}: no session`)
      const logged = JSON.stringify(lines)
      for (const secret of [clientSecret, 'a secret', 'an access token', begun.callback.search])
        t.notOk(logged.includes(secret), `${title}: no secret in the log`)
      t.match(last(), { code, provider: 'corp', reason }, title)
      const later = (await finish(await begin())).statusCode
      t.equal(later, counts ? 429 : 303, `${title}: ${counts ? 'counts' : 'does not count'}`)
    }
  }
})

t.test('tokens may come as a form, or without a type', async (t) => {
  const provider = await startProvider(t)
  const { logIn } = await oauth2App(t, provider)
  for (const answer of [
    form('access_token=an+access+token&token_type=bearer&scope=a'),
    json({ access_token: 'a', scope: ['a', 'b'] }),
    json({ ...good, error: '' }),
    json({ ...good, expires_in: 'a', refresh_token: 7, scope: 7 }),
    json({ ...good, expires_in: { valueOf: 1, toString: 1 } }),
    json(`{"access_token":"a","expires_in":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
  ]) {
    provider.answers.set('/token', answer)
    t.equal((await logIn()).statusCode, 303)
  }
})

t.test('a profile has an acceptable sub, and what only ID tokens have is dropped', async (t) => {
  const provider = await startProvider(t)
  const bad: unknown[] = [
    undefined,
    null,
    'alice',
    ['alice'],
    7,
    () => ({ sub: 'alice' }),
    ...[
      '',
      'a'.repeat(256),
      'a\nb',
      'a\0',
      '\ud800',
      0,
      -1,
      1.5,
      2 ** 53,
      Number.NaN,
      true,
      ['a'],
      {},
    ].map((sub) => ({ sub })),
    { id: 'alice' },
    Object.create({ sub: 'alice' }),
    Object.defineProperty({}, 'sub', { value: 'alice', enumerable: false }),
    {
      get sub() {
        return 'alice'
      },
    },
    new Map([['sub', 'alice']]),
  ]
  for (const profile of bad) {
    const { logIn, last } = await appWithProfile(t, provider, () => profile)
    t.equal((await logIn()).statusCode, 401, JSON.stringify(profile))
    t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason: 'sub of the profile' })
  }
  const seen: object[] = []
  const username: LoginProviderOptions['username'] = (claims) => (seen.push(claims), 'alice')
  const more = '"__proto__": {"admin": true}, "constructor": 1'
  const all = `{"iss": "https://evil.example", "aud": 1, "exp": 1, "iat": 1, "nonce": "a", "auth_time": 1, "acr": "gold", "amr": ["mfa"], "email_verified": "true", ${more}}`
  const round: Record<string, unknown> = {}
  round.round = round
  for (const sub of ['a', '\u{1f600}'.repeat(127), 1, Number.MAX_SAFE_INTEGER]) {
    const profile: Profile = () => ({ ...(JSON.parse(all) as object), round, none: undefined, sub })
    const { logIn } = await oauth2App(t, provider, { profile }, { username })
    t.equal((await logIn()).statusCode, 303)
    const found = seen.pop() as { admin?: true }
    t.strictSame(Object.keys(found).toSorted(), ['constructor', 'iss', 'round', 'sub'])
    t.match(found, { iss: provider.url, sub: String(sub) })
    t.equal(found.admin, undefined)
    t.equal(Object.getPrototypeOf(found), Object.prototype)
  }
})

t.test('what profile throws is sent if it is an AuthenticationError, and else a 500', async (t) => {
  const provider = await startProvider(t)
  const rows: [profile: () => unknown, answer: [number, unknown]][] = [
    [
      () => {
        throw new AuthenticationError('Not you.')
      },
      [401, 'ERR_AUTH_REFUSED'],
    ],
    [() => Promise.reject(new AuthenticationError('auth.forbidden')), [403, 'ERR_AUTH_FORBIDDEN']],
    [
      () => {
        throw new Error('a secret')
      },
      [500, 'ERR_AUTH_USER_SERVICE'],
    ],
    [() => Promise.reject(new Error('a secret')), [500, 'ERR_AUTH_USER_SERVICE']],
    [() => new Error('a secret'), [500, 'ERR_AUTH_USER_SERVICE']],
    [() => Promise.reject(), [500, 'ERR_AUTH_USER_SERVICE']],
  ]
  for (const [profile, [status, code]] of rows) {
    const { logIn, last } = await appWithProfile(t, provider, profile)
    const response = await logIn()
    t.equal(response.statusCode, status)
    t.notMatch(response.body, 'a secret')
    t.match(last(), { code })
  }
})

t.test('get() sends the token to secure addresses alone, with other headers', async (t) => {
  const provider = await startProvider(t)
  const asks: unknown[][] = [
    ['http://id.example/me'],
    ['ftp://127.0.0.1/me'],
    ['/me'],
    [''],
    [undefined],
    [`${provider.url}/userinfo#a`],
    [provider.url.replace('//', '//a:b@')],
    [`${provider.url}/userinfo`, { headers: { 'x-a': 'a\nb' } }],
  ]
  for (const given of asks) {
    const profile = (get: (...all: unknown[]) => Promise<unknown>) => get(...given)
    const { logIn, last } = await appWithProfile(t, provider, profile)
    provider.take()
    t.equal((await logIn()).statusCode, 503, String(given[0]))
    t.match(last(), { code: 'ERR_AUTH_PROVIDER_UNAVAILABLE', reason: failed })
    t.strictSame(provider.take(), ['/token'])
  }
  const asked: unknown[] = []
  provider.answers.set('/userinfo', (response, { headers }) => {
    asked.push(headers)
    json({ sub: 'alice' })(response)
  })
  const headers = { authorization: 'Bearer other', Authorization: 'Basic a', 'x-version': '7' }
  for (const more of [{}, { Accept: 'application/vnd.api+json' }]) {
    const profile: Profile = (get) =>
      get(`${provider.url}/userinfo`, { headers: { ...headers, ...more } })
    const { logIn } = await appWithProfile(t, provider, profile)
    t.equal((await logIn()).statusCode, 303)
  }
  const ofAll = { authorization: 'Bearer an access token', 'x-version': '7', 'user-agent': 'node' }
  t.match(asked, [
    { ...ofAll, accept: 'application/json' },
    { ...ofAll, accept: 'application/vnd.api+json' },
  ])
})

t.test('get() works eight times, while the login runs, and tells the status', async (t) => {
  const provider = await startProvider(t)
  const url = `${provider.url}/userinfo`
  let later: GetJson | undefined
  const often =
    (count: number): Profile =>
    async (get) => {
      later = get
      for (let at = 0; at < count; at += 1) await get(url)
      return { sub: 'alice' }
    }
  const fine = await appWithProfile(t, provider, often(8))
  t.equal((await fine.logIn()).statusCode, 303)
  await t.rejects(
    (later as unknown as GetJson)(url),
    { code: 'ERR_AUTH_PROVIDER_UNAVAILABLE' },
    'after the login',
  )
  const { logIn } = await appWithProfile(t, provider, often(9))
  t.equal((await logIn()).statusCode, 503)

  provider.answers.set('/emails', json({}, 403))
  const tolerant: Profile = async (get) => {
    const emails = await get(`${provider.url}/emails`).catch((error: unknown) => error)
    t.match(emails, { code: 'ERR_AUTH_PROVIDER_UNAVAILABLE', status: 403 })
    // Nobody waits for this one.
    void get(`${provider.url}/emails`)
    return { sub: 'alice' }
  }
  t.equal((await (await appWithProfile(t, provider, tolerant)).logIn()).statusCode, 303)
})

t.test('what fails for one user rejects no other one of the same address', async (t) => {
  const provider = await startProvider(t)
  provider.answers.set('/gone', json({}, 404))
  const rows: Record<string, Profile> = {
    'a response': (get) => get(`${provider.url}/gone`),
    'an address that is not secure': (get) => get('http://id.example'),
    'nine fetches': (get) =>
      Promise.all(Array.from({ length: 9 }, () => get(`${provider.url}/userinfo`))),
  }
  for (const [what, fail] of Object.entries(rows)) {
    let asked = 0
    const profile: Profile = async (get, tokens) => {
      asked += 1
      // The others wait in the line.
      if (asked === 1) await fail(get, tokens)
      await until(() => asked > 15, 'others wait')
      return { sub: 'alice' }
    }
    const { begin, finish } = await oauth2App(t, provider, { profile }, {}, { throttle: false })
    const begun = await Promise.all(Array.from({ length: 30 }, () => begin()))
    const all = await Promise.all(begun.map(async (each) => finish(each)))
    t.strictSame(tally(all), { 303: 29, 503: 1 }, what)
  }
})

t.test('objects in what profile() and claims() return stay those of the app', async (t) => {
  const provider = await startProvider(t)
  const own = { seen: 0 }
  const profile: Profile = () => ({ sub: 'alice', own, bytes: Buffer.from('a') })
  const seen: unknown[] = []
  const username: LoginProviderOptions['username'] = (claims) => (seen.push(claims.own), 'alice')
  const claims = (given: object) => ({ ...given, bytes: Buffer.from('a') })
  const { logIn } = await oauth2App(t, provider, { profile }, { username, claims })
  t.equal((await logIn()).statusCode, 303)
  t.equal(seen[0], own)
  t.notOk(Object.isFrozen(own))
})

t.test('a profile that takes longer than five seconds is given up', async (t) => {
  const provider = await startProvider(t)
  const limits = shortFiveSeconds(t)
  const rows: Record<string, Profile> = {
    'waits for the provider': (get) => get(`${provider.url}/hangs`),
    'waits for itself': () => new Promise<never>(() => undefined),
  }
  provider.answers.set('/hangs', () => undefined)
  for (const [what, profile] of Object.entries(rows)) {
    const { logIn, last } = await appWithProfile(t, provider, profile)
    limits.length = 0
    t.equal((await logIn()).statusCode, 503, what)
    t.match(last(), { code: 'ERR_AUTH_PROVIDER_UNAVAILABLE', reason: failed }, what)
    t.ok(limits.includes(5000), what)
  }
})

t.test(
  'iss of the callback has to be that of the entry, and no OAuth error is needed',
  async (t) => {
    const provider = await startProvider(t)
    const { begin, finish, last } = await oauth2App(t, provider)
    t.equal((await finish(await begin(), (sent) => sent.set('iss', provider.url))).statusCode, 303)
    for (const iss of [
      '',
      `${provider.url}/`,
      'https://evil.example',
      provider.url.toUpperCase(),
    ]) {
      provider.take()
      const response = await finish(await begin(), (sent) => sent.set('iss', iss))
      t.equal(response.statusCode, 401)
      t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason: /iss/ })
      t.strictSame(provider.take(), [], 'before anything is sent')
    }
    for (const error of ['access_denied', 'user_cancelled_login', 'user_denied', 'a\r\nb']) {
      const response = await finish(await begin(), (sent) => {
        sent.delete('code')
        sent.set('error', error)
        sent.set('error_reason', 'a secret')
      })
      t.equal(response.statusCode, 401)
      t.match(last(), { code: 'ERR_AUTH_LOGIN_DENIED' })
    }
  },
)

t.test('authorizationParams() may not return max_age', async (t) => {
  const provider = await startProvider(t)
  for (const params of [{ max_age: '0' }, { prompt: 'login' }]) {
    const more = { authorizationParams: () => params as Record<string, string> }
    const { get, last } = await oauth2App(t, provider, {}, more)
    const response = await get('/login/corp')
    t.equal(response.statusCode, 'max_age' in params ? 500 : 303)
    if ('max_age' in params) t.match(last(), { code: 'ERR_AUTH_AUTHORIZATION_PARAMS' })
    else t.match(response.headers.location, 'prompt=login')
  }
})
