// The marks `mfa` and `fresh`: who meets them, and what the others are told (RFC 9470).
import t, { type Test } from 'tap'
import { apiKeyStart, appOf, challenge, epochSeconds, type Claims } from '../helpers/level.js'
import { authn, basicAuthenticator, configBasicAuthenticator } from '../../lib/index.js'
import { JwtService } from '../../lib/index.js'
import { passkeysOver } from '../helpers/passkeys.js'
import { key } from '../helpers/second-factor.js'
import { actingAs, authAttacks, authnTesting, mintToken } from '../../lib/testing/index.js'
import {
  basic,
  bearer,
  fastify,
  passwords,
  secret,
  standardOptions,
  userService,
} from '../helpers/app.js'

const mfa = { amr: ['pwd', 'otp', 'mfa'] }
const both = { mfa: true, fresh: 600 } as const

t.test('mfa is the list amr with mfa in it, and nothing else', async (t) => {
  const { get } = await appOf(t, { mfa: true })
  t.equal((await get({ ...mfa, auth_time: 1 })).statusCode, 200)
  t.equal((await get(mfa)).statusCode, 200, 'whenever that was')
  const others: unknown[] = [undefined, ['pwd'], 'mfa', { mfa: true }, [['mfa']], ['mfa', 1], null]
  for (const amr of others) {
    const response = await get({ amr, auth_time: epochSeconds() })
    t.equal(response.statusCode, 401, JSON.stringify(amr))
    t.strictSame(response.headers['www-authenticate'], challenge('acr_values="mfa"'))
  }
})

t.test('fresh is a number of seconds that was not long ago', async (t) => {
  const { get, lines } = await appOf(t, { fresh: 600 })
  const now = epochSeconds()
  for (const auth_time of [now, now - 590, now + 200]) {
    t.equal((await get({ auth_time })).statusCode, 200, String(auth_time))
  }
  const others = [undefined, now - 610, now + 400, now * 1000, String(now), [now], null, 0]
  for (const auth_time of others) {
    const response = await get({ auth_time, ...mfa })
    t.equal(response.statusCode, 401, JSON.stringify(auth_time))
    t.match(response.json(), { error: 'Please confirm that it is you.' })
    t.strictSame(response.headers['www-authenticate'], challenge('max_age="600"'))
  }
  const rejected = lines.filter(({ code }) => code === 'ERR_AUTH_INSUFFICIENT_AUTHENTICATION')
  t.equal(rejected.length, others.length)
  t.ok(rejected.every(({ reason }) => typeof reason === 'string'))
})

t.test('scope and role come first: no code is asked for what stays forbidden', async (t) => {
  const { get, app } = await appOf(t, { ...both, scope: 'a', role: 'admin' })
  const good = { ...mfa, auth_time: epochSeconds(), scope: 'a', sub: 'alice' }
  t.equal((await get(good)).statusCode, 200)
  t.match(await get({ ...good, amr: [], scope: '' }), { statusCode: 403 })
  t.match(await get({ ...good, amr: [], sub: 'bob' }), { statusCode: 403 })
  const response = await get({ ...good, amr: [] })
  t.equal(response.statusCode, 401)
  t.strictSame(response.headers['www-authenticate'], challenge('acr_values="mfa", max_age="600"'))
  const none = await app.inject('/')
  t.equal(
    none.headers['www-authenticate'],
    'Bearer realm="Authorization required"',
    'no credentials',
  )
  t.match(app.authn.printRoutes(), /required +scope a; role admin; mfa; fresh 600 +jwt/)
  t.match(app.authn.routes()[0], { mfa: true, fresh: 600 })
})

t.test('Basic presents the password with each request, so it is fresh', async (t) => {
  const { app } = await appOf(t, { fresh: 1, use: 'basic' })
  const headers = basic('alice', passwords.alice)
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  t.equal((await app.inject({ url: '/', headers: basic('alice', 'x') })).statusCode, 401)
})

