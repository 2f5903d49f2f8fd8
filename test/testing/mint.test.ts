import { createHmac } from 'node:crypto'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { jwtAuthenticator, type JwtConfig } from '../../lib/index.js'
import { brokenTokens } from '../../lib/testing/broken.js'
import { encode, epochSeconds } from '../../lib/testing/forge.js'
import { claimsOf } from '../helpers/sessions.js'
import { mintToken, type BrokenToken, type MintOptions } from '../../lib/testing/index.js'
import { appWith, bearer, secret, secret512, userService } from '../helpers/app.js'
import { isRejection, isWelcome, probe, messages, tokenChallenge } from '../helpers/flows.js'
import { configOf, methodCases } from '../helpers/keys.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'

const names = Object.keys(brokenTokens) as BrokenToken[]

const expired = { error: messages.jwtExpired, challenge: tokenChallenge('The token expired') }
const early = { error: messages.jwtEarly, challenge: tokenChallenge('The token is not valid yet') }
const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
/** A token for another authenticator of the app. */
const notAccepted = { error: messages.notAccepted, challenge: tokenChallenge('Not accepted here') }
const rejections: Partial<Record<BrokenToken, typeof invalid>> = { expired, notYetValid: early }

async function appOf(t: Test, jwt: JwtConfig, authenticator = jwtAuthenticator()) {
  const { handler, take } = probe()
  const users = userService()
  const app = await appWith(t, { userService: users, jwt, login: false, authenticator }, (app) =>
    app.get('/', { config: { auth: true } }, handler),
  )
  return { app, users, take }
}

for (const row of methodCases) {
  t.test(`good tokens of ${row.title} are accepted, and broken ones rejected`, async (t) => {
    const jwt = configOf(row, ({ privateKey }) => ({ private: privatePem(privateKey) }))
    const { app, users, take } = await appOf(t, { ...jwt, issuer: 'us', audience: 'them' })
    const get = (token: string) => app.inject({ url: '/', headers: bearer(token) })
    isWelcome(t, await get(mintToken(app, { sub: 'alice' })), 'alice')
    t.strictSame([take(), users.asked.splice(0)], [1, ['alice']])
    for (const broken of names) {
      if (brokenTokens[broken].needs === 'publicKey' && row.pair === null) continue
      const token = mintToken(app, { sub: 'alice', broken })
      isRejection(t, await get(token), rejections[broken] ?? invalid, broken)
    }
    t.strictSame([take(), users.asked], [0, []], 'no user was looked up')
  })
}

t.test('a broken token has exactly one flaw', async (t) => {
  const { app } = await appOf(t, { secret: secret512, issuer: 'us' })
  const good = mintToken(app, { sub: 'alice', claims: { role: 'admin' } })
  const claims = claimsOf(good)
  const differs = (broken: BrokenToken, options: MintOptions = {}): string[] => {
    const token = mintToken(app, { sub: 'alice', claims: { role: 'admin' }, broken, ...options })
    const other = claimsOf(token)
    return [...new Set([...Object.keys(claims), ...Object.keys(other)])].filter(
      (name) => !['exp', 'nbf'].includes(name) && claims[name] !== other[name],
    )
  }
  const changed: Record<string, string[]> = {
    withoutSubject: ['sub'],
    strangeSubject: ['sub'],
    otherAudience: ['aud'],
    senderConstrained: ['cnf'],
  }
  for (const broken of names.filter((name) => name !== 'malformed' && name !== 'confused')) {
    t.strictSame(differs(broken), changed[broken] ?? [], broken)
  }
  const lifetimes = (broken: BrokenToken): number[] => {
    const { exp, nbf } = claimsOf(mintToken(app, { sub: 'alice', broken })) as Record<
      string,
      number
    >
    return [exp, nbf].map((time) => Math.round((Number(time) - epochSeconds()) / 60))
  }
  t.strictSame(lifetimes('expired'), [-60, 0])
  t.strictSame(lifetimes('notYetValid'), [120, 60])
  t.strictSame(lifetimes('textualExp'), [60, 0])
  t.notOk('exp' in claimsOf(mintToken(app, { sub: 'alice', broken: 'withoutExp' })))
  // The right key also signs the token that is rejected for its algorithm.
  const [stem, signature] = split(mintToken(app, { sub: 'alice', broken: 'wrongAlgorithm' }))
  t.equal(createHmac('sha384', secret512).update(stem).digest('base64url'), signature)
})

function split(token: string): [string, string] {
  const at = token.lastIndexOf('.')
  return [token.slice(0, at), token.slice(at + 1)]
}

