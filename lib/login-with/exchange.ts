import type { Configuration, ExportedJWKSCache } from 'openid-client'
import { refusal } from '../errors/errors.js'
import { secureAddress } from '../http/address.js'
import { controlCharacter } from '../http/authorization.js'
import { FetchError, readBody, reasonOf, request as send } from '../http/fetch.js'
import { isPlain, withoutUndefined } from '../common/objects.js'
import type { Attempt } from './attempt.js'
import type { Metadata, Provider } from './provider.js'
import type { IdTokenClaims, ProviderTokens } from '../../types/login-with.js'

export type OpenIdClient = typeof import('openid-client')

/** The last request to the provider, and what came back. */
interface Trace {
  to: 'token endpoint' | 'key set' | 'UserInfo endpoint' | null
  failure: unknown
  status: number
  json: Readonly<Record<string, unknown>> | null
}

/** Milliseconds for which a key set is used without being fetched again. */
const freshKeys = 10 * 60_000

/** The claims that a reason may name. */
const checkedClaims = ['iss', 'aud', 'azp', 'exp', 'iat', 'nbf', 'nonce', 'auth_time', 'sub']

/** Exchanges the codes of one provider for claims and tokens (OpenID Connect Core §3.1.3). */
export class Exchange {
  #keys: { readonly jwks: ExportedJWKSCache['jwks']; readonly fetchedAt: number } | null = null

  constructor(
    private readonly client: OpenIdClient,
    private readonly provider: Provider,
  ) {}

