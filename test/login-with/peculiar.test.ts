// What providers do in their own way: secrets that are made, claims with other names, an issuer for each tenant.
import { secureAddress } from '../../lib/http/address.js'
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { AuthenticationError, type LoginProviderOptions } from '../../lib/index.js'
import { appWith, standardOptions } from '../helpers/app.js'
import { goodKey } from '../helpers/issuer.js'
import { shortFiveSeconds } from '../helpers/load.js'
import { linkApp } from '../helpers/link-app.js'
import { loginApp, oauth2Entry } from '../helpers/login-app.js'
import { failureWith } from '../helpers/options.js'
import { json, startProvider, type TestProvider } from '../helpers/provider.js'
import { eventsOf } from '../helpers/sessions.js'

/** Both kinds of entries for a provider, with more options. */
const kinds = (provider: TestProvider, more: object) => ({
  openid: { corp: { issuer: provider.url, clientId: 'shop', username: () => 'alice', ...more } },
  oauth2: { corp: oauth2Entry(provider, {}, { username: () => 'alice', ...more }) },
})

t.test('a client secret may be a function, which is called for each exchange', async (t) => {
  const provider = await startProvider(t)
  let calls = 0
  const clientSecret = async () => `secret ${(calls += 1)}`
  for (const [kind, loginWith] of Object.entries(
    kinds(provider, { clientSecret, clientAuth: 'post' }),
  )) {
    calls = 0
    const { logIn } = await loginApp(t, provider, {}, { loginWith })
    provider.asked.length = 0
    for (const at of [1, 2]) {
      t.equal((await logIn()).statusCode, 303, kind)
      t.equal(calls, at)
      const { body } = provider.asked.findLast(({ path }) => path === '/token') ?? {}
      t.equal(body?.get('client_secret'), `secret ${at}`)
    }
  }
})

t.test('a function that gives no client secret is a 503, and not in the log', async (t) => {
  const provider = await startProvider(t)
  const limits = shortFiveSeconds(t)
  const rows: Record<string, () => unknown> = {
    throws: () => {
      throw new Error('a secret')
    },
    rejects: () => Promise.reject(new Error('a secret')),
    'rejects with an AuthenticationError': () =>
      Promise.reject(new AuthenticationError('a secret')),
    nothing: () => undefined,
    'a number': () => 7,
    'a blank string': () => ' ',
    'an object': () => ({ toString: () => 'a secret' }),
    hangs: () => new Promise(() => undefined),
  }
  for (const [what, clientSecret] of Object.entries(rows)) {
    for (const [kind, loginWith] of Object.entries(kinds(provider, { clientSecret }))) {
      const title = `${kind}: ${what}`
      const throttle = { perAddress: 1 }
      const { logIn, last, lines } = await loginApp(t, provider, {}, { loginWith, throttle })
      provider.take()
      limits.length = 0
      for (let at = 0; at < 2; at += 1)
        t.equal((await logIn()).statusCode, 503, `${title}, uncounted`)
      t.ok(limits.includes(5000), title)
      t.notOk(provider.take().includes('/token'), title)
      t.notMatch(JSON.stringify(lines), 'a secret', title)
      t.match(
        last(),
        { code: 'ERR_AUTH_PROVIDER_UNAVAILABLE', reason: /function clientSecret/ },
        title,
      )
    }
  }
})

t.test('the secret and the exchange share five seconds', async (t) => {
  const provider = await startProvider(t)
  shortFiveSeconds(t)
  provider.answers.set('/token', () => undefined)
  const loginWith = kinds(provider, { clientSecret: () => 'a secret' }).oauth2
  const { logIn, last } = await loginApp(t, provider, {}, { loginWith })
  t.equal((await logIn()).statusCode, 503)
  t.match(last(), { reason: /^the token endpoint failed: it took too long$/ })
})

