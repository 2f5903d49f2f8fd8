import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { clockOf } from '../helpers/clock.js'
import { linesOf } from '../helpers/cookies.js'
import { rejectionOf } from '../helpers/errors.js'
import { discoveryPath, oauthPath } from '../helpers/issuer.js'
import { until } from '../helpers/load.js'
import { loginApp } from '../helpers/login-app.js'
import { json, startProvider } from '../helpers/provider.js'
import { eventsOf } from '../helpers/sessions.js'

t.test(
  'the metadata are fetched once when the app is ready, and startup does not wait',
  async (t) => {
    const provider = await startProvider(t)
    provider.answers.set(discoveryPath, () => undefined)
    const slow = await loginApp(t, provider)
    t.ok(slow, 'ready')
    provider.answers.clear()
    const { get } = await loginApp(t, provider)
    const starts = await Promise.all([1, 2, 3].map(() => get('/login/corp')))
    t.strictSame(
      starts.map(({ statusCode }) => statusCode),
      [303, 303, 303],
    )
    t.strictSame(provider.take(), [discoveryPath, discoveryPath], 'one for each app')
  },
)

t.test('the metadata are found by OpenID Connect, or else by RFC 8414', async (t) => {
  const provider = await startProvider(t)
  provider.answers.set(discoveryPath, json({}, 404))
  const { url: issuer } = provider
  const [token_endpoint, jwks_uri] = [`${issuer}/token`, `${issuer}/keys`]
  const addresses = { authorization_endpoint: `${issuer}/a`, token_endpoint, jwks_uri }
  const algorithms = { id_token_signing_alg_values_supported: ['ES256'] }
  provider.answers.set(oauthPath, json({ issuer, ...addresses, ...algorithms }))
  const { logIn } = await loginApp(t, provider)
  t.equal((await logIn()).statusCode, 303)
  t.strictSame(provider.take(), [discoveryPath, oauthPath, '/token', '/keys'])
})

t.test('without metadata a login is a 503, and nothing is asked during the pause', async (t) => {
  const clock = clockOf(t)
  const provider = await startProvider(t)
  provider.answers.set(discoveryPath, json({}, 500))
  const events = eventsOf(t, 'provider')
  const { get, last, lines } = await loginApp(t, provider)
  for (const pause of [1, 2, 4, 8, 16, 30, 30]) {
    for (const wait of [pause, pause]) {
      const response = await get('/login/corp')
      t.match(response, {
        statusCode: 503,
        headers: { 'retry-after': String(wait), 'cache-control': 'no-store' },
      })
      t.match(JSON.parse(response.body), { error: /busy/ })
      t.strictSame(linesOf(response), [])
    }
    clock.advance(pause - 0.01)
    t.equal((await get('/login/corp')).statusCode, 503)
    t.equal(provider.take().length, 1)
    clock.advance(0.01)
  }
  t.match(last(), {
    code: 'ERR_AUTH_PROVIDER_UNAVAILABLE',
    provider: 'corp',
    reason: 'no metadata',
  })
  t.match(events[0], { provider: 'corp', outcome: 'failed', reason: /500/, duration: Number })
  provider.answers.clear()
  t.equal((await get('/login/corp')).statusCode, 303)
  t.match(events.at(-1), { provider: 'corp', outcome: 'renewed', reason: null })
  t.ok(lines.some(({ msg }) => msg === 'The provider is back'))
})

t.test('metadata that are not acceptable are not used', async (t) => {
  const provider = await startProvider(t)
  const events = eventsOf(t, 'provider')
  const { url } = provider
  const bad: Record<string, readonly unknown[]> = {
    issuer: [undefined, null, [url], `${url}/`, 'https://id.example', url.toUpperCase()],
  }
  for (const name of [
    'authorization_endpoint',
    'token_endpoint',
    'jwks_uri',
    'userinfo_endpoint',
    'end_session_endpoint',
  ]) {
    bad[name] = [
      7,
      {},
      '',
      '/path',
      'http://id.example/a',
      'ftp://127.0.0.1',
      'https://a:b@id.example',
      'https://id.example/#a',
      'javascript:alert(1)',
    ]
    if (name !== 'end_session_endpoint') bad[name] = [...bad[name], null, undefined]
  }
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      provider.metadata = { [name]: value }
      const { get } = await loginApp(t, provider, { userinfo: true })
      t.equal((await get('/login/corp')).statusCode, 503, `${name}: ${JSON.stringify(value)}`)
      t.match(events.at(-1), { outcome: 'failed', reason: name === 'issuer' ? /issuer/ : name })
    }
  }
  provider.metadata = { userinfo_endpoint: 'http://id.example', end_session_endpoint: null }
  const { logIn } = await loginApp(t, provider)
  t.equal((await logIn()).statusCode, 303, 'what is not used is not checked')
})

t.test('an https issuer whose metadata name an http address is rejected', async (t) => {
  const provider = await startProvider(t)
  const issuer = 'https://id.example'
  const { fetch } = globalThis
  t.teardown(() => Object.assign(globalThis, { fetch }))
  for (const [endpoint, status] of [
    ['https://id.example/a', 303],
    ['http://127.0.0.1:9/a', 503],
    ['http://localhost/a', 503],
  ] as const) {
    globalThis.fetch = async () =>
      Response.json({
        issuer,
        authorization_endpoint: endpoint,
        token_endpoint: `${issuer}/t`,
        jwks_uri: `${issuer}/k`,
      })
    const { get } = await loginApp(t, { ...provider, url: issuer })
    t.equal((await get('/login/corp')).statusCode, status, endpoint)
  }
})

