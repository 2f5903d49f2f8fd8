import type { Configuration, CustomFetch, IDToken, ServerMetadata } from 'openid-client'
import { isPlain, withoutUndefined } from '../common/objects.js'
import { isAuthenticationError, rejection } from '../errors/errors.js'
import { controlCharacter } from '../http/authorization.js'
import { jsonBodyOf, readBody, reasonOf, request as sendRequest } from '../http/fetch.js'
import { since } from '../http/renewed.js'
import { freeze } from '../tokens/engine.js'
import type { Attempt } from './attempt.js'
import type { Provider } from './provider.js'
import type { IdTokenClaims, ProviderTokens } from '../../types/login-with.js'

/** Milliseconds for which a key set is used without being fetched again. */
const freshKeys = 10 * 60_000

/** What a provider has said of its user. */
export type Exchanged = Awaited<ReturnType<typeof exchange>>

/** Exchanges a code (OpenID Connect Core §3.1.3). @param parameters - those of the callback, already checked */
export async function exchange(
  provider: Provider,
  metadata: ServerMetadata,
  parameters: URLSearchParams,
  { state, nonce, codeVerifier, maxAge, isAnew, begun }: Attempt,
  redirectUri: string,
): Promise<{ claims: IdTokenClaims; tokens: ProviderTokens; authTime: number | undefined }> {
  const { client, options } = provider
  const config = configure(provider, metadata, redirectUri)
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
    const more = options.userinfo && (await client.fetchUserInfo(config, accessToken, ofToken.sub))
    // How the user has authenticated is only said by the ID token, which is bound to this login.
    const none = { acr: undefined, amr: undefined, auth_time: undefined }
    const claims = withoutUndefined({ ...more, ...none, ...ofToken }) as IdTokenClaims
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
): Configuration {
  const { client, keys, configured } = provider
  const areFresh = keys !== null && since(keys.fetchedAt) < freshKeys
  const of = [keys, metadata, redirectUri]
  const isSame = configured !== null && of.every((each, at) => each === configured.of[at])
  if (areFresh && isSame && since(configured.at) < configurationLife) return configured.config
  const { clientId, clientSecret, clientAuth, clockTolerance } = provider.options
  const { token_endpoint_auth_methods_supported: methods } = metadata
  const isBasic = !Array.isArray(methods) || methods.includes('client_secret_basic')
  const method = clientAuth ?? (isBasic ? 'basic' : 'post')
  const authenticate = method === 'basic' ? client.ClientSecretBasic : client.ClientSecretPost
  const config = new client.Configuration(
    metadata,
    clientId,
    { [client.clockTolerance]: clockTolerance },
    clientSecret === undefined ? client.None() : authenticate(clientSecret),
  )
  const asked = [metadata.token_endpoint, metadata.jwks_uri, metadata.userinfo_endpoint]
  // The addresses were checked: one with http leads to this machine.
  if (asked.some((each) => String(each).startsWith('http:'))) client.allowInsecureRequests(config)
  client.enableNonRepudiationChecks(config)
  config[client.customFetch] = fetchBy(provider, metadata, redirectUri)
  if (areFresh) {
    client.setJwksCache(config, { jwks: keys.jwks, uat: Math.floor(Date.now() / 1000) - 60 })
    provider.configured = { config, of, at: Date.now() }
  }
  return config
}

/** Errors of responses that are no success: any client can make up codes. A missing response is not the client's fault. */
const failures = new WeakSet<object>()
export const isFailure = (error: unknown): boolean =>
  failures.has(Object(error)) || (error as { code?: unknown }).code === 'ERR_AUTH_LOGIN_INVALID'

function fetchBy(provider: Provider, metadata: ServerMetadata, redirectUri: string): CustomFetch {
  return async (address, { body, headers, method }) => {
    const isKeySet = address === metadata.jwks_uri
    // openid-client has dropped its key set by now, also where this request fails.
    if (isKeySet) provider.configured = null
    const place = isKeySet ? 'key set' : body ? 'token endpoint' : 'UserInfo endpoint'
    const fail = (problem: string): Error => provider.unavailable(`the ${place} ${problem}`)
    // The provider compares it with the registered string, which openid-client may normalize.
    if (body instanceof URLSearchParams) body.set('redirect_uri', redirectUri)
    let hasAnswered = false
    const work = async (signal: AbortSignal) => {
      // A redirect is an answer too, which counts.
      const redirect = 'manual' as const
      const init = { method, headers, body: body as URLSearchParams, signal, redirect }
      // A code is used once.
      const response = await sendRequest(new URL(address), init, provider.send, !body)
      hasAnswered = true
      return [response, await readBody(response)] as const
    }
    const late = (error: unknown): never => {
      const failure = fail(`failed: ${reasonOf(error)}`)
      if (hasAnswered) failures.add(failure)
      throw failure
    }
    const [response, bytes] = await provider.limit(work).catch(late)
    const { status } = response
    const json = jsonBodyOf(response, bytes)
    if (status !== 200 || !isPlain(json)) {
      if (isPlain(json) && json.error === 'invalid_grant') throw invalid('invalid_grant')
      const isOurs = status === 400 || status === 401
      const hint = isOurs ? ': check clientId and clientSecret' : ''
      const failure = fail(`answered ${status}${hint}`)
      failures.add(failure)
      throw failure
    }
    const { keys } = json
    if (isKeySet) {
      if (!Array.isArray(keys) || !keys.every(isPlain)) throw fail('has no keys')
      provider.keys = { jwks: { keys }, fetchedAt: Date.now() }
    }
    return new Response(new Uint8Array(bytes), response)
  }
}

/** Makes the checks that openid-client leaves to the app. @param since - seconds @throws ERR_AUTH_LOGIN_INVALID */
function checkClaims(token: IDToken, { options }: Provider, since: number): void {
  const { sub, azp, iat, auth_time: time = 0 } = token
  // OpenID Connect Core §2
  if (sub === '' || sub.length > 255 || controlCharacter.test(sub))
    throw invalid('claim sub of the ID token')
  if (azp !== undefined && azp !== options.clientId) throw invalid('claim azp of the ID token')
  if (iat > Date.now() / 1000 + options.clockTolerance) throw invalid('claim iat of the ID token')
  // OpenID Connect Core §3.1.2.1
  if (time < since - options.clockTolerance) throw invalid('claim auth_time of the ID token')
}

export const invalid = (cause: string): Error =>
  rejection('auth.login-failed', { code: 'ERR_AUTH_LOGIN_INVALID', cause })

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
