import t, { type Test } from 'tap'
import { clockOf } from '../helpers/clock.js'
import { appWith, bearer } from '../helpers/app.js'
import { isRejection, isWelcome, probe, messages, tokenChallenge } from '../helpers/flows.js'
import { audience, goodKey, jwkOf, startIssuer, type TokenParts } from '../helpers/issuer.js'
import { moreKeys } from '../helpers/keys.js'
import { until } from '../helpers/load.js'
import { keys, epochSeconds, signedToken } from '../helpers/tokens.js'
import type { AuthnOptions, IssuerOptions } from '../../lib/index.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }

async function setting(t: Test, more: Partial<IssuerOptions> = {}, options: AuthnOptions = {}) {
  const issuer = await startIssuer(t)
  issuer.published = [goodKey, jwkOf(keys.rsa, { kid: 'rsa', alg: 'RS256' })]
  const asked: unknown[] = []
  const user: IssuerOptions['user'] = (claims) => {
    asked.push(claims)
    return { name: claims.sub }
  }
  const issuers = { corp: issuer.options({ user, ...more }) }
  const app = await appWith(t, { issuers, ...options }, (app) => {
    app.get('/', { config: { auth: { use: 'corp' } } }, probe().handler)
  })
  const get = (token: string) => app.inject({ url: '/', headers: bearer(token) })
  await until(() => app.authn.stats().issuers.corp?.keys === 2, 'the keys are there')
  return { issuer, app, get, asked }
}

const rsa: TokenParts = { key: keys.rsa.privateKey, alg: 'RS256', header: { kid: 'rsa' } }
const url = 'https://attacker.example/keys'

t.test('valid tokens are accepted, also from the cache', async (t) => {
  const { issuer, get, app } = await setting(t)
  const good: [string, TokenParts][] = [
    ['another key', rsa],
    ['an audience among several', { claims: { aud: ['x', audience] } }],
    ['typ JWT', { header: { typ: 'JWT' } }],
    ['typ at+jwt', { header: { typ: 'at+jwt' } }],
    ['typ in another case, with application/', { header: { typ: 'Application/AT+JWT' } }],
    [
      'what is in the header and means nothing',
      { header: { jku: url, x5u: url, jwk: {}, x5c: [], x5t: 'x' } },
    ],
    ['a number as sub', { claims: { sub: 7 } }],
    ['nbf in the past', { claims: { nbf: epochSeconds() - 1, iat: epochSeconds() } }],
  ]
  for (const [what, parts] of good) {
    const token = issuer.token(parts)
    t.equal((await get(token)).statusCode, 200, what)
    t.equal((await get(token)).statusCode, 200, `${what}, cached`)
  }
  t.equal(app.authn.stats().issuers.corp?.fetches, 1)
})

const stranger: TokenParts = { key: moreKeys.otherP256.privateKey }
const certificate = moreKeys.otherP256.publicKey
  .export({ type: 'spki', format: 'der' })
  .toString('base64')
const bad: [string, TokenParts][] = [
  ['a foreign key', stranger],
  [
    'CVE-2018-0114: a key that it brings along',
    { ...stranger, header: { jwk: jwkOf(moreKeys.otherP256, { kid: 'one' }) } },
  ],
  ['the address of a key', { ...stranger, header: { jku: url, x5u: url } }],
  ['a certificate', { ...stranger, header: { x5c: [certificate] } }],
  ['no kid', { header: { kid: undefined } }],
  ['a number as kid', { header: { kid: 1 } }],
  ['kid in a list', { header: { kid: ['one'] } }],
  ['kid __proto__', { header: { kid: '__proto__' } }],
  ['kid with a path', { header: { kid: '../../../dev/null' } }],
  ['the kid of another key', { header: { kid: 'rsa' } }],
  ['the alg of another key', { header: { alg: 'RS256' } }],
  ['another alg of the same kind of key', { ...rsa, alg: 'PS256' }],
  ['RS512 of a key for RS256', { ...rsa, alg: 'RS512' }],
  ['alg in a list', { header: { alg: ['ES256'] } }],
  ['typ of another purpose', { header: { typ: 'reset+jwt' } }],
  ['typ that is no string', { header: { typ: ['JWT'] } }],
  ['crit', { header: { crit: ['exp'] } }],
  ['cnf (RFC 8705)', { claims: { cnf: { 'x5t#S256': 'x' } } }],
  ['cnf null', { claims: { cnf: null } }],
  ...['ID', 'id_token', 'Refresh', 'refresh_token', 'Offline', 'Logout', 'logout+jwt'].flatMap(
    (typ): [string, TokenParts][] => [
      [`claim typ ${typ}`, { claims: { typ } }],
      [`header typ ${typ}`, { header: { typ } }],
    ],
  ),
  ['an ID token of Cognito', { claims: { token_use: 'id' } }],
  ['typ that cannot be read as a string', { claims: { typ: { toString: 1 } } }],
  ['a list as token_use', { claims: { token_use: ['access'] } }],
  ['an ID token', { claims: { at_hash: 'x' } }],
  ['an ID token with a code', { claims: { c_hash: null } }],
  ['a logout token', { claims: { events: {} } }],
  ['another issuer', { claims: { iss: 'https://attacker.example' } }],
  ['no issuer', { claims: { iss: undefined } }],
  ['CVE-2025-30144: issuers in a list', { claims: { iss: ['https://attacker.example', 'x'] } }],
  ['another audience', { claims: { aud: 'https://other.example' } }],
  ['no audience', { claims: { aud: undefined } }],
  ['an ID token: its audience is the client', { claims: { aud: 'client-1', nonce: 'x' } }],
  ['no exp', { claims: { exp: undefined } }],
  ['no sub', { claims: { sub: undefined } }],
  ['an empty sub', { claims: { sub: '' } }],
  ['sub as an operator', { claims: { sub: { $ne: null } } }],
  ['sub with NUL', { claims: { sub: 'alice\0' } }],
]