t.test('claims() changes what username and link get, but not who the user is', async (t) => {
  const provider = await startProvider(t)
  provider.idToken = { claims: { acr: 'gold', email: 'a@id.example', xms_edov: '1' } }
  provider.userinfo = { sub: 'alice', email: 'a@id.example', xms_edov: '1' }
  const evil = JSON.parse('{"__proto__": {"admin": true}}') as object
  const claims = (given: object) => ({
    ...given,
    ...evil,
    iss: 'https://evil.example',
    sub: 'admin',
    aud: 'a',
    exp: 1,
    iat: 1,
    auth_time: 1,
    acr: 'silver',
    email_verified: (given as { xms_edov: string }).xms_edov === '1',
  })
  for (const isOAuth2 of [false, true]) {
    const seen: Record<string, unknown>[] = []
    const link = (given: object) => seen.push(given as never) > 0
    const username = (given: object) => (seen.push(given as never), 'alice')
    const more = { username, link, claims, ...(!isOAuth2 && { mfa: ['gold'] }) }
    const loginWith = {
      corp: isOAuth2
        ? oauth2Entry(provider, {}, more)
        : { issuer: provider.url, clientId: 'shop', ...more },
    }
    const logins = eventsOf(t, 'login')
    const { logIn, link: linkAccount, enter } = await linkApp(t, provider, {}, { loginWith })
    t.equal((await logIn()).statusCode, 303)
    t.equal((await linkAccount(await enter())).statusCode, 303)
    t.equal(seen.length, 2)
    for (const each of seen) {
      t.match(each, { iss: provider.url, sub: 'alice', email_verified: true, acr: 'silver' })
      t.ok(Object.isFrozen(each))
      t.equal(each.admin, undefined)
      if (isOAuth2)
        for (const name of ['aud', 'exp', 'iat', 'auth_time']) t.notOk(name in each, name)
      else t.match(each, { aud: 'shop', exp: Number, iat: Number, auth_time: Number })
      t.not(each.auth_time, 1)
    }
    t.match(logins[0], { provider: 'corp' })
  }
})

t.test(
  'what claims() throws is sent if it is an AuthenticationError, and else a 500',
  async (t) => {
    const provider = await startProvider(t)
    const rows: [claims: () => unknown, status: number, code: string][] = [
      [() => Promise.reject(new AuthenticationError('auth.forbidden')), 403, 'ERR_AUTH_FORBIDDEN'],
      [() => Promise.reject(new Error('a secret')), 500, 'ERR_AUTH_USER_SERVICE'],
      [() => new Error('a secret'), 500, 'ERR_AUTH_USER_SERVICE'],
      [() => undefined, 500, 'ERR_AUTH_USER_SERVICE'],
      [() => 'claims', 500, 'ERR_AUTH_USER_SERVICE'],
    ]
    for (const [claims, status, code] of rows)
      for (const loginWith of Object.values(kinds(provider, { claims }))) {
        const { logIn, last } = await loginApp(t, provider, {}, { loginWith })
        t.equal((await logIn()).statusCode, status)
        t.match(last(), { code })
      }
    const loginWith = kinds(provider, { claims: () => new Promise(() => undefined) }).oauth2
    const options = { loginWith, userServiceTimeout: 0.01 }
    const { logIn, last } = await loginApp(t, provider, {}, options)
    t.equal((await logIn()).statusCode, 503)
    t.match(last(), { code: 'ERR_AUTH_USER_SERVICE_TIMEOUT' })
  },
)