t.test('a mark that a credential can never meet makes startup fail', async (t) => {
  const rows: [auth: unknown, message: RegExp][] = [
    [{ mfa: true, use: 'basic' }, /key "mfa" on a route that accepts "basic"/],
    [{ mfa: true, use: ['jwt', 'basic'] }, /"mfa" .* "basic"/],
    [{ mfa: true, use: 'configBasic' }, /"mfa" .* "configBasic"/],
    [{ fresh: 60, use: 'configBasic' }, /"fresh" .* "configBasic"/],
    [{ fresh: 60, use: ['jwt', 'apiKey'] }, /"fresh" .* "apiKey"/],
    [{ mfa: true, use: 'apiKey' }, /"mfa" .* "apiKey"/],
    [{ mfa: true, use: 'wrapped' }, /"mfa" .* "wrapped"/],
    [{ mfa: false }, /"mfa": found false/],
    [{ mfa: undefined }, /"mfa": found undefined/],
    [{ mfa: 'true' }, /"mfa": found/],
    [{ fresh: undefined }, /"fresh": found undefined/],
    [{ fresh: 0 }, /"fresh": found 0/],
    [{ fresh: 2_592_001 }, /"fresh": found 2592001/],
    [{ fresh: 1.5 }, /"fresh": found 1.5/],
    [{ fresh: '600' }, /"fresh": found/],
    [{ fresh: NaN }, /"fresh": found/],
    [{ mfa: true, mode: 'optional' }, /mode "optional" beside mfa/],
    [{ fresh: 60, mode: 'try' }, /mode "try" beside fresh/],
    [{ fresh: 60, mode: false }, /mode false beside fresh/],
    [Object.create({ mfa: true }, { use: { value: 'jwt' } }), /"mfa" is inherited/],
  ]
  const wrapped = { ...basicAuthenticator(), accepts: () => false }
  for (const [auth, message] of rows) {
    const options = { authenticators: { wrapped }, ...apiKeyStart }
    await t.rejects(appOf(t, auth, options), { code: 'ERR_AUTH_MARK', message })
  }
  const authenticator = configBasicAuthenticator({ username: 'a', password: 'b' })
  await t.rejects(appOf(t, { fresh: 60 }, { authenticator }), { code: 'ERR_AUTH_MARK' })
})

t.test('mfa that no login of the app can meet makes startup fail', async (t) => {
  const login = { subject: (user: object) => (user as { id: number }).id }
  const passkeys = { origin: 'https://shop.example', name: 'Shop', ...passkeysOver([]) }
  const own = { authenticate: () => null }
  const jwtService = new JwtService({ secret })
  const never = { code: 'ERR_AUTH_MARK', message: /"mfa", which no login of this app can meet/ }
  for (const options of [{}, { cookies: true }, { sessions: { mfa: false } }, { basic: undefined }])
    await t.rejects(appOf(t, { mfa: true }, { sessions: true, ...options }), never)
  await t.rejects(appOf(t, { mfa: true, use: 'jwt' }, { sessions: true, ...apiKeyStart }), never)
  for (const options of [
    { login, passkeys },
    { login, secondFactor: { key, issuer: 'Shop', update: () => true } },
    { sessions: { mfa: true } },
    { login: { passwords: false } },
    { jwt: undefined, jwtService },
    { authenticators: { jwt: own } },
  ])
    await appOf(t, { mfa: true }, { sessions: true, ...options })
  await appOf(t, { mfa: true, use: ['jwt', 'own'] }, { sessions: true, authenticators: { own } })
})

t.test('an authenticator of the app passes with such claims of its own', async (t) => {
  const good = { amr: ['mfa'], auth_time: epochSeconds() }
  const inherited = (claims: object, own: object) =>
    Object.assign(Object.create(claims) as object, own)
  const claims: [object | null, number][] = [
    [good, 200],
    [{ ...good, auth_time: Number.NaN }, 401],
    [{ ...good, auth_time: Infinity }, 401],
    [inherited({ amr: good.amr }, { auth_time: good.auth_time }), 401],
    [inherited({ auth_time: good.auth_time }, { amr: good.amr }), 401],
    [null, 401],
  ]
  for (const [jwtClaims, status] of claims) {
    const own = {
      authenticate(request: { extra: Record<string, unknown> }) {
        request.extra.jwtClaims = jwtClaims
        return { id: 1 }
      },
    }
    const { app } = await appOf(t, { ...both, use: 'own' }, { authenticators: { own } })
    t.equal((await app.inject('/')).statusCode, status)
  }
})

t.test(
  'a user of actingAs counts as freshly logged in, and with mfa if the test says so',
  async (t) => {
    const app = fastify(t)
    await app.register(authnTesting)
    await app.register(authn, standardOptions())
    app.get('/mfa', { config: { auth: { mfa: true } } }, ({ user }) => user)
    app.get('/fresh', { config: { auth: { fresh: 60 } } }, ({ user }) => user)
    const status = async (url: string, options = {}) =>
      (await app.inject({ url, ...actingAs({ id: 1 }, options) })).statusCode
    t.equal(await status('/mfa'), 401)
    t.equal(await status('/mfa', { mfa: true }), 200)
    t.equal(await status('/mfa', { claims: { sub: 'alice', amr: ['mfa'] } }), 200)
    t.equal(await status('/mfa', { claims: { sub: 'alice', amr: ['mfa'] }, mfa: false }), 401)
    t.equal(await status('/fresh'), 200)
    t.equal(await status('/fresh', { authTime: epochSeconds() - 61 }), 401)
  },
)

t.test('authAttacks tries tokens of another level', async (t) => {
  const { app } = await appOf(t, both)
  const claims = { ...mfa, auth_time: epochSeconds() }
  const report = await authAttacks(app, { url: '/', sub: 'alice', claims })
  t.strictSame(report.problems, [])
  const open = fastify(t)
  await open.register(authn, standardOptions())
  open.get('/', { config: { auth: both } }, () => ({}))
  const scoped = await authAttacks(open, { url: '/', sub: 'alice' })
  t.match(scoped.problems, [{ why: /ERR_AUTH_INSUFFICIENT_AUTHENTICATION/ }])
  const { cases } = await authAttacks((await appOf(t, true)).app, {
    url: '/',
    sub: 'alice',
    claims,
  })
  t.equal(report.cases - cases, 14, 'seven of each')
})

