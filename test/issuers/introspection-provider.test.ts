// Opaque tokens of a real OpenID provider (npm `oidc-provider`): revoked, of another kind, with another secret.
import type { Configuration } from 'oidc-provider'
import t, { type Test } from 'tap'
import { clockOf } from '../helpers/clock.js'
import { appWith, basic, bearer } from '../helpers/app.js'
import { isRejection, isWelcome, messages, probe, tokenChallenge } from '../helpers/flows.js'
import { audience } from '../helpers/issuer.js'
import { busy } from '../helpers/load.js'
import { oidcServer } from '../helpers/oidc-server.js'
import { keys } from '../helpers/tokens.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const web = { client_id: 'web', client_secret: 'a secret of the test, which is long' }
const api = { client_id: 'notes api', client_secret: 'another secret: of + the % test' }

const configuration = (secret: string): Configuration => ({
  jwks: { keys: [{ ...keys.p256.privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] },
  clients: [
    { ...web, redirect_uris: ['https://web.example/'], id_token_signed_response_alg: 'ES256' },
    {
      ...api,
      client_secret: secret,
      redirect_uris: [],
      response_types: [],
      grant_types: [],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  scopes: ['notes:read'],
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  features: {
    devInteractions: { enabled: false },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
  },
})

/** A provider in this process, whose answers a test can hold back, and whose tokens it makes. */
async function realProvider(t: Test) {
  const { url, serve, hang } = await oidcServer(t)
  let provider = serve(configuration(api.client_secret))
  const restart = (secret = api.client_secret): void => {
    provider = serve(configuration(secret))
  }
  const token = async (
    kind: 'AccessToken' | 'RefreshToken',
    resource?: string,
  ): Promise<string> => {
    const client = await provider.Client.find(web.client_id)
    const grant = new provider.Grant({ accountId: 'alice', clientId: web.client_id })
    const grantId = await grant.save()
    const made = new provider[kind]({
      accountId: 'alice',
      client,
      grantId,
      scope: 'openid notes:read',
      gty: 'authorization_code',
    } as never)
    if (resource !== undefined) Object.assign(made, { aud: resource })
    return made.save()
  }
  const revoke = async (revoked: string): Promise<void> => {
    const headers = basic(web.client_id, encodeURIComponent(web.client_secret))
    const body = new URLSearchParams({ token: revoked })
    const response = await fetch(`${url}/token/revocation`, { method: 'POST', headers, body })
    t.equal(response.status, 200)
  }
  return { url, restart, token, revoke, hang }
}

t.test('a token of oidc-provider works until it was revoked for `cache` seconds', async (t) => {
  const provider = await realProvider(t)
  const { handler } = probe()
  const introspection = { clientId: api.client_id, clientSecret: api.client_secret, cache: 20 }
  const user = ({ sub }: { readonly sub?: unknown }) => ({ name: sub })
  const corp = { issuer: provider.url, audience, introspection, user }
  const anyAudience = { ...introspection, optionalClaims: ['aud'] as const }
  const loose = await appWith(
    t,
    { issuers: { corp: { ...corp, introspection: anyAudience } } },
    (app) => app.get('/', { config: { auth: { use: 'corp' } } }, handler),
  )
  const app = await appWith(t, { issuers: { corp } }, (app) => {
    app.get('/', { config: { auth: { use: 'corp', scope: 'notes:read' } } }, handler)
    app.get('/write', { config: { auth: { use: 'corp', scope: 'notes:write' } } }, handler)
  })
  const get = (token: string, url = '/') => app.inject({ url, headers: bearer(token) })
  const { advance } = clockOf(t)
  const token = await provider.token('AccessToken', audience)
  isWelcome(t, await get(token), 'alice')
  t.equal((await get(token, '/write')).statusCode, 403)
  isRejection(t, await get(await provider.token('AccessToken', 'https://x.example')), invalid)
  isRejection(t, await get(await provider.token('AccessToken')), invalid, 'without an audience')
  isRejection(t, await get(await provider.token('RefreshToken')), invalid, 'a refresh token')

  const getLoose = (other: string) => loose.inject({ url: '/', headers: bearer(other) })
  isWelcome(t, await getLoose(await provider.token('AccessToken')), 'alice')
  isRejection(t, await getLoose(await provider.token('RefreshToken')), invalid)

  await provider.revoke(token)
  advance(19)
  isWelcome(t, await get(token), 'alice', 'cached')
  advance(1)
  isRejection(t, await get(token), invalid, 'revoked')

  const newer = await provider.token('AccessToken', audience)
  isWelcome(t, await get(newer), 'alice')
  provider.restart('a secret that was rotated, and is long')
  isWelcome(t, await get(newer), 'alice', 'a cached token goes on')
  const unavailable = { status: 503, error: busy, challenge: null }
  isRejection(t, await get('other'), unavailable)
  provider.restart()
  isRejection(t, await get(newer.replace(/.$/, '')), invalid)
  provider.hang()
  isRejection(t, await get('another'), unavailable)
})