t.test('an entry may be an instance of a class, none of whose methods is left out', async (t) => {
  const provider = await startProvider(t)
  const entries = Object.values(kinds(provider, { username: undefined, clientSecret: undefined }))
  for (const { corp } of entries) {
    class Entry {
      readonly #names = { alice: 'alice' }
      constructor() {
        const { username: _, clientSecret: __, ...members } = corp as LoginProviderOptions
        Object.assign(this, members)
      }
      clientSecret() {
        return `a secret for ${this.#names.alice}`
      }
      claims(given: { sub: string; hd?: string }) {
        if (given.hd === 'evil.example') throw new AuthenticationError('auth.forbidden')
        return given
      }
      username({ sub }: { sub: 'alice' }) {
        return this.#names[sub]
      }
    }
    const loginWith = { corp: new Entry() as unknown as LoginProviderOptions }
    const { logIn } = await loginApp(t, provider, {}, { loginWith })
    t.equal((await logIn()).statusCode, 303)
    provider.idToken = { claims: { hd: 'evil.example' } }
    provider.userinfo = { sub: 'alice', hd: 'evil.example' }
    t.equal((await logIn()).statusCode, 403)
    provider.idToken = {}
    provider.userinfo = { sub: 'alice' }
  }
})

const template = (url: string): string => `${url}/{tenantid}/v2.0`

function tenantEntry({ url }: TestProvider, more: Partial<LoginProviderOptions> = {}) {
  return {
    issuer: template(url),
    clientId: 'shop',
    authorizationEndpoint: `${url}/authorize`,
    tokenEndpoint: `${url}/token`,
    jwksUri: `${url}/keys`,
    tenants: () => true,
    username: ({ sub }: { sub: string }) => sub,
    ...more,
  }
}

async function tenantApp(
  t: Test,
  provider: TestProvider,
  more: Partial<LoginProviderOptions> = {},
) {
  return loginApp(t, provider, {}, { loginWith: { corp: tenantEntry(provider, more) } })
}

t.test('each tenant has an issuer of its own, which tenants() lets in', async (t) => {
  const provider = await startProvider(t)
  const [tid, other] = [randomUUID(), randomUUID()]
  const asked: string[] = []
  const seen: object[] = []
  const tenants = async (each: string) => (asked.push(each), each === tid)
  const username: LoginProviderOptions['username'] = (claims) => (seen.push(claims), 'alice')
  const { begin, finish, logIn, last } = await tenantApp(t, provider, { tenants, username })
  const iss = template(provider.url).replace('{tenantid}', tid)
  provider.idToken = { claims: { tid, iss } }
  t.equal((await logIn()).statusCode, 303)
  t.match(seen, [{ iss, tid }])
  t.equal((await logIn()).statusCode, 303, 'again')
  t.strictSame(provider.take(), ['/token', '/keys', '/token'], 'no metadata')
  for (const sent of [iss, iss.replace(tid, other), template(provider.url), provider.url]) {
    const response = await finish(await begin(), (query) => query.set('iss', sent))
    t.equal(response.statusCode, sent === iss ? 303 : 401, `iss of the callback: ${sent}`)
    if (sent !== iss && !sent.includes(other)) t.match(last(), { reason: /^parameter iss/ })
  }
  asked.length = seen.length = 0
  provider.idToken = { claims: { tid: other, iss: iss.replace(tid, other) } }
  t.equal((await logIn()).statusCode, 403)
  t.match(last(), { code: 'ERR_AUTH_LOGIN_REFUSED', reason: /tenant/ })
  t.strictSame([asked, seen], [[other], []])
})

