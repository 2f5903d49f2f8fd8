import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { flawOf, testingError } from './error.js'
import { epochSeconds, forge, keyOf, keySetOf, kid } from './forge.js'
import { hasTestKit, testingOf } from './plugin.js'
import type { Fetch } from '../http/fetch.js'
import type { LoginWithTesting } from '../login-with/feature.js'

/** Names of ID tokens that must be rejected. Each has exactly one flaw. */
export type BrokenIdToken = 'expired' | 'otherAudience' | 'otherIssuer' | 'otherKey' | 'otherNonce'

/** The options of `logInWith`. */
export interface LogInWithOptions {
  /** The query parameter `returnTo` of the start. Default: none. */
  readonly returnTo?: string | undefined
  /** The parameter `error` of the callback, such as `access_denied`, in place of a code. Default: none. */
  readonly error?: string | undefined
  /** The one flaw of the ID token, which a provider with `oauth2` does not have. Default: none. */
  readonly broken?: BrokenIdToken | undefined
}

/** The result of `logInWith`. */
export interface ProviderLogin {
  /** The response of the callback, or of the start if that was rejected. */
  readonly response: LightMyRequestResponse
  /** The cookies of the login, for `app.inject`. */
  readonly headers: Record<'cookie', string>
}

type Flaw = (claims: Record<string, unknown>) => Record<string, unknown>

const flaws: Readonly<Record<BrokenIdToken, Flaw>> = {
  expired: (claims) => ({ ...claims, iat: epochSeconds() - 7200, exp: epochSeconds() - 3600 }),
  otherAudience: (claims) => ({ ...claims, aud: 'another-client' }),
  otherIssuer: (claims) => ({ ...claims, iss: 'https://other.example' }),
  otherKey: (claims) => claims,
  otherNonce: (claims) => ({ ...claims, nonce: 'another-nonce' }),
}

/**
 * Logs in with a provider of the option `loginWith`, by the app's own routes. The provider is one in memory from then on,
 * which the app gets for every request to it. For one with `oauth2`, the claims take the place of what `profile` returns.
 * @param app - the app, after `ready()`, with `authnTesting`; or the inner scope in which the plugin is registered
 * @param provider - its name in the option
 * @param claims - of the ID token and of UserInfo, at least `sub`
 * @returns the response of the callback, and `headers` with its cookies for `app.inject`
 * @throws (rejects) ERR_AUTH_TESTING
 * @example
 * const { headers } = await logInWith(app, 'corp', { sub: '7', email: 'alice@example.com' })
 * await app.inject({ url: '/notes', headers })
 */
export async function logInWith(
  app: FastifyInstance,
  provider: string,
  claims: Readonly<Record<string, unknown>>,
  { returnTo, error, broken }: LogInWithOptions = {},
): Promise<ProviderLogin> {
  const { path, callback } = playProvider(app, provider, claims, 'logInWith', broken)
  const query = returnTo === undefined ? '' : `?${new URLSearchParams({ returnTo }).toString()}`
  const begun = await app.inject(`${path}${query}`)
  if (begun.statusCode !== 303) return { response: begun, headers: { cookie: '' } }
  const url = await callback(String(begun.headers.location), error)
  const response = await app.inject({ url, headers: { cookie: cookiesOf(begun) } })
  return { response, headers: { cookie: cookiesOf(response) } }
}

/**
 * Links an account at a provider to a user who is logged in, as {@link logInWith} logs in.
 * @param options - `headers`: those of a login, sent with both requests; `returnTo`: that of the body. Default: none
 * @returns the response of the callback, or of the POST if that was rejected
 * @throws (rejects) ERR_AUTH_TESTING
 * @example
 * const { headers } = await logInWith(app, 'corp', { sub: '7' })
 * const { response } = await linkWith(app, 'google', { sub: '1234' }, { headers })
 */
