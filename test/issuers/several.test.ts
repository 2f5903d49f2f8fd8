// Several issuers on one route, beside tokens of our own.
import t, { type Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { clockOf } from '../helpers/clock.js'
import { appWith, basic, bearer, passwords, secret, userService } from '../helpers/app.js'
import { isRejection, isWelcome, probe, messages, tokenChallenge } from '../helpers/flows.js'
import { goodKey, jwkOf, startIssuer } from '../helpers/issuer.js'
import { moreKeys } from '../helpers/keys.js'
import { encode, keys } from '../helpers/tokens.js'

/** The app knows such tokens, and this route does not accept them. */
const notHere = {
  error: 'This route does not accept these credentials.',
  challenge: tokenChallenge('Not accepted here'),
}
const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const other = { key: moreKeys.otherP256.privateKey }

/** Two issuers with one `kid`, and tokens of our own. */
async function setting(t: Test) {
  const [corp, partner] = [await startIssuer(t), await startIssuer(t)]
  partner.published = [jwkOf(moreKeys.otherP256, { kid: 'one', alg: 'ES256' })]
  const named = (prefix: string) => ({
    user: ({ sub }: { sub?: unknown }) => ({ name: `${prefix}:${String(sub)}` }),
  })
  const issuers = { corp: corp.options(named('corp')), partner: partner.options(named('partner')) }
  const options: AuthnOptions = {
    userService: userService(),
    jwt: { secret },
    cookies: true,
    issuers,
  }
  const app = await appWith(t, options, (app) => {
    for (const path of ['corp', 'corp-partner', 'jwt-corp', 'corp-partner-basic']) {
      const use = path.split('-')
      app.get(`/${path}`, { config: { auth: { use } } }, probe().handler)
    }
    for (const mode of ['try', 'optional'] as const) {
      app.get(`/${mode}`, { config: { auth: { mode, use: ['corp', 'jwt'] } } }, probe().handler)
    }
  })
  const get = (path: string, token: string) => app.inject({ url: path, headers: bearer(token) })
  return { corp, partner, app, get }
}

t.test('issuers with one kid share no keys (CVE-2025-59936, CVE-2026-50202)', async (t) => {
  const { corp, partner, get } = await setting(t)
  const path = '/corp-partner'
  isWelcome(t, await get(path, corp.token()), 'corp:alice')
  isWelcome(t, await get(path, partner.token(other)), 'partner:alice')
  const joined = [`${corp.url}:one`, `${corp.url}/../one`, `${corp.url}#`, `${corp.url}/`]
  const bad: [string, string, string][] = [
    ['the key of the partner, the name of the company', path, corp.token(other)],
    ['and the other way round', path, partner.token()],
    ...joined.map((iss): [string, string, string] => [iss, path, corp.token({ claims: { iss } })]),
    ['kid and iss', path, partner.token({ ...other, header: { kid: `one:${corp.url}` } })],
  ]
  for (const [what, path, token] of bad) isRejection(t, await get(path, token), invalid, what)
  const elsewhere = partner.token(other)
  isRejection(t, await get('/corp', elsewhere), notHere, 'an issuer that the route does not accept')
  t.strictSame([corp.fetches(), partner.fetches()], [1, 1])
})

t.test('cached tokens of a withdrawn key are rejected (CVE-2026-50202)', async (t) => {
  const { corp, get } = await setting(t)
  const { advance } = clockOf(t)
  const token = corp.token({ claims: { exp: Math.floor(Date.now() / 1000) + 9_999 } })
  isWelcome(t, await get('/corp', token), 'corp:alice')
  corp.published = [jwkOf(keys.p384, { kid: 'two' })]
  advance(601)
  isRejection(t, await get('/corp', token), invalid, 'the first request after idle time')
  corp.published = [goodKey]
  advance(31)
  isWelcome(t, await get('/corp', token), 'corp:alice', 'and is asked for again')
})

t.test('tokens of the app are accepted beside issuers only where jwt is listed', async (t) => {
  const { corp, partner, app, get } = await setting(t)
  const own = app.jwtService.generateToken('alice')
  const foreign = corp.token({ claims: { iss: 'https://stranger.example' } })
  isWelcome(t, await get('/jwt-corp', own), 'alice')
  isWelcome(t, await get('/jwt-corp', corp.token()), 'corp:alice')
  const lying = app.jwtService.generateTokenWithClaims({ sub: 'alice', iss: corp.url })
  for (const token of [foreign, lying]) isRejection(t, await get('/jwt-corp', token), invalid)
  isRejection(t, await get('/jwt-corp', partner.token(other)), notHere)
  const malformed = [`${encode('{}')}.${encode('{"iss":1}')}.x`, own.replace('.', '.x')]
  for (const url of ['/corp-partner', '/corp']) isRejection(t, await get(url, own), notHere, url)
  for (const token of [foreign, 'x', 'x.y.z', '???', '..', ...malformed]) {
    for (const url of ['/corp-partner', '/corp', '/jwt-corp']) {
      isRejection(t, await get(url, token), invalid, `${url} ${token.slice(0, 20)}`)
    }
  }
})

t.test('issuers answer missing credentials, cookies and modes as jwt does', async (t) => {
  const { corp, app, get } = await setting(t)
  const none = { error: messages.none, challenge: 'Bearer realm="Authorization required"' }
  for (const url of ['/corp', '/corp-partner', '/jwt-corp']) {
    const byPassword = basic('alice', passwords.alice)
    for (const headers of [{}, { authorization: 'Bearer ' }, byPassword]) {
      isRejection(t, await app.inject({ url, headers }), none, url)
    }
    const headers = { authorization: 'Bearer\tx' }
    t.equal((await app.inject({ url, headers })).statusCode, 401, url)
  }
  isWelcome(t, await get('/corp-partner-basic', corp.token()), 'corp:alice')
  const byPassword = { url: '/corp-partner-basic', headers: basic('alice', passwords.alice) }
  isWelcome(t, await app.inject(byPassword), 'alice')
  isWelcome(t, await app.inject('/optional'), null)
  isWelcome(t, await get('/optional', corp.token()), 'corp:alice')
  isRejection(t, await get('/optional', corp.token(other)), invalid)
  isWelcome(t, await get('/try', corp.token(other)), null)
  const byCookie = async (url: string, token: string): Promise<number> => {
    const cookies = { '__Host-token': token }
    return (await app.inject({ url, headers: { host: 'app.example' }, cookies })).statusCode
  }
  const own = app.jwtService.generateToken('alice')
  t.equal(await byCookie('/jwt-corp', own), 200)
  t.equal(await byCookie('/jwt-corp', corp.token()), 401, 'cookies hold tokens of our own')
  t.equal(await byCookie('/corp-partner-basic', own), 401)
})