t.test('a token of a tenant has to fit the tenant character by character', async (t) => {
  const provider = await startProvider(t)
  let asked = 0
  const { logIn, last } = await tenantApp(t, provider, { tenants: () => (asked += 1) > 0 })
  const [tid, other] = [randomUUID(), randomUUID()]
  const issOf = (id: string) => template(provider.url).split('{tenantid}').join(id)
  const rows: object[] = [
    { tid, iss: issOf(other) },
    { tid: other, iss: issOf(tid) },
    { tid, iss: `${issOf(tid)}/` },
    { tid, iss: issOf(tid.toUpperCase()) },
    { tid: tid.toUpperCase(), iss: issOf(tid.toUpperCase()) },
    { tid, iss: template(provider.url) },
    { iss: issOf(tid) },
    { tid: '', iss: issOf('') },
    { tid: '$&', iss: template(provider.url) },
    { tid: '{tenantid}', iss: template(provider.url) },
    { tid: 'contoso.example', iss: issOf('contoso.example') },
    { tid: `${tid}\n`, iss: issOf(`${tid}\n`) },
    { tid: [tid], iss: issOf(tid) },
    { tid: { toString: 1 }, iss: issOf(tid) },
    { tid: 7, iss: issOf('7') },
  ]
  for (const claims of rows) {
    provider.idToken = { claims: claims as never }
    t.equal((await logIn()).statusCode, 401, JSON.stringify(claims))
    t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason: /claim (?:tid|iss)/ })
  }
  for (const idToken of [
    '',
    'a',
    'a.b',
    'a.bnVsbA.c',
    `a.${Buffer.from(`{"tid":"${tid}"}`).toString('base64url')}.c`,
  ]) {
    provider.response = { id_token: idToken }
    t.equal((await logIn()).statusCode, 401, idToken)
  }
  provider.response = { id_token: undefined }
  t.equal((await logIn()).statusCode, 401, 'no ID token')
  provider.response = {}
  for (const answer of [json({}, 500), json({ error: 'invalid_client' }, 401), json('[]')]) {
    provider.answers.set('/token', answer)
    t.equal((await logIn()).statusCode, 503)
  }
  provider.answers.clear()
  provider.idToken = { claims: { tid, iss: issOf(tid), nonce: 'another' } }
  t.equal((await logIn()).statusCode, 401, 'another nonce')
  t.equal(asked, 0, 'tenants() is asked after all checks')
})

t.test('a key with a member issuer signs for it alone', async (t) => {
  const provider = await startProvider(t)
  const [tid, other] = [randomUUID(), randomUUID()]
  const issOf = (id: string) => template(provider.url).replace('{tenantid}', id)
  provider.idToken = { claims: { tid, iss: issOf(tid) } }
  const rows: [issuer: unknown, status: number][] = [
    [undefined, 303],
    [template(provider.url), 303],
    [issOf(tid), 303],
    [issOf(other), 401],
    ['https://sts.example', 401],
    [null, 401],
    [7, 401],
  ]
  for (const [issuer, status] of rows) {
    provider.published = [
      { ...goodKey, issuer },
      { ...goodKey, kid: 'two', issuer: issOf(other) },
    ]
    const { logIn, last } = await tenantApp(t, provider)
    t.equal((await logIn()).statusCode, status, String(issuer))
    if (status === 401) t.match(last(), { reason: /issuer of the key/ })
  }
})

t.test('what tenants() throws is a 500, and only true lets in', async (t) => {
  const provider = await startProvider(t)
  const tid = randomUUID()
  provider.idToken = { claims: { tid, iss: template(provider.url).replace('{tenantid}', tid) } }
  const rows: [tenants: () => unknown, status: number][] = [
    [() => Promise.resolve(true), 303],
    [() => 1, 403],
    [() => 'true', 403],
    [() => ({}), 403],
    [() => undefined, 403],
    [() => new Error('a'), 403],
    [() => Promise.resolve(false), 403],
    [() => Promise.reject(new Error('a')), 500],
    [
      () => {
        throw new Error('a')
      },
      500,
    ],
    [
      () => {
        throw new AuthenticationError('Not you.')
      },
      401,
    ],
  ]
  for (const [tenants, status] of rows) {
    const { logIn } = await tenantApp(t, provider, { tenants: tenants as never })
    t.equal((await logIn()).statusCode, status)
  }
})