  /**
   * @param parameters - of the callback, which were checked
   * @throws (rejects) ERR_AUTH_LOGIN_INVALID, ERR_AUTH_PROVIDER_UNAVAILABLE
   */
  async run(
    metadata: Metadata,
    parameters: URLSearchParams,
    { state, nonce, codeVerifier, maxAge }: Attempt,
    redirectUri: string,
  ): Promise<{ claims: IdTokenClaims; tokens: ProviderTokens }> {
    const { client } = this
    const trace: Trace = { to: null, failure: null, status: 0, json: null }
    const config = this.#configure(metadata, redirectUri, trace)
    const url = new URL(redirectUri)
    url.search = parameters.toString()
    try {
      const response = await client.authorizationCodeGrant(config, url, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        ...(maxAge !== null && { maxAge }),
      })
      const claims = response.claims() as IdTokenClaims
      this.#check(claims)
      const { access_token: accessToken, id_token: idToken = '' } = response
      const more =
        metadata.userinfo && (await client.fetchUserInfo(config, accessToken, claims.sub))
      const { refresh_token: refreshToken, scope, expires_in: expiresIn } = response
      return {
        claims: deepFreeze({ ...more, ...claims }),
        tokens: Object.freeze({
          accessToken,
          idToken,
          ...withoutUndefined({ refreshToken, scope, expiresIn }),
        }) as ProviderTokens,
      }
    } catch (error) {
      return this.#reject(error, trace)
    }
  }

  /** A new one for each callback: one that has a key set does not ask for an unknown key within a minute. */
  #configure(metadata: Metadata, redirectUri: string, trace: Trace): Configuration {
    const { client, provider } = this
    const { authorization, token, jwks, userinfo, algorithms } = metadata
    const { issuer, clientId, clientSecret, clientAuth, clockTolerance = 30 } = provider.options
    const isBasic = (clientAuth ?? (metadata.acceptsBasic ? 'basic' : 'post')) === 'basic'
    const authenticate = isBasic ? client.ClientSecretBasic : client.ClientSecretPost
    const config = new client.Configuration(
      {
        issuer,
        authorization_endpoint: authorization.href,
        token_endpoint: token.href,
        jwks_uri: jwks.href,
        ...(userinfo && { userinfo_endpoint: userinfo.href }),
        ...(algorithms && { id_token_signing_alg_values_supported: [...algorithms] }),
      },
      clientId,
      { [client.clockTolerance]: clockTolerance },
      clientSecret === undefined ? client.None() : authenticate(clientSecret),
    )
    // The addresses were checked: http leads to this machine only.
    if (secureAddress(issuer)?.protocol === 'http:') client.allowInsecureRequests(config)
    client.enableNonRepudiationChecks(config)
    config[client.customFetch] = async (address, { body, headers, method }) => {
      trace.to = 'UserInfo endpoint'
      if (address === jwks.href) trace.to = 'key set'
      if (body instanceof URLSearchParams) {
        trace.to = 'token endpoint'
        body.set('redirect_uri', redirectUri)
      }
      trace.status = 0
      try {
        const init = { method, headers, body: body as URLSearchParams, signal: provider.signal() }
        const response = await send(new URL(address), init, provider.send)
        const bytes = await readBody(response)
        trace.json = jsonOf(response, bytes)
        trace.status = response.status
        if (trace.to === 'key set') this.#keep(response.status, trace.json)
        return new Response(new Uint8Array(bytes), response)
      } catch (error) {
        trace.failure = error
        throw error
      }
    }
    if (this.#keys !== null && Math.abs(Date.now() - this.#keys.fetchedAt) < freshKeys) {
      // A key that this set lacks is asked for at once, since the set seems to be a minute old.
      const uat = Math.floor(Date.now() / 1000) - 60
      client.setJwksCache(config, { jwks: this.#keys.jwks, uat })
    }
    return config
  }

  /** @throws FetchError for what is no key set */
  #keep(status: number, json: Trace['json']): void {
    const keys = status === 200 && json !== null ? json.keys : null
    if (!Array.isArray(keys) || !keys.every(isPlain)) throw new FetchError('no key set')
    this.#keys = { jwks: { keys } as ExportedJWKSCache['jwks'], fetchedAt: Date.now() }
  }

  /** What openid-client leaves to the app. @throws ERR_AUTH_LOGIN_INVALID */
  #check({ sub, azp }: IdTokenClaims): void {
    // OpenID Connect Core §2
    const isSubject = sub.length > 0 && sub.length <= 255 && !controlCharacter.test(sub)
    if (!isSubject) throw invalid('claim sub of the ID token')
    const { clientId } = this.provider.options
    if (azp !== undefined && azp !== clientId) throw invalid('claim azp of the ID token')
  }

  /** @throws ERR_AUTH_LOGIN_INVALID for what the provider sent as a success; ERR_AUTH_PROVIDER_UNAVAILABLE */
  #reject(error: unknown, { to, failure, status, json }: Trace): never {
    const { provider } = this
    if (failure !== null) {
      const reason = failure instanceof DOMException ? 'it took too long' : reasonOf(failure)
      return provider.unavailable(`the ${to} failed: ${reason}`)
    }
    if (to === null || (status === 200 && json !== null)) throw invalid(reasonFor(error))
    if (json?.error === 'invalid_grant') throw invalid(`the ${to} answered invalid_grant`)
    const remedy = status === 400 || status === 401 ? ': check clientId and clientSecret' : ''
    return provider.unavailable(`the ${to} answered ${status}${remedy}`)
  }
}

export function invalid(cause: string): Error {
  return refusal('auth.login-failed', { code: 'ERR_AUTH_LOGIN_INVALID', cause })
}

/** In our words, since messages of openid-client may quote tokens. */
function reasonFor(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (typeof each.cause !== 'object' || each.cause === null) break
    const { claim } = each.cause as { claim?: unknown }
    if (checkedClaims.includes(String(claim))) return `claim ${String(claim)} of the ID token`
  }
  const isOurs = (error as { code?: unknown }).code === 'ERR_AUTH_LOGIN_INVALID'
  return isOurs
    ? String((error as Error).cause)
    : 'the token response, the ID token or UserInfo is not acceptable'
}

function jsonOf({ headers }: Response, bytes: Buffer): Trace['json'] {
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get('content-type') ?? '')) return null
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return isPlain(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) deepFreeze(each)
    Object.freeze(value)
  }
  return value
}