t.test('endpoints in the options stand in for those of the metadata', async (t) => {
  const provider = await startProvider(t)
  // As a Keycloak that browsers and the server reach by different names.
  const outside = { ...provider, url: 'https://id.example/realms/corp' }
  const inside = (path: string): string => `${provider.url}${path}`
  const endpoints = {
    authorizationEndpoint: 'https://id.example/authorize?tenant=two',
    tokenEndpoint: inside('/token'),
    jwksUri: inside('/keys'),
    userinfoEndpoint: inside('/userinfo'),
  }
  provider.idToken = { claims: { iss: outside.url } }
  const events = eventsOf(t, 'provider')
  const { begin, finish, app } = await loginApp(t, outside, { ...endpoints, userinfo: true })
  const begun = await begin()
  t.match(begun.response.headers.location, /^https:\/\/id\.example\/authorize\?tenant=two&/)
  t.equal((await finish(begun)).statusCode, 303)
  t.strictSame(provider.take(), ['/token', '/keys', '/userinfo'], 'no metadata are fetched')
  t.strictSame(events, [])
  t.equal(await app.authn.loginWith.corp?.logoutUrl(), null)
  const ended = await loginApp(t, outside, { ...endpoints, endSessionEndpoint: inside('/end') })
  t.equal(await ended.app.authn.loginWith.corp?.logoutUrl(), `${provider.url}/end?client_id=shop`)
  t.equal((await ended.get('/login/corp')).statusCode, 303)
})

t.test('one endpoint in the options leaves the others to the metadata', async (t) => {
  const provider = await startProvider(t)
  const all = {
    authorizationEndpoint: ['authorization_endpoint', '/authorize?tenant=one'],
    tokenEndpoint: ['token_endpoint', '/token'],
    jwksUri: ['jwks_uri', '/keys'],
    userinfoEndpoint: ['userinfo_endpoint', '/userinfo'],
    endSessionEndpoint: ['end_session_endpoint', '/logout'],
  } as const
  for (const [option, [member, path]] of Object.entries(all)) {
    for (const wrong of ['https://unreachable.invalid/', 'http://id.example', undefined]) {
      provider.metadata = { [member]: wrong }
      const given = { [option]: `${provider.url}${path}`, userinfo: true }
      const { logIn, app } = await loginApp(t, provider, given)
      t.equal((await logIn()).statusCode, 303, `${option}: ${wrong}`)
      t.match(await app.authn.loginWith.corp?.logoutUrl(), `${provider.url}/logout`)
      t.ok(provider.take().includes(discoveryPath))
    }
  }
})

t.test(
  'metadata are renewed in the background after an hour, and kept until that succeeds',
  async (t) => {
    const clock = clockOf(t)
    const provider = await startProvider(t)
    const events = eventsOf(t, 'provider')
    const login = await loginApp(t, provider)
    const start = async () =>
      (await login.get('/login/corp')).headers.location?.toString().split('?')[0]
    const [old, renewed] = [`${provider.url}/authorize`, `${provider.url}/new`]
    t.equal(await start(), old)
    provider.metadata = { authorization_endpoint: renewed }
    clock.advance(3599)
    t.equal(await start(), old)
    t.equal(events.length, 1)
    provider.answers.set(discoveryPath, json({}, 500))
    clock.advance(1)
    t.equal(await start(), old, 'no login waits')
    await until(() => events.length >= 2, 'it is told')
    t.match(events[1], { outcome: 'failed' })
    clock.advance(86_400)
    provider.answers.clear()
    t.equal(await start(), old, 'kept')
    await until(() => events.length >= 3, 'it is told')
    t.equal(await start(), renewed)
  },
)

t.test('logoutUrl() is the address at which a user logs out at the provider', async (t) => {
  const provider = await startProvider(t)
  provider.metadata = { end_session_endpoint: 'https://id.example/logout?tenant=one' }
  const { app } = await loginApp(t, provider)
  const { corp } = app.authn.loginWith
  t.strictSame(Object.keys(app.authn.loginWith), ['corp'])
  t.equal(await corp?.logoutUrl(), 'https://id.example/logout?tenant=one&client_id=shop')
  const url = new URL(String(await corp?.logoutUrl({ returnTo: 'https://shop.example/?a=b' })))
  t.equal(url.searchParams.get('post_logout_redirect_uri'), 'https://shop.example/?a=b')
  for (const none of [undefined, null]) {
    provider.metadata = { end_session_endpoint: none }
    const { app: without } = await loginApp(t, provider)
    t.equal(await without.authn.loginWith.corp?.logoutUrl(), null)
  }
  await provider.kill()
  const { app: down } = await loginApp(t, provider)
  const { code } = await rejectionOf(down.authn.loginWith.corp?.logoutUrl())
  t.equal(code, 'ERR_AUTH_PROVIDER_UNAVAILABLE')
  const { app: off } = await loginApp(t, provider, {}, { loginWith: undefined })
  t.throws(() => off.authn.loginWith, { code: 'ERR_AUTH_OPTION' })
})

t.test('an app that closes aborts what it asks, and logs nothing of it', async (t) => {
  const provider = await startProvider(t)
  provider.answers.set(discoveryPath, () => undefined)
  const events = eventsOf(t, 'provider')
  const { app, get, lines } = await loginApp(t, provider)
  const started = get('/login/corp')
  await setImmediate()
  await app.close()
  t.equal((await started).statusCode, 503)
  t.strictSame(events, [])
  t.notOk(lines.some(({ msg }) => String(msg).includes('metadata')))
})
