import type { Configuration, CustomFetch, IDToken, ServerMetadata } from 'openid-client'
import { isPlain, withoutUndefined } from '../common/objects.js'
import { isAuthenticationError } from '../errors/errors.js'
import { controlCharacter } from '../http/authorization.js'
import { jsonBodyOf } from '../http/fetch.js'
import { since } from '../http/renewed.js'
import { issuerOf } from '../http/tenant.js'
import { freeze } from '../tokens/engine.js'
import { ask, askForTokens, checkTokens, failed, invalid, type Answer } from './request.js'
import type { Attempt } from './attempt.js'
import type { Provider } from './provider.js'
import type { IdTokenClaims, ProviderTokens, Profile } from '../../types/login-with.js'

/** Milliseconds for which a key set is used without being fetched again. */
const freshKeys = 10 * 60_000

/** What a provider has said of its user. `authTime` is in seconds since 1970. */
export interface Exchanged {
  readonly claims: Profile
  readonly tokens: ProviderTokens
  readonly authTime: number | undefined
}

/** Exchanges a code (OpenID Connect Core §3.1.3). @param parameters - those of the callback, already checked */
export async function exchange(
  provider: Provider,
  metadata: ServerMetadata,
  parameters: URLSearchParams,
  { state, nonce, codeVerifier, maxAge, isAnew, begun }: Attempt,
  redirectUri: string,
): Promise<Exchanged> {
  const { client, options } = provider
  const code = String(parameters.get('code'))
  // The issuer is known only by the token. `openid-client` then gets this response, and verifies it.
  const answer = options.tenants
    ? await askForTokens(provider, metadata, code, redirectUri, codeVerifier)
    : null
  const ofTenant = answer && { ...metadata, issuer: issuerOfTenant(options.issuer, answer) }
  const config = configure(provider, ofTenant ?? metadata, redirectUri, answer)
  const url = new URL(redirectUri)
  url.search = parameters.toString()
  try {
    const response = await client.authorizationCodeGrant(config, url, {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      expectedNonce: nonce,
      // It compares with now, so that with 0 a consent page of a minute would fail.
      ...(maxAge < Infinity && { maxAge }),
    })
    const { access_token: accessToken, id_token: idToken, refresh_token: refreshToken } = response
    const ofToken = response.claims() as IDToken
    checkClaims(ofToken, provider, isAnew ? begun : -Infinity)
    if (ofTenant !== null) checkKey(provider, String(idToken), ofTenant.issuer)
    const more = options.userinfo && (await client.fetchUserInfo(config, accessToken, ofToken.sub))
    // How the user has authenticated is only said by the ID token, which is bound to this login.
    const none = { acr: undefined, amr: undefined, auth_time: undefined }
    const claims = withoutUndefined({ ...more, ...none, ...ofToken }) as unknown as IdTokenClaims
    freeze(claims)
    const { scope, expires_in: expiresIn } = response
    const tokens = withoutUndefined({ accessToken, idToken, refreshToken, scope, expiresIn })
    return { claims, tokens, authTime: ofToken.auth_time }
  } catch (error) {
    throw rejectionOf(error)
  }
}

/**
 * Milliseconds for which a configuration is used: openid-client fetches a key set again that is five minutes old, and ours
 * seems to be a minute old from the start, so that a key that it lacks is asked for at once.
 */
const configurationLife = 3 * 60_000

/** The configuration for a callback. Reused, since it holds the imported keys, until another key set has been fetched. */
function configure(
  provider: Provider,
  metadata: ServerMetadata,
  redirectUri: string,
  answer: Answer | null,
): Configuration {
  const { client, keys, configured } = provider
  const areFresh = keys !== null && since(keys.fetchedAt) < freshKeys
  const of = [keys, metadata, redirectUri]
  const isSame = configured !== null && of.every((each, at) => each === configured.of[at])
  if (areFresh && isSame && since(configured.at) < configurationLife) return configured.config
  const { clientId, clockTolerance } = provider.options
  const config = new client.Configuration(
    metadata,
    clientId,
    { [client.clockTolerance]: clockTolerance },
    // The request says who the client is: see `ask()`.
    client.None(),
  )
  const asked = [metadata.token_endpoint, metadata.jwks_uri, metadata.userinfo_endpoint]
  // The addresses were checked: one with http leads to this machine.
  if (asked.some((each) => String(each).startsWith('http:'))) client.allowInsecureRequests(config)
  client.enableNonRepudiationChecks(config)
  config[client.customFetch] = fetchBy(provider, metadata, redirectUri, answer)
  if (areFresh) {
    client.setJwksCache(config, { jwks: keys.jwks, uat: Math.floor(Date.now() / 1000) - 60 })
    provider.configured = { config, of, at: Date.now() }
  }
  return config
}