t.test('issuers say with their own claims what mfa is', async (t) => {
  const mark = (more: object, mfa?: unknown) => issuerApp(t, more, mfa)
  const now = epochSeconds()
  const rows: [mfa: unknown, claims: Claims, status: number, acr?: string][] = [
    [undefined, { amr: ['mfa'] }, 200],
    [undefined, { acr: 'gold' }, 401, 'mfa'],
    [['gold', 'platin'], { acr: 'gold' }, 200],
    [['gold', 'platin'], { acr: 'platin' }, 200],
    [['gold', 'platin'], { acr: ['gold'] }, 401, 'gold platin'],
    [['gold', 'platin'], { acr: 'gold platin', amr: ['mfa'] }, 401, 'gold platin'],
    [({ acrs }: Claims) => (acrs as string[]).includes('c1'), { acrs: ['c1'] }, 200],
    [({ acrs }: Claims) => (acrs as string[]).includes('c1'), { acrs: ['c2'] }, 401, 'mfa'],
    [() => 1, {}, 401, 'mfa'],
    [async () => true, {}, 401, 'mfa'],
    [() => Promise.reject(new Error('late')), {}, 401, 'mfa'],
    [
      () => {
        throw new Error('a secret of the app')
      },
      {},
      500,
    ],
  ]
  for (const [mfa, claims, status, acr] of rows) {
    const { get } = await mark({ mfa: true }, mfa)
    const response = await get(claims)
    t.equal(response.statusCode, status, `${String(mfa)} ${JSON.stringify(claims)}`)
    t.notMatch(response.body, /secret/)
    if (acr) t.strictSame(response.headers['www-authenticate'], challenge(`acr_values="${acr}"`))
  }
  const { get } = await mark({ fresh: 600 })
  t.equal((await get({ auth_time: now - 620 })).statusCode, 200, 'clockTolerance')
  t.equal((await get({ auth_time: now - 640 })).statusCode, 401)
})

t.test('the challenge is one, for the issuer of the token that came', async (t) => {
  const app = fastify(t)
  await app.register(authnTesting)
  const users = userService()
  const user = ({ sub }: { sub?: unknown }, request: never) =>
    users.findByUsername(String(sub), request)
  const issuerOf = (name: string) => ({
    issuer: `https://${name}.example`,
    audience: 'shop',
    mfa: [name],
    user,
  })
  const issuers = { gold: issuerOf('gold'), silver: issuerOf('silver') }
  await app.register(authn, { ...standardOptions(), userService: users, issuers } as never)
  const use = ['gold', 'silver', 'jwt']
  app.get('/', { config: { auth: { use, mfa: true } } }, () => ({}))
  app.get('/basic', { config: { auth: { use: ['jwt', 'basic'], fresh: 60 } } }, () => ({}))
  await app.ready()
  for (const issuer of ['gold', 'silver', 'gold']) {
    const headers = bearer(mintToken(app, { issuer, sub: 'alice' }))
    const { headers: sent } = await app.inject({ url: '/', headers })
    t.strictSame(sent['www-authenticate'], challenge(`acr_values="${issuer}"`))
  }
  const headers = bearer(mintToken(app, { sub: 'alice' }))
  const ours = await app.inject({ url: '/', headers })
  t.strictSame(ours.headers['www-authenticate'], challenge('acr_values="mfa"'))
  const both = await app.inject({ url: '/basic', headers })
  t.strictSame(both.headers['www-authenticate'], challenge('max_age="60"'))
})

t.test('the option mfa of an issuer is checked at startup', async (t) => {
  for (const mfa of [true, 'gold', [], [''], ['a b'], [1], {}]) {
    await t.rejects(issuerApp(t, { mfa: true }, mfa), {
      code: 'ERR_AUTH_OPTION',
      message: /option "issuers.corp.mfa/,
    })
  }
})

async function issuerApp(t: Test, auth: object, mfa?: unknown) {
  const app = fastify(t)
  await app.register(authnTesting)
  const users = userService()
  const corp = {
    issuer: 'https://id.example',
    audience: 'shop',
    clockTolerance: 30,
    user: ({ sub }: { sub?: unknown }, request: never) =>
      users.findByUsername(String(sub), request),
    ...(mfa !== undefined && { mfa }),
  }
  await app.register(authn, { userService: users, issuers: { corp } } as never)
  app.get('/', { config: { auth: { use: 'corp', ...auth } } }, () => ({}))
  await app.ready()
  const get = (claims: Claims) =>
    app.inject({
      url: '/',
      headers: bearer(mintToken(app, { issuer: 'corp', sub: 'alice', claims })),
    })
  return { get }
}