t.test(
  'an issuer with {tenantid} needs tenants and the endpoints, and another has no tenants',
  async (t) => {
    const errorOf = failureWith('loginWith', {
      ...standardOptions(),
      sessions: true,
      cookies: true,
    })
    const entry = tenantEntry({ url: 'https://id.example' } as TestProvider)
    const rows: [more: object, named: RegExp][] = [
      [{ tenants: undefined }, /loginWith\.corp\.tenants/],
      [{ issuer: 'https://id.example/v2.0' }, /loginWith\.corp\.tenants/],
      [{ authorizationEndpoint: undefined }, /loginWith\.corp\.authorizationEndpoint/],
      [{ tokenEndpoint: undefined }, /loginWith\.corp\.tokenEndpoint/],
      [{ jwksUri: undefined }, /loginWith\.corp\.jwksUri/],
      [{ userinfo: true }, /loginWith\.corp\.userinfoEndpoint/],
    ]
    for (const [more, message] of rows)
      t.match(await errorOf(t, { corp: { ...entry, ...more } }), {
        code: 'ERR_AUTH_OPTION',
        message,
      })
    t.equal(await errorOf(t, { corp: entry }), undefined)
  },
)

const type = 'application/x-www-form-urlencoded'

async function formApp(t: Test, provider: TestProvider, more: object = {}, options: object = {}) {
  const base = await linkApp(t, provider, { responseMode: 'form_post', ...more }, options)
  const submit = (payload: string, headers: object = {}, url = '/login/corp/callback') =>
    base.app.inject({
      method: 'POST',
      url,
      payload,
      headers: {
        host: 'shop.example',
        'x-forwarded-proto': 'https',
        'content-type': type,
        origin: 'https://id.example',
        'sec-fetch-site': 'cross-site',
        ...headers,
      },
    })
  return { ...base, submit }
}

