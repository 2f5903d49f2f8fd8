import t, { type Test } from 'tap'
import { authAttacks, mintToken } from '../../lib/testing/index.js'
import { claimsOf } from '../helpers/sessions.js'
import { appWith, bearer } from '../helpers/app.js'
import { startIssuer } from '../helpers/issuer.js'
import { rejectionOf } from '../helpers/errors.js'
import type { IssuerOptions } from '../../lib/index.js'

async function setting(t: Test, more: Partial<IssuerOptions> = {}) {
  const issuer = await startIssuer(t)
  const app = await appWith(t, { issuers: { corp: issuer.options(more) } }, (app) => {
    app.get('/me', { config: { auth: { use: 'corp' } } }, ({ user }) => user)
    app.get(
      '/notes',
      { config: { auth: { use: 'corp', scope: 'notes:read' } } },
      ({ user }) => user,
    )
  })
  return { app, issuer }
}

const tokensOnly = { except: [/^(?!token: )/] }

t.test('a route of an issuer rejects every attack, while the issuer is down', async (t) => {
  const rows: [string, Partial<IssuerOptions>][] = [
    ['an RSA key', {}],
    ['ES256 and RFC 9068', { algorithms: ['ES256'], profile: 'rfc9068' }],
    ['Cognito', { audienceClaim: 'client_id', algorithms: ['EdDSA'] }],
  ]
  for (const [what, more] of rows) {
    const { app, issuer } = await setting(t, more)
    await issuer.kill()
    const report = await authAttacks(app, { url: '/me', issuer: 'corp', sub: 'alice' })
    t.strictSame([report.problems, report.leftOut], [[], []], what)
    t.ok(report.cases > 70, `${what}: ${report.cases} cases`)
  }
})

t.test('a route of an issuer with a scope rejects every attack', async (t) => {
  const { app } = await setting(t)
  const claims = { scope: 'notes:read' }
  const report = await authAttacks(app, {
    url: '/notes',
    issuer: 'corp',
    claims,
    except: [/^Authorization: /],
    algorithm: 'ES256',
  })
  t.strictSame(report.problems, [])
})

t.test('authAttacks() finds a route that accepts tokens without exp', async (t) => {
  const { app } = await setting(t, { requireExp: false, user: () => ({ name: 'anybody' }) })
  const report = await authAttacks(app, { url: '/me', issuer: 'corp', sub: 'a', ...tokensOnly })
  t.ok(report.problems.some((each) => each.case === 'token: withoutExp' && each.status === 200))
})

t.test('mintToken() makes good and broken tokens of an issuer', async (t) => {
  const { app, issuer } = await setting(t)
  const get = async (token: string): Promise<number> =>
    (await app.inject({ url: '/me', headers: bearer(token) })).statusCode
  t.equal(await get(issuer.token()), 200, 'the real one')
  const token = mintToken(app, {
    issuer: 'corp',
    sub: 'alice',
    claims: { scope: 'x' },
    notBefore: -5,
  })
  t.match(claimsOf(token), { iss: issuer.url, sub: 'alice', scope: 'x', nbf: Number })
  t.equal(await get(token), 200)
  t.equal(await get(issuer.token()), 401, 'whose keys are replaced')
  t.equal(await get(mintToken(app, { issuer: 'corp', sub: 'alice', algorithm: 'ES256' })), 200)
  for (const broken of ['expired', 'otherKey', 'confused', 'withoutSubject', 'none'] as const) {
    t.equal(await get(mintToken(app, { issuer: 'corp', sub: 'alice', broken })), 401, broken)
  }
  t.equal(await get(mintToken(app, { issuer: 'corp', sub: 'alice', typ: 'reset+jwt' })), 401)
  t.equal(issuer.fetches(), 1)
})

t.test('mintToken() rejects an unknown issuer, a secret and production', async (t) => {
  const { app } = await setting(t)
  const code = 'ERR_AUTH_TESTING'
  t.throws(() => mintToken(app, { issuer: 'other', sub: 'a' }), {
    code,
    message: /found no issuer "other"/,
  })
  t.throws(() => mintToken({}, { issuer: 'corp', sub: 'a' }), { code, message: /found no issuer/ })
  t.throws(() => mintToken(app, { issuer: 'corp', sub: 'a', algorithm: 'HS256' }), {
    code,
    message: /never sign with a secret/,
  })
  t.match(await rejectionOf(authAttacks(app, { url: '/me', issuer: 'x' })), { code })
  t.intercept(process, 'env', { value: { ...process.env, NODE_ENV: 'production' } })
  t.throws(() => mintToken(app, { issuer: 'corp', sub: 'a' }), {
    code,
    message: /not possible in production/,
  })
})

const introspection = { clientId: 'notes', clientSecret: 'a secret of the test' }

t.test('an introspecting route rejects every attack, and no server is asked', async (t) => {
  const rows: Partial<IssuerOptions>[] = [
    { introspection },
    { introspection: { ...introspection, jwt: true } },
    { introspection, audienceClaim: 'client_id' },
  ]
  for (const more of rows) {
    const { app, issuer } = await setting(t, more)
    const report = await authAttacks(app, { url: '/me', issuer: 'corp', sub: 'alice' })
    t.strictSame([report.problems, report.leftOut], [[], []])
    t.strictSame(
      issuer.asked.filter((path) => path !== '/keys' && !path.startsWith('/.well-known')),
      [],
    )
  }
})

t.test('authAttacks() finds an issuer that accepts tokens of any audience', async (t) => {
  const { app } = await setting(t, { introspection, audience: ['https://other.example', 'other'] })
  const report = await authAttacks(app, { url: '/me', issuer: 'corp', sub: 'a', ...tokensOnly })
  const found = report.problems.map((each) => [each.case, each.status])
  t.strictSame(found, [['token: opaque, otherAudience', 200]])
})

t.test('mintToken() makes good and broken opaque tokens of an issuer', async (t) => {
  const { app, issuer } = await setting(t, { introspection })
  await issuer.kill()
  const get = async (token: string, url = '/me'): Promise<number> =>
    (await app.inject({ url, headers: bearer(token) })).statusCode
  const opaque = { issuer: 'corp', opaque: true, sub: 'alice' } as const
  t.equal(await get(mintToken(app, opaque)), 200)
  t.equal(await get(mintToken(app, opaque), '/notes'), 403)
  t.equal(await get(mintToken(app, { ...opaque, claims: { scope: 'notes:read' } }), '/notes'), 200)
  t.equal(await get(mintToken(app, { ...opaque, expiresIn: -1 })), 401)
  t.equal(await get(mintToken(app, { issuer: 'corp', sub: 'alice' })), 200, 'and JWTs')
  for (const broken of [
    'unknown',
    'expired',
    'otherAudience',
    'senderConstrained',
    'refresh',
    'oversized',
  ] as const) {
    t.equal(await get(mintToken(app, { ...opaque, broken })), 401, broken)
  }
  const wrong = async (options: object): Promise<unknown> =>
    rejectionOf((async () => mintToken(app, { sub: 'a', opaque: true, ...options }))())
  const code = 'ERR_AUTH_TESTING'
  t.match(await wrong({}), { code, message: /"introspection"/ })
  t.match(await wrong({ issuer: 'corp', broken: 'none' }), {
    code,
    message: /found broken: "none"/,
  })
  const { app: other } = await setting(t)
  t.throws(() => mintToken(other, opaque), { code, message: /"introspection"/ })
})