export async function linkWith(
  app: FastifyInstance,
  provider: string,
  claims: Readonly<Record<string, unknown>>,
  { headers, returnTo }: { headers: Record<string, string>; returnTo?: string | undefined },
): Promise<Pick<ProviderLogin, 'response'>> {
  const { path, callback } = playProvider(app, provider, claims, 'linkWith')
  const payload = { returnTo }
  const begun = await app.inject({ method: 'POST', url: `${path}/link`, headers, payload })
  if (begun.statusCode !== 200) return { response: begun }
  const url = await callback(begun.json<{ location: string }>().location)
  const cookie = `${headers.cookie ?? ''}; ${cookiesOf(begun)}`
  return { response: await app.inject({ url, headers: { ...headers, cookie } }) }
}

/** Replaces a provider by one in memory. @returns where logins begin, and a function that makes the callback's address */
function playProvider(
  app: FastifyInstance,
  name: string,
  claims: object,
  caller: string,
  broken?: BrokenIdToken,
) {
  if (!hasTestKit(app)) testingError(`${caller}: register authnTesting in the app first.`)
  const flaw = broken === undefined ? null : flawOf(flaws, broken, caller)
  let asked = new URLSearchParams()
  const found = testingOf<LoginWithTesting>(app, 'loginWith')?.get(name)
  if (found === undefined) {
    return testingError(
      `${caller}: found no provider ${JSON.stringify(name)}. Await app.ready() first; the name is the one in the option "loginWith" (of a registration in an inner scope: pass that scope instead of the app).`,
    )
  }
  const { path } = found
  const { issuer: template, oauth2, responseMode } = found.provider.options
  if (oauth2 !== undefined && broken !== undefined)
    testingError(`${caller}: found "broken" for a provider with "oauth2", which has no ID token.`)
  const { tid = '00000000-0000-4000-8000-000000000000' } = claims as { tid?: string }
  const issuer = template.replace('{tenantid}', () => tid)
  const ofTenant = template === issuer ? {} : { tid }
  const send: Fetch = async (url) => {
    if (url.pathname.includes('/.well-known/'))
      return Response.json({ ...metadataOf(issuer), issuer: template })
    if (url.href === `${issuer}/keys`) return Response.json(keySetOf('ES256'))
    if (url.href === `${issuer}/userinfo`) return Response.json(claims)
    const content = claimsOf(issuer, { ...ofTenant, ...claims }, asked)
    const header = { alg: 'ES256', kid }
    const { privateKey } = keyOf(broken === 'otherKey' ? 'attacker' : 'issuer', 'ES256')
    const id_token = forge(header, flaw?.(content) ?? content, 'ES256', privateKey)
    return Response.json({ access_token: 'an-access-token', token_type: 'Bearer', id_token })
  }
  found.provider.replace(send, () => claims)
  const callback = async (location: string, error?: string): Promise<string> => {
    asked = new URL(location).searchParams
    const sent = error === undefined ? { code: 'a-code' } : { error }
    const query = new URLSearchParams({ state: String(asked.get('state')), ...sent }).toString()
    if (responseMode === undefined) return `${path}/callback?${query}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const url = `${path}/callback`
    const { headers: led } = await app.inject({ method: 'POST', url, headers, payload: query })
    // The path of the redirect URI may be one that a proxy changes.
    return url + new URL(String(led.location), location).search
  }
  return { path, callback }
}

function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    userinfo_endpoint: `${issuer}/userinfo`,
    end_session_endpoint: `${issuer}/logout`,
    id_token_signing_alg_values_supported: ['ES256'],
  }
}

function claimsOf(issuer: string, claims: object, asked: URLSearchParams): Record<string, unknown> {
  const now = epochSeconds()
  const [aud, nonce] = [asked.get('client_id'), asked.get('nonce')]
  return { iss: issuer, aud, nonce, iat: now, exp: now + 300, auth_time: now, ...claims }
}

/** The cookies that a response has set, for a request. */
function cookiesOf({ cookies }: LightMyRequestResponse): string {
  const kept = cookies.filter(({ maxAge }) => maxAge !== 0)
  return kept.map(({ name, value }) => `${name}=${value}`).join('; ')
}

/** Cookies, or an access token in a body of any form. */
export function sessionOf(response: LightMyRequestResponse): Record<string, string> {
  const cookie = cookiesOf(response)
  return cookie ? { cookie } : { authorization: `Bearer ${/eyJ[\w.-]+/.exec(response.body)?.[0]}` }
}