t.test('invalid tokens get a 401 without a user look-up or a fetch', async (t) => {
  const { issuer, get, asked } = await setting(t)
  for (const [what, parts] of bad) {
    const token = issuer.token(parts)
    isRejection(t, await get(token), invalid, what)
    isRejection(t, await get(token), invalid, `${what}, again`)
  }
  const list = issuer.token({ claims: { iss: [issuer.url] } })
  isRejection(t, await get(list), invalid, 'CVE-2025-30144: the right issuer in a list')
  t.strictSame(asked, [])
  t.equal(issuer.fetches(), 1)
})

t.test('of members that come twice, the last one counts', async (t) => {
  const { issuer, get } = await setting(t)
  const rest = `"aud":"${audience}","sub":"alice","exp":${epochSeconds() + 60}`
  const sign = (header: string, payload: string): string =>
    signedToken(header, payload, keys.p256.privateKey)
  const header = '{"alg":"ES256","kid":"one"}'
  const first = `{"iss":"https://attacker.example","iss":"${issuer.url}",${rest}}`
  isWelcome(t, await get(sign(header, first)), 'alice')
  const last = `{"iss":"${issuer.url}","iss":"https://attacker.example",${rest}}`
  isRejection(t, await get(sign(header, last)), invalid)
  const good = `{"iss":"${issuer.url}",${rest}}`
  isRejection(t, await get(sign('{"alg":"ES256","alg":"none","kid":"one"}', good)), invalid)
  isRejection(t, await get(sign('{"alg":"ES256","kid":"one","kid":"rsa"}', good)), invalid)
  isWelcome(t, await get(sign('{"alg":"none","alg":"ES256","kid":"one"}', good)), 'alice')
})

t.test('exp and nbf are checked on every request, of cached tokens too', async (t) => {
  const { issuer, get } = await setting(t, { clockTolerance: 10 })
  const { advance } = clockOf(t)
  const token = issuer.token({ claims: { exp: epochSeconds() + 20 } })
  isWelcome(t, await get(token), 'alice')
  advance(29)
  isWelcome(t, await get(token), 'alice', 'within the tolerance')
  advance(2)
  const expired = tokenChallenge('The token expired')
  isRejection(t, await get(token), { error: messages.jwtExpired, challenge: expired })
  const early = issuer.token({ claims: { nbf: epochSeconds() + 60, exp: epochSeconds() + 99 } })
  const notYet = tokenChallenge('The token is not valid yet')
  isRejection(t, await get(early), { error: messages.jwtEarly, challenge: notYet })
})

t.test('the profile rfc9068 accepts the typ at+jwt only', async (t) => {
  const { issuer, get } = await setting(t, { profile: 'rfc9068' })
  for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/At+Jwt']) {
    isWelcome(t, await get(issuer.token({ header: { typ } })), 'alice', typ)
  }
  const others = [undefined, 'JWT', '', 'id_token', 'at+jwt ', 'x/application/at+jwt', 1, null]
  for (const typ of others) {
    isRejection(t, await get(issuer.token({ header: { typ } })), invalid, String(typ))
  }
})

t.test('with audienceClaim client_id, tokens of Cognito need token_use access', async (t) => {
  const audience = ['client-1', 'client-2']
  const { issuer, get } = await setting(t, { audience, audienceClaim: 'client_id' })
  const cognito = (claims: object) => issuer.token({ claims: { aud: undefined, ...claims } })
  isWelcome(t, await get(cognito({ client_id: 'client-2', token_use: 'access' })), 'alice')
  for (const claims of [
    { client_id: 'client-2' },
    { client_id: 'client-2', token_use: 'id' },
    { client_id: 'client-2', token_use: ['access'] },
    { client_id: 'client-3', token_use: 'access' },
    { client_id: ['client-2'], token_use: 'access' },
    { aud: 'client-2', token_use: 'access' },
    { aud: 'client-2', token_use: 'id' },
  ]) {
    isRejection(t, await get(cognito(claims)), invalid, JSON.stringify(claims))
  }
})

t.test('tokens work without a cache, and without exp if requireExp is false', async (t) => {
  const jwt = { secret: 'x'.repeat(32), tokenCache: false } as const
  const { issuer, get } = await setting(t, { requireExp: false }, { jwt })
  const token = issuer.token({ claims: { exp: undefined } })
  isWelcome(t, await get(token), 'alice')
  isWelcome(t, await get(token), 'alice')
})