/** @param answer - the response of the token endpoint, if it is there already */
function fetchBy(
  provider: Provider,
  metadata: ServerMetadata,
  redirectUri: string,
  answer: Answer | null,
): CustomFetch {
  return async (address, { body: given, headers, method }) => {
    const isKeySet = address === metadata.jwks_uri
    // openid-client has dropped its key set by now, also where this request fails.
    if (isKeySet) provider.configured = null
    const body = given instanceof URLSearchParams ? given : undefined
    const place = isKeySet ? 'key set' : body ? 'token endpoint' : 'UserInfo endpoint'
    // The provider compares it with the registered string, which openid-client may normalize.
    body?.set('redirect_uri', redirectUri)
    const init = { method, headers, ...(body && { body }) }
    const [response, bytes] =
      (body && answer) || (await ask(provider, place, address, init, metadata))
    const { status } = response
    const json = jsonBodyOf(response, bytes)
    const found = isPlain(json) ? json : null
    const fixed = body && withScope(checkTokens(provider, status, found))
    if (status !== 200 || found === null) throw failed(provider, `the ${place} answered ${status}`)
    const { keys } = found
    if (isKeySet) {
      if (!Array.isArray(keys) || !keys.every(isPlain))
        throw failed(provider, `the ${place} has no keys`)
      provider.keys = { jwks: { keys }, fetchedAt: Date.now() }
    }
    const isSame = fixed === undefined || fixed === json
    return new Response(isSame ? new Uint8Array(bytes) : JSON.stringify(fixed), response)
  }
}

/** Twitch sends the scopes as an array (RFC 6749 §5.1 wants a string). */
export function withScope(json: Record<string, unknown>): Record<string, unknown> {
  const { scope } = json
  const isList = Array.isArray(scope) && scope.every((each) => typeof each === 'string')
  return isList ? { ...json, scope: scope.join(' ') } : json
}

/** The part of an ID token that is not verified yet; an empty object for what is none. */
function partOf(idToken: unknown, index: 0 | 1): Record<string, unknown> {
  try {
    const part = String(idToken).split('.')[index]
    const json: unknown = JSON.parse(Buffer.from(String(part), 'base64url').toString())
    return isPlain(json) ? json : {}
  } catch {
    return {}
  }
}

/** The issuer that an ID token has to have, by its claim `tid`. @throws ERR_AUTH_LOGIN_INVALID */
function issuerOfTenant(template: string, [response, bytes]: Answer): string {
  const json = jsonBodyOf(response, bytes)
  // What is no success is reported later.
  if (response.status !== 200 || !isPlain(json)) return template
  const issuer = issuerOf(template, partOf(json.id_token, 1).tid)
  if (issuer === null) throw invalid('claim tid of the ID token')
  return issuer
}

/** The keys of all tenants are in one set. One with a member `issuer` signs for no other. @throws ERR_AUTH_LOGIN_INVALID */
function checkKey({ keys, options }: Provider, idToken: string, issuer: string): void {
  const { kid } = partOf(idToken, 0)
  const used = keys?.jwks.keys.filter((key) => kid === undefined || key.kid === kid) ?? []
  const isFor = ({ issuer: of }: Readonly<Record<string, unknown>>): boolean =>
    of === undefined || of === options.issuer || of === issuer
  if (used.length === 0 || !used.every((key) => isFor(key as Record<string, unknown>)))
    throw invalid('issuer of the key of the ID token')
}

/** Makes the checks that openid-client leaves to the app. @param since - seconds @throws ERR_AUTH_LOGIN_INVALID */
function checkClaims(token: IDToken, { options }: Provider, since: number): void {
  const { sub, azp, iat, auth_time: time = 0 } = token
  // OpenID Connect Core §2
  if (!isSubject(sub)) throw invalid('claim sub of the ID token')
  if (azp !== undefined && azp !== options.clientId) throw invalid('claim azp of the ID token')
  if (iat > Date.now() / 1000 + options.clockTolerance) throw invalid('claim iat of the ID token')
  // OpenID Connect Core §3.1.2.1
  if (time < since - options.clockTolerance) throw invalid('claim auth_time of the ID token')
}

/** Databases fail at NUL, and at half of a surrogate pair. */
export const isSubject = (sub: string): boolean =>
  sub !== '' && sub.length <= 255 && !controlCharacter.test(sub) && sub.isWellFormed()

/** Messages of openid-client, and what the log says instead: they may quote tokens, so only these names are taken from them. */
const problems: readonly (readonly [pattern: RegExp, problem: string])[] = [
  [/body "(sub)"/, '$1 of UserInfo'],
  [/"(iss|sub|aud|azp|exp|iat|nbf|nonce|auth_time)"/, 'claim $1 of the ID token'],
  [/"(alg|crit)"/, 'header $1 of the ID token'],
  [/["`]((?:access|refresh|id)_token|token_type|expires_in|scope)["`]/, '$1 of the token response'],
  [/JWS/, 'header alg of the ID token'],
  [/signature verification/, 'signature of the ID token'],
  [/verification key/, 'no key of the provider fits alg and kid of the ID token'],
  [/Invalid JWT|JWT (?:Header|Payload)|JWE/, 'id_token of the token response is no signed JWT'],
]

/** Our own error, or one in our words. */
function rejectionOf(error: unknown): unknown {
  if (isAuthenticationError(error)) return error
  const { cause, claim, message } = Object(error) as Record<string, unknown>
  const said = typeof claim === 'string' ? `"${claim}"` : String(message)
  for (const [pattern, problem] of problems) {
    const found = pattern.exec(said.slice(0, 200))
    if (found !== null) return invalid(problem.replace('$1', String(found[1])))
  }
  return cause === undefined
    ? invalid('the token response, the ID token or UserInfo is not acceptable')
    : rejectionOf(cause)
}
