import t, { type Test } from 'tap'
import { jwtAuthenticator, type Authenticator, type AuthnOptions } from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  passwords,
  secret,
  tokensOf,
  userService,
  type TestApp,
} from '../helpers/app.js'
import {
  isRefusal,
  isWelcome,
  probe,
  texts,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'
import { clockOf, goodKey, jwkOf, startIssuer, type TestIssuer } from '../helpers/issuer.js'
import { moreKeys } from '../helpers/keys.js'
import { until } from '../helpers/load.js'
import { encode, keys } from '../helpers/tokens.js'

const invalid = { error: texts.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const other = { key: moreKeys.otherP256.privateKey }

interface Setting {
  readonly corp: TestIssuer
  readonly partner: TestIssuer
  readonly app: TestApp
  readonly get: (path: string, token: string) => Promise<AnyResponse>
}

/** Two issuers with one `kid`, and tokens of our own. */
async function setting(t: Test, more: AuthnOptions = {}): Promise<Setting> {
  const [corp, partner] = [await startIssuer(t), await startIssuer(t)]
  partner.published = [jwkOf(moreKeys.otherP256, { kid: 'one', alg: 'ES256' })]
  const named = (prefix: string) => ({
    user: ({ sub }: { sub?: unknown }) => ({ name: `${prefix}:${String(sub)}` }),
  })
  const app = await appWith(
    t,
    {
      userService: userService(),
      jwt: { secret },
      issuers: { corp: corp.options(named('corp')), partner: partner.options(named('partner')) },
      ...more,
    },
    (app) => {
      const { handler } = probe()
      for (const use of [
        ['corp'],
        ['corp', 'partner'],
        ['partner', 'corp', 'jwt'],
        ['jwt', 'corp'],
        ['corp', 'partner', 'basic'],
      ]) {
        app.get(`/${use.join('-')}`, { config: { auth: { use } } }, handler)
      }
      app.get('/try', { config: { auth: { mode: 'try', use: ['corp', 'jwt'] } } }, handler)
      app.get(
        '/optional',
        { config: { auth: { mode: 'optional', use: ['corp', 'jwt'] } } },
        handler,
      )
    },
  )
  const get = (path: string, token: string): Promise<AnyResponse> =>
    app.inject({ url: path, headers: bearer(token) })
  return { corp, partner, app, get }
}

t.test(
  'CVE-2025-59936 and CVE-2026-50202: two issuers with one kid have nothing in common',
  async (t) => {
    const { corp, partner, get } = await setting(t)
    const path = '/corp-partner'
    isWelcome(t, await get(path, corp.token()), 'corp:alice')
    isWelcome(t, await get(path, partner.token(other)), 'partner:alice')
    isRefusal(
      t,
      await get(path, corp.token(other)),
      invalid,
      'the key of the partner, the name of the company',
    )
    isRefusal(t, await get(path, partner.token()), invalid, 'and the other way round')
    isRefusal(
      t,
      await get('/corp', partner.token(other)),
      invalid,
      'an issuer that the route does not accept',
    )
    isRefusal(
      t,
      await get('/corp', partner.token({ ...other, claims: { iss: corp.url } })),
      invalid,
    )
    const joined = [`${corp.url}:one`, `${corp.url}/../one`, `${corp.url}#`, `${corp.url}/`]
    for (const iss of joined)
      isRefusal(t, await get(path, corp.token({ claims: { iss } })), invalid, iss)
    for (const kid of [`one:${corp.url}`, `${corp.url}:one`]) {
      isRefusal(t, await get(path, partner.token({ ...other, header: { kid } })), invalid, kid)
    }
    t.strictSame([corp.fetches(), partner.fetches()], [1, 1])
  },
)

t.test(
  'CVE-2026-50202: a key that the issuer takes back is out, remembered tokens too',
  async (t) => {
    const { corp, get, app } = await setting(t)
    const { advance } = clockOf(t)
    const token = corp.token({ claims: { exp: Math.floor(Date.now() / 1000) + 9_999 } })
    isWelcome(t, await get('/corp', token), 'corp:alice')
    corp.published = [jwkOf(keys.p384, { kid: 'two' })]
    advance(601)
    isWelcome(
      t,
      await get('/corp', token),
      'corp:alice',
      'the old set, while the new one is fetched',
    )
    await until(() => app.authn.stats().issuers.corp?.age === 0, 'the set is renewed')
    isRefusal(t, await get('/corp', token), invalid)
    corp.published = [goodKey]
    advance(31)
    isWelcome(t, await get('/corp', token), 'corp:alice', 'and is asked for again')
  },
)

t.test(
  'a token that names nobody goes to jwt where that is listed, and is a 401 otherwise',
  async (t) => {
    const { corp, partner, app, get } = await setting(t)
    const own = tokensOf(app).generateToken('alice')
    const foreign = corp.token({ claims: { iss: 'https://stranger.example' } })
    for (const path of ['/partner-corp-jwt', '/jwt-corp']) {
      isWelcome(t, await get(path, own), 'alice', path)
      isWelcome(t, await get(path, corp.token()), 'corp:alice', path)
      isRefusal(t, await get(path, foreign), invalid, path)
    }
    isRefusal(t, await get('/jwt-corp', partner.token(other)), invalid)
    for (const text of [
      own,
      foreign,
      'x',
      'x.y.z',
      `${encode('{}')}.${encode('{"iss":1}')}.x`,
      own.replace('.', '.x'),
    ]) {
      isRefusal(t, await get('/corp-partner', text), invalid, text.slice(0, 20))
      isRefusal(t, await get('/corp', text), invalid, text.slice(0, 20))
    }
    const lying = tokensOf(app).generateTokenWithClaims({ sub: 'alice', iss: corp.url })
    isRefusal(t, await get('/jwt-corp', lying), invalid, 'our own token in the name of an issuer')
  },
)

t.test('no credentials, other schemes, and the modes', async (t) => {
  const { corp, app, get } = await setting(t)
  const none = { error: texts.none, challenge: 'Bearer realm="Authorization required"' }
  for (const path of ['/corp', '/corp-partner', '/jwt-corp']) {
    isRefusal(t, await app.inject(path), none, path)
    isRefusal(t, await app.inject({ url: path, headers: { authorization: 'Bearer ' } }), none, path)
    const headers = basic('alice', passwords.alice)
    isRefusal(t, await app.inject({ url: path, headers }), none, path)
    const malformed = { authorization: 'Bearer\tx' }
    t.equal((await app.inject({ url: path, headers: malformed })).statusCode, 401, path)
  }
  isWelcome(t, await get('/corp-partner-basic', corp.token()), 'corp:alice')
  const byPassword = { url: '/corp-partner-basic', headers: basic('alice', passwords.alice) }
  isWelcome(t, await app.inject(byPassword), 'alice')
  isWelcome(t, await app.inject('/optional'), null)
  isWelcome(t, await get('/optional', corp.token()), 'corp:alice')
  isRefusal(t, await get('/optional', corp.token(other)), invalid)
  isWelcome(t, await get('/try', corp.token(other)), null)
  await corp.kill()
})

t.test('Bearer authenticators of the app, and who answers', async (t) => {
  const corp = await startIssuer(t)
  const opaque: Authenticator = {
    scheme: 'Bearer',
    authenticate: ({ headers }) =>
      headers.authorization === 'Bearer opaque' ? { name: 'opaque' } : null,
    onUnauthorized: (_error, _request, reply) => reply.code(401).send('mine'),
  }
  const app = await appWith(
    t,
    {
      userService: userService(),
      jwt: { secret },
      issuers: { corp: corp.options() },
      authenticators: { opaque, ours: jwtAuthenticator() },
    },
    (app) => {
      const { handler } = probe()
      app.get('/one', { config: { auth: { use: ['corp', 'opaque'] } } }, handler)
      app.get('/more', { config: { auth: { use: ['opaque', 'corp', 'ours'] } } }, handler)
    },
  )
  const get = (url: string, token: string): Promise<AnyResponse> =>
    app.inject({ url, headers: bearer(token) })
  isWelcome(t, await get('/one', 'opaque'), 'opaque')
  isWelcome(t, await get('/one', corp.token()), 'alice')
  isWelcome(t, await get('/more', tokensOf(app).generateToken('alice')), 'alice')
  isWelcome(t, await get('/more', 'opaque'), 'opaque')
  t.equal((await get('/one', 'x')).body, 'mine')
  isRefusal(t, await get('/one', corp.token(other)), invalid, 'an issuer answers in the usual way')
})

t.test('cookies hold tokens of our own', async (t) => {
  const { app, corp } = await setting(t, { cookies: true })
  const token = tokensOf(app).generateToken('alice')
  const send = (value: string): Promise<AnyResponse> =>
    app.inject({
      url: '/jwt-corp',
      headers: { host: 'app.example' },
      cookies: { '__Host-token': value },
    })
  t.equal((await send(token)).statusCode, 200)
  t.equal((await send(corp.token())).statusCode, 401)
  const both = {
    url: '/corp-partner-basic',
    headers: { host: 'app.example' },
    cookies: { '__Host-token': token },
  }
  t.equal((await app.inject(both)).statusCode, 401)
})
