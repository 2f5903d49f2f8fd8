// program: oidc-provider
// Whole logins with a real OpenID provider (npm `oidc-provider`), over sockets.
import t, { type Test } from 'tap'
import { appWith, logLines, passwords, standardOptions } from '../helpers/app.js'
import { listen, nameOf } from '../helpers/flows.js'
import { clientSecret, realProvider, visitor } from '../helpers/openid-provider.js'
import type { IdTokenClaims, LoginProviderOptions } from '../../lib/index.js'

/** A shop where users log in with the provider, and what it has logged. */
async function openShop(t: Test, issuer: string, more: Partial<LoginProviderOptions> = {}) {
  const { lines, stream } = logLines()
  const seen: IdTokenClaims[] = []
  const username: LoginProviderOptions['username'] = (claims) => {
    seen.push(claims)
    return claims.sub
  }
  const corp = { issuer, clientId: 'shop', clientSecret, username, ...more }
  const options = { ...standardOptions(), sessions: true, cookies: {}, loginWith: { corp } }
  const app = await appWith(
    t,
    options,
    (app) => {
      app.get('/me', { config: { auth: true } }, (request) => ({ name: nameOf(request) }))
    },
    { logger: { level: 'info', stream }, forceCloseConnections: true },
  )
  const url = `http://127.0.0.1:${await listen(app)}`
  const { open, choose, chooseLink, cookies } = visitor()
  const me = async (): Promise<unknown> => {
    const response = await open(`${url}/me`)
    return response.status === 200 ? ((await response.json()) as { name: string }).name : null
  }
  return {
    app,
    open,
    seen,
    me,
    choose: (who: string, query = '') => choose(`${url}/login/corp${query}`, who),
    chooseLink: (who: string) => chooseLink(`${url}/login/corp`, who),
    logIn: (username: 'alice') => open(`${url}/login`, { username, password: passwords[username] }),
    /** @returns status and location or body, and why a login was rejected, as the log has it */
    async finish(callback: string) {
      lines.length = 0
      const response = await open(callback)
      const text = await response.text()
      const rejected = lines.find(({ msg }) => msg === 'Request rejected')
      const { searchParams } = new URL(callback)
      const secrets = [...searchParams.values(), ...cookies(url).split('; ')]
      const quoted = secrets.filter(
        (each) => each.length > 20 && JSON.stringify(lines).includes(each),
      )
      t.strictSame(quoted, [], 'the log quotes no parameter and no cookie')
      return {
        status: response.status,
        to: response.headers.get('location'),
        retryAfter: response.headers.get('retry-after'),
        text,
        reason: rejected?.reason,
        name: await me(),
      }
    },
  }
}

const failed = '{"error":"The login was not successful."}'
const busy = '{"error":"The server is busy. Please try again later."}'

t.test('a user logs in, and with other keys of the provider again', async (t) => {
  const provider = await realProvider(t)
  const shop = await openShop(t, provider.issuer, { userinfo: true })
  t.equal(await shop.me(), null)
  const callback = await shop.choose('alice', '?returnTo=/notes%3Fpage=2')
  t.match(await shop.finish(callback), { status: 303, to: '/notes?page=2', name: 'alice' })
  t.match(shop.seen, [
    // The ID token has none of the others: they are from the UserInfo endpoint.
    { iss: provider.issuer, sub: 'alice', aud: 'shop', name: 'alice of Corp' },
  ])
  t.match(
    await shop.finish(callback),
    { status: 401, name: 'alice' },
    'the callback is good for one login, and another try ends no session',
  )

  await provider.restart()
  const again = await shop.finish(await shop.choose('bob'))
  t.match(again, { status: 303, to: '/', name: 'bob' })
})

t.test('with ?max_age=0 the provider asks again and says when, else it says nothing', async (t) => {
  const provider = await realProvider(t)
  const shop = await openShop(t, provider.issuer)
  const started = Math.floor(Date.now() / 1000)
  await shop.finish(await shop.choose('alice'))
  const again = await shop.finish(await shop.choose('alice', '?max_age=0'))
  t.match(again, { status: 303, to: '/', name: 'alice' })
  const [first, second] = shop.seen
  t.equal(first?.auth_time, undefined)
  t.ok(Number(second?.auth_time) >= started)
})

t.test('a user who has logged in with a password links an account', async (t) => {
  const provider = await realProvider(t)
  const owners = new Map<string, string>()
  const shop = await openShop(t, provider.issuer, {
    username: ({ sub }) => owners.get(sub),
    link: ({ sub }, user) => owners.set(sub, String(nameOf({ user }))),
  })
  await shop.logIn('alice')
  const linked = await shop.finish(await shop.chooseLink('bob'))
  t.match(linked, { status: 303, to: '/', name: 'alice' })
  t.match(await shop.finish(await shop.choose('bob')), { status: 303, name: 'alice' })
  const cancelled = await shop.finish(await shop.chooseLink(''))
  t.match(cancelled, { status: 401, text: failed, name: 'alice' })
})

t.test('the page of the provider for logging out opens', async (t) => {
  const provider = await realProvider(t)
  const { app, open } = await openShop(t, provider.issuer)
  for (const [returnTo, status] of [
    ['http://127.0.0.1/bye', 200],
    ['http://127.0.0.1/unknown', 400],
    [undefined, 200],
  ] as const) {
    const address = await app.authn.loginWith.corp?.logoutUrl({ returnTo })
    t.equal((await open(String(address))).status, status, `${returnTo}`)
  }
})

t.test('with a wrong client secret a login gets a 503, and the log says why', async (t) => {
  const provider = await realProvider(t)
  for (const clientAuth of ['basic', 'post'] as const) {
    const wrong = { clientSecret: 'a wrong secret', clientAuth }
    const shop = await openShop(t, provider.issuer, wrong)
    const rejected = await shop.finish(await shop.choose('alice'))
    t.match(rejected, { status: 503, text: busy, retryAfter: /^\d+$/, name: null })
    t.match(rejected.reason, /answered 401: .*clientSecret/)
    const right = await openShop(t, provider.issuer, { clientAuth })
    t.match(await right.finish(await right.choose('bob')), { status: 303, name: 'bob' })
  }
})