t.test('mintToken() signs the given claims, times and algorithm', async (t) => {
  const { app } = await appOf(t, {
    secret,
    expiry: 60,
    rsa: { private: privatePem(keys.rsa.privateKey) },
  })
  const start = epochSeconds()
  const plain = claimsOf(mintToken(app, { sub: 'alice' }))
  t.strictSame(Object.keys(plain).toSorted(), ['exp', 'nbf', 'sub'])
  t.ok(Number(plain.exp) - start - 60 <= 1 && Number(plain.exp) - start >= 60)
  const token = mintToken(app, {
    sub: 7,
    expiresIn: 10,
    notBefore: -10,
    algorithm: 'RS256',
    claims: { role: 'admin', sub: 'overridden' },
  })
  t.equal(token.split('.')[0], encode({ alg: 'RS256', typ: 'JWT' }))
  const { exp, nbf, ...rest } = claimsOf(token)
  t.strictSame(rest, { role: 'admin', sub: 7 })
  t.ok(Number(exp) - start - 10 <= 1 && Number(nbf) - start + 10 <= 1)
  t.equal(app.jwtService.verify(token, 'RS256').sub, 7)
  const given = claimsOf(mintToken(app, { claims: { sub: 'bob', exp: 4_000_000_000, nbf: 5 } }))
  t.strictSame(given, { sub: 'bob', exp: 4_000_000_000, nbf: 5 })
  t.throws(() => app.jwtService.verify(mintToken(app, { sub: 'alice', expiresIn: -1 })), {
    code: 'ERR_AUTH_JWT_EXPIRED',
  })
})

t.test('typ is signed into good and broken tokens', async (t) => {
  const { app, take } = await appOf(t, { secret }, jwtAuthenticator({ typ: 'reset+jwt' }))
  const get = (options: Partial<MintOptions>) => {
    const headers = bearer(mintToken(app, { sub: 'alice', ...options }))
    return app.inject({ url: '/', headers })
  }
  isWelcome(t, await get({ typ: 'reset+jwt' }), 'alice')
  isRejection(t, await get({}), notAccepted)
  t.equal(take(), 1)
  for (const broken of names.filter((name) => name !== 'confused')) {
    const response = await get({ typ: 'reset+jwt', broken })
    isRejection(t, response, rejections[broken] ?? invalid, broken)
    const [head = ''] = mintToken(app, { sub: 'alice', typ: 'reset+jwt', broken }).split('.')
    if (broken === 'malformed') continue
    const { typ } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { typ: unknown }
    t.equal(typ, broken === 'otherPurpose' ? 'fastify-authn-test+jwt' : 'reset+jwt', broken)
  }
  t.throws(() => mintToken(app, { sub: 'alice', typ: '' }), { code: 'ERR_AUTH_OPTION' })
})

t.test('an app that only verifies gets broken tokens, and no good ones', async (t) => {
  const { app } = await appOf(t, {
    rsa: { public: publicPem(keys.rsa.publicKey) },
    signingMethod: 'RS256',
  })
  for (const broken of ['none', 'confused', 'otherKey', 'malformed'] as const) {
    const token = mintToken(app, { sub: 'alice', broken })
    isRejection(t, await app.inject({ url: '/', headers: bearer(token) }), invalid, broken)
  }
  t.throws(() => mintToken(app, { sub: 'alice', broken: 'expired' }), {
    code: 'ERR_AUTH_TESTING',
    message: /"expired" needs the key that signs, .* none for RS256/,
  })
  t.throws(() => mintToken(app, { sub: 'alice' }), { code: 'ERR_AUTH_KEY' })
})

t.test('mintToken() rejects options that it does not know', async (t) => {
  const { app } = await appOf(t, { secret })
  for (const [name, hint] of [
    ['expiresin', 'expiresIn'],
    ['scope', 'claims'],
    ['isuer', 'issuer'],
  ] as const) {
    const options = { sub: 'alice', [name]: 'x' }
    t.throws(() => mintToken(app, options), {
      code: 'ERR_AUTH_TESTING',
      message: new RegExp(`mintToken: found "${name}".*${hint}`),
    })
  }
  t.ok(mintToken(app, { sub: 'alice', issuer: undefined, broken: undefined }))
})

t.test('mintToken() without a user, a key or an app throws ERR_AUTH_TESTING', async (t) => {
  const { app } = await appOf(t, { secret })
  const cases: [RegExp, () => unknown][] = [
    [/"sub" or "claims"/, () => mintToken(app, {})],
    [/expected one of expired, /, () => mintToken(app, { sub: 'a', broken: '__proto__' as never })],
    [/"confused" needs a public key/, () => mintToken(app, { sub: 'a', broken: 'confused' })],
    [/no jwtService\. Await app\.ready\(\)/, () => mintToken(Fastify(), { sub: 'a' })],
  ]
  for (const [message, action] of cases) t.throws(action, { code: 'ERR_AUTH_TESTING', message })
})