t.test('a form of the provider leads to the callback, with a cookie that stays Lax', async (t) => {
  const provider = await startProvider(t)
  const seen: unknown[] = []
  const claims = (given: object, callback: object) => (seen.push(callback), given)
  const { begin, get, submit, beginLink, enter, owners, lines } = await formApp(t, provider, {
    claims,
  })
  const begun = await begin('?returnTo=/notes')
  t.equal(begun.sent.get('response_mode'), 'form_post')
  const form = new URLSearchParams(begun.callback.search)
  form.set('user', '{"name":{}}')
  form.set('id_token', 'a secret')
  const led = await submit(form.toString())
  t.match(led, {
    statusCode: 303,
    headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
  t.equal(led.headers['set-cookie'], undefined)
  const location = String(led.headers.location)
  t.match(location, /^\/login\/corp\/callback\?/)
  t.strictSame(
    Object.fromEntries(new URL(location, 'https://a').searchParams),
    Object.fromEntries([...form].filter(([name]) => name !== 'id_token')),
  )
  t.match(await get(location, begun.cookie), { statusCode: 303, headers: { location: '/notes' } })
  t.strictSame(seen, [{ user: '{"name":{}}' }])
  const session = await enter()
  const linking = await beginLink(session)
  const back = await submit(linking.callback.search.slice(1), { cookie: linking.cookie })
  t.equal((await get(String(back.headers.location), linking.cookie)).statusCode, 303)
  t.equal(owners.size, 1, 'a link too')
  t.notMatch(JSON.stringify(lines), String(form.get('code')))
})

t.test('the route for forms takes forms alone, and nothing too long or repeated', async (t) => {
  const provider = await startProvider(t)
  const { app, submit, last } = await formApp(t, provider)
  t.equal((await submit('code=a&code=b')).statusCode, 401)
  t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', provider: 'corp' })
  t.equal((await submit('other=a&state=b&other=c')).statusCode, 401)
  t.equal((await submit(`code=${'a'.repeat(16_384)}`)).statusCode, 413)
  for (const other of ['application/json', 'text/plain', 'multipart/form-data; boundary=a', ''])
    t.equal((await submit('{}', { 'content-type': other })).statusCode, 415, other)
  t.match(await submit(''), { statusCode: 303, headers: { location: '/login/corp/callback?' } })
  const empty = await app.inject({ method: 'POST', url: '/login/corp/callback' })
  t.match(empty, { statusCode: 303, headers: { location: '/login/corp/callback?' } })
  for (const user of ['a'.repeat(2049), encodeURIComponent('李'.repeat(700))]) {
    const led = await submit(`user=${user}&state=b`)
    t.match(led, { headers: { location: '/login/corp/callback?state=b' } })
  }
  const odd = await submit(
    'code=%0d%0aa%00%ff&state=%22%3Cscript%3E&__proto__=a&error=//evil.example',
  )
  t.match(odd, {
    statusCode: 303,
    headers: { location: /^\/login\/corp\/callback\?code=%0D%0Aa%00/ },
  })
  t.strictSame(
    provider.asked.filter(({ path }) => path === '/token'),
    [],
  )
})

t.test(
  'the form leads to the redirect URI of the option, and rejections to failureTo',
  async (t) => {
    const provider = await startProvider(t)
    for (const redirectUri of ['https://shop.example//in', 'https://shop.example/in?a=b']) {
      const { submit } = await formApp(t, provider, { redirectUri, failureTo: '/failed' })
      const { location } = (await submit('state=c')).headers
      t.equal(location, `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}state=c`)
      const failed = await submit('state=a&state=b')
      t.match(failed, {
        statusCode: 303,
        headers: { location: /^\/failed\?error=ERR_AUTH_LOGIN_INVALID/ },
      })
    }
  },
)

t.test('a form leads to the callback below a path with other letters', async (t) => {
  const provider = await startProvider(t)
  const { submit } = await formApp(t, provider, {}, { login: { path: '/für/登录' } })
  const path = `${encodeURI('/für/登录')}/corp/callback`
  const led = await submit('state=a', {}, path)
  t.match([led.statusCode, led.headers.location], [303, `${path}?state=a`])
})

t.test('the field user is only read of a form', async (t) => {
  const provider = await startProvider(t)
  const seen: unknown[] = []
  const claims = (given: object, callback: object) => (seen.push(callback), given)
  const { begin, finish } = await loginApp(t, provider, { claims })
  t.equal((await finish(await begin(), (sent) => sent.set('user', 'a'))).statusCode, 303)
  t.strictSame(seen, [{ user: null }])
})

t.test(
  'the route for forms is there only where it is needed, open, and disturbs no parser',
  async (t) => {
    const provider = await startProvider(t)
    const rows: [LoginProviderOptions, boolean][] = [
      [
        { issuer: provider.url, clientId: 'a', username: () => 'a', responseMode: 'form_post' },
        true,
      ],
      [oauth2Entry(provider, {}, { responseMode: 'form_post' }), true],
      [oauth2Entry(provider), false],
    ]
    for (const [corp, isThere] of rows) {
      const loginWith = { corp }
      const options = { ...standardOptions(), sessions: true, cookies: true, loginWith } as const
      const app = await appWith(t, options, (scope) => {
        scope.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) =>
          done(null, { parsed: body }),
        )
        scope.post('/form', (request) => request.body)
      })
      const path = '/login/corp/callback'
      t.equal(app.hasRoute({ method: 'POST', url: path }), isThere)
      const own = app.authn
        .routes()
        .find(({ methods, url }) => methods.includes('POST') && url === path)
      if (isThere) t.match(own, { mode: false })
      const headers = { 'content-type': type }
      const form = await app.inject({ method: 'POST', url: '/form', payload: 'a=b', headers })
      t.strictSame(form.json(), { parsed: 'a=b' })
      const led = await app.inject({ method: 'POST', url: path, payload: 'state=a', headers })
      t.equal(led.statusCode, isThere ? 303 : 404)
    }
  },
)

t.test('a redirect URI with other letters is one for a header too', async (t) => {
  const provider = await startProvider(t)
  const redirectUri = 'https://shöp.example/é'
  // A check that is optimized has to accept it too.
  for (let turn = 0; turn < 20_000; turn += 1) secureAddress(redirectUri)
  const { submit } = await formApp(t, provider, { redirectUri })
  const { statusCode, headers } = await submit('state=a')
  t.match([statusCode, headers.location], [303, 'https://xn--shp-tna.example/%C3%A9?state=a'])
})
