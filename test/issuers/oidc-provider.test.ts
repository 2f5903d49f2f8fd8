// program: oidc-provider
// Tokens of a real OpenID provider (npm `oidc-provider`), by client credentials, with a rotation.
import type { Configuration } from 'oidc-provider'
import t, { type Test } from 'tap'
import { clockOf } from '../helpers/clock.js'
import { appWith, basic, bearer } from '../helpers/app.js'
import { isRejection, isWelcome, probe, messages, tokenChallenge } from '../helpers/flows.js'
import { audience } from '../helpers/issuer.js'
import { tally } from '../helpers/load.js'
import { moreKeys } from '../helpers/keys.js'
import { oidcServer } from '../helpers/oidc-server.js'
import { keys } from '../helpers/tokens.js'
import type { IssuerOptions } from '../../lib/index.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const client = { id: 'service-1', secret: 'a secret of the test, which is long' }
const common = { use: 'sig', alg: 'ES256' }
const first = { ...keys.p256.privateKey.export({ format: 'jwk' }), kid: 'first', ...common }
const second = {
  ...moreKeys.otherP256.privateKey.export({ format: 'jwk' }),
  kid: 'second',
  ...common,
}

/** @param jwks - the first one signs */
function configuration(jwks: object[]): Configuration {
  return {
    jwks: { keys: jwks },
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    scopes: ['notes:read'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        getResourceServerInfo: (_context, resource) => ({
          scope: 'notes:read',
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 7_200,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  }
}

/** A provider on a port of its own, whose keys a test replaces. */
async function realIssuer(t: Test) {
  const { url, serve } = await oidcServer(t)
  const rotate = (jwks: object[]) => serve(configuration(jwks))
  rotate([first])
  return {
    url,
    rotate,
    async token(resource = audience) {
      const headers = basic(client.id, encodeURIComponent(client.secret))
      const words = { grant_type: 'client_credentials', scope: 'notes:read', resource }
      const body = new URLSearchParams(words)
      const response = await fetch(`${url}/token`, { method: 'POST', headers, body })
      const { access_token: token } = (await response.json()) as { access_token?: string }
      if (token === undefined) throw new Error(`no token: ${response.status}`)
      return token
    },
  }
}

t.test('tokens of oidc-provider are accepted, those of new keys after 30 seconds', async (t) => {
  const issuer = await realIssuer(t)
  const { handler } = probe()
  const corp: IssuerOptions = {
    issuer: issuer.url,
    audience,
    profile: 'rfc9068',
    user: ({ sub }) => ({ name: sub }),
  }
  const app = await appWith(t, { issuers: { corp } }, (app) => {
    app.get('/', { config: { auth: { use: 'corp', scope: 'notes:read' } } }, handler)
    app.get('/write', { config: { auth: { use: 'corp', scope: 'notes:write' } } }, handler)
  })
  const get = (token: string, url = '/') => app.inject({ url, headers: bearer(token) })
  const token = await issuer.token()
  isWelcome(t, await get(token), client.id)
  isWelcome(t, await get(token), client.id, 'cached')
  t.equal((await get(token, '/write')).statusCode, 403)
  const foreign = await issuer.token('https://other.example')
  isRejection(t, await get(foreign), invalid, 'for another audience')
  t.match(app.authn.stats().issuers.corp, { keys: 1, fetches: 1, failures: 0 })

  const { advance } = clockOf(t)
  issuer.rotate([second, first])
  const newer = await issuer.token()
  isRejection(t, await get(newer), invalid, 'within 30 seconds of the last attempt')
  advance(31)
  const both = Array.from({ length: 60 }, (_, at) => get(at % 2 === 0 ? token : newer))
  t.strictSame(tally(await Promise.all(both)), { 200: 60 })
  t.match(app.authn.stats().issuers.corp, { keys: 2, fetches: 2 })
})
