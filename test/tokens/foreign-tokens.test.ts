// Tokens of our own keys that name an audience, or that are bound to a key of their sender.
import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
  type IssuerOptions,
} from '../../lib/index.js'
import { authAttacks } from '../../lib/testing/index.js'
import { appWith, bearer, logLines, secret, standardOptions, type TestApp } from '../helpers/app.js'
import { thrownBy } from '../helpers/errors.js'
import { isRejection, isWelcome, messages, probe, tokenChallenge } from '../helpers/flows.js'
import { epochSeconds, hmacToken } from '../helpers/tokens.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const tokenOf = (claims: object): string =>
  hmacToken({ alg: 'HS256' }, { sub: 'alice', exp: epochSeconds() + 60, ...claims }, secret)
const audiences = ['other', '', ['other'], [], {}, null, 7, false]
const bindings = [{ jkt: 'x' }, { 'x5t#S256': 'x' }, {}, null, '', 0]

/** An app whose option `jwt` has these rules, and a route for an authenticator that does not check `aud`. */
async function setting(t: Test, rules: NonNullable<AuthnOptions['jwt']> = {}) {
  const { lines, stream } = logLines()
  const options = {
    ...standardOptions(),
    jwt: { secret, ...rules },
    authenticators: { any: jwtAuthenticator({ audience: false }) },
  }
  const app = await appWith(
    t,
    options,
    (app) => {
      app.get('/', { config: { auth: true } }, probe().handler)
      app.get('/any', { config: { auth: { use: 'any' } } }, probe().handler)
    },
    { logger: { level: 'info', stream } },
  )
  const get = (url: string, claims: object) => app.inject({ url, headers: bearer(tokenOf(claims)) })
  return { app, get, reasons: () => lines.splice(0).flatMap(({ reason }) => reason ?? []) }
}

const verified = (app: TestApp, claims: object, rules = {}): unknown =>
  app.jwtService.verify(tokenOf(claims), undefined, rules).sub
const causeOf = (call: () => unknown): unknown => thrownBy(call).error.cause

t.test('a token with an aud is rejected, unless audience is false', async (t) => {
  const checked = await setting(t)
  const open = await setting(t, { audience: false })
  const named = await setting(t, { audience: 'us' })
  for (const aud of audiences) {
    const title = JSON.stringify(aud)
    for (const { get, reasons, app } of [checked, named]) {
      isRejection(t, await get('/', { aud }), invalid, title)
      t.strictSame(reasons(), ['claim aud'], title)
      const found = causeOf(() => verified(app, { aud }))
      t.equal(found, 'claim aud', title)
      isWelcome(t, await get('/any', { aud }), 'alice', `${title}, jwtAuthenticator`)
      t.equal(verified(app, { aud }, { audience: false }), 'alice', `${title}, verify()`)
      reasons()
    }
    isWelcome(t, await open.get('/', { aud }), 'alice', `${title}, jwt`)
    const seen = causeOf(() => verified(open.app, { aud }, { audience: 'us' }))
    t.equal(seen, 'claim aud')
  }
  isWelcome(t, await named.get('/', { aud: ['x', 'us'] }), 'alice')
  const claims = (app: TestApp): object =>
    app.jwtService.verify(app.jwtService.generateTokenWithClaims({ sub: 'a' }), undefined, {
      audience: false,
    })
  t.notOk('aud' in claims(open.app), 'no aud is issued')
  t.match(claims(named.app), { aud: 'us' })
})

t.test('a token that is bound to a key is rejected, whatever the audience', async (t) => {
  const { app, get, reasons } = await setting(t, { audience: false })
  for (const cnf of bindings) {
    const title = JSON.stringify(cnf)
    for (const url of ['/', '/any']) isRejection(t, await get(url, { cnf }), invalid, title)
    t.strictSame(reasons(), ['claim cnf', 'claim cnf'], title)
    const found = causeOf(() => verified(app, { cnf }, { audience: false }))
    t.equal(found, 'claim cnf', title)
  }
  isWelcome(t, await get('/', {}), 'alice')
})

t.test('an issuer has to name its audience', async (t) => {
  const issuer = { issuer: 'https://id.example.com', user: () => null }
  // @ts-expect-error false is for tokens of our own keys
  const corp: IssuerOptions = { ...issuer, audience: false }
  await t.rejects(appWith(t, { issuers: { corp } }), {
    code: 'ERR_AUTH_OPTION',
    message: /"issuers\.corp\.audience": found false/,
  })
})

t.test('authAttacks() tries both, and leaves out an aud that the app does not check', async (t) => {
  const only = (...names: string[]) => ({
    except: [new RegExp(`^(?!token: (?:${names.join('|')})$)`)],
  })
  const attack = { ...only('otherAudience', 'senderConstrained'), sub: 'alice' }
  const { app } = await setting(t)
  const report = await authAttacks(app, { url: '/', ...attack })
  t.strictSame([report.cases, report.problems], [2, []])
  const open = await authAttacks(app, { url: '/any', ...attack })
  t.strictSame([open.cases, open.problems], [1, []])
  t.ok(open.leftOut.includes('otherAudience ("audience" is false)'))
  const careless: Authenticator = {
    scheme: 'Bearer',
    authenticate({ headers: { authorization = '' } }) {
      const [head = '', body = '', signature] = authorization.slice(7).split('.')
      const right = createHmac('sha256', secret).update(`${head}.${body}`).digest('base64url')
      return signature === right ? { name: 'alice' } : null
    },
  }
  const options = { ...standardOptions(), authenticators: { careless } }
  const bad = await appWith(t, options, (app) =>
    app.get('/', { config: { auth: { use: 'careless' } } }, () => 'in'),
  )
  const { problems } = await authAttacks(bad, { url: '/', ...attack })
  const found = problems.map((each) => each.case)
  t.strictSame(found, ['token: otherAudience', 'token: senderConstrained'])
})
