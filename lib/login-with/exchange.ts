import type { Configuration, ExportedJWKSCache, IDToken, ServerMetadata } from 'openid-client'
import { isPlain, withoutUndefined } from '../common/objects.js'
import { isAuthenticationError, refusal } from '../errors/errors.js'
import { controlCharacter } from '../http/authorization.js'
import { since } from '../http/backoff.js'
import { FetchError, jsonOf, readBody, reasonOf, request as sendRequest } from '../http/fetch.js'
import { freeze } from '../tokens/engine.js'
import type { Attempt } from './attempt.js'
import type { Provider } from './provider.js'
import type { IdTokenClaims, ProviderTokens } from '../../types/login-with.js'

export type OpenIdClient = typeof import('openid-client')

/** What a login has brought. */
export interface Exchanged {
  readonly claims: IdTokenClaims
  readonly tokens: ProviderTokens
}

/** The last request to the provider, and what came back. */
interface Trace {
  to?: 'token endpoint' | 'key set' | 'UserInfo endpoint'
  failure?: unknown
  status?: number
  json?: unknown
}

/** Milliseconds for which a key set is used without being fetched again. */
const freshKeys = 10 * 60_000

/** Exchanges the codes of one provider (OpenID Connect Core §3.1.3). */
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
    metadata: ServerMetadata,
    parameters: URLSearchParams,
    { state, nonce, codeVerifier, maxAge }: Attempt,
    redirectUri: string,
  ): Promise<Exchanged> {
    const { client } = this
    const trace: Trace = {}
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
      const { access_token: accessToken, id_token: idToken, refresh_token: refreshToken } = response
      const claims = response.claims() as IDToken
      this.#check(claims)
      const hasMore = metadata.userinfo_endpoint !== undefined
      const more = hasMore && (await client.fetchUserInfo(config, accessToken, claims.sub))
      const all = { ...more, ...claims }
      freeze(all)
      const { scope, expires_in: expiresIn } = response
      const tokens = withoutUndefined({ accessToken, idToken, refreshToken, scope, expiresIn })
      return { claims: all, tokens }
    } catch (error) {
      return this.#reject(error, trace)
    }
  }

  /** A new one for each callback: one that has a key set does not ask for an unknown key within a minute. */
  #configure(metadata: ServerMetadata, redirectUri: string, trace: Trace): Configuration {
    const { client, provider } = this
    const { clientId, clientSecret, clientAuth, clockTolerance = 30 } = provider.options
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = metadata
    const isBasic = clientAuth ? clientAuth === 'basic' : methods.includes('client_secret_basic')
    const authenticate = isBasic ? client.ClientSecretBasic : client.ClientSecretPost
    const config = new client.Configuration(
      metadata,
      clientId,
      { [client.clockTolerance]: clockTolerance },
      clientSecret === undefined ? client.None() : authenticate(clientSecret),
    )
    // The addresses were checked: http leads to this machine only.
    if (metadata.issuer.startsWith('http:')) client.allowInsecureRequests(config)
    client.enableNonRepudiationChecks(config)
    config[client.customFetch] = async (address, { body, headers, method }) => {
      const isKeySet = address === metadata.jwks_uri
      trace.to = isKeySet ? 'key set' : body ? 'token endpoint' : 'UserInfo endpoint'
      // As it is registered at the provider, where openid-client may write it in another way.
      if (body instanceof URLSearchParams) body.set('redirect_uri', redirectUri)
      try {
        const { response, bytes } = await provider.limit(async (signal) => {
          const init = { method, headers, body: body as URLSearchParams, signal }
          const sent = await sendRequest(new URL(address), init, provider.send)
          return { response: sent, bytes: await readBody(sent) }
        })
        trace.status = response.status
        trace.json = jsonOf(response, bytes)
        if (isKeySet) this.#keep(trace)
        return new Response(new Uint8Array(bytes), response)
      } catch (error) {
        trace.failure = error
        throw error
      }
    }
    if (this.#keys !== null && since(this.#keys.fetchedAt) < freshKeys) {
      // A key that this set lacks is asked for at once, since the set seems to be a minute old.
      const uat = Math.floor(Date.now() / 1000) - 60
      client.setJwksCache(config, { jwks: this.#keys.jwks, uat })
    }
    return config
  }

  /** @throws FetchError for what is no key set */
  #keep({ status, json }: Trace): void {
    const keys = status === 200 && isPlain(json) ? json.keys : null
    if (!Array.isArray(keys) || !keys.every(isPlain))
      throw new FetchError(`no keys with status ${status}`)
    this.#keys = { jwks: { keys }, fetchedAt: Date.now() }
  }

  /** What openid-client leaves to the app. @throws ERR_AUTH_LOGIN_INVALID */
  #check({ sub, azp, iat }: IDToken): void {
    const { clientId, clockTolerance = 30 } = this.provider.options
    // OpenID Connect Core §2
    if (sub === '' || sub.length > 255 || controlCharacter.test(sub)) throw invalid('claim sub')
    if (azp !== undefined && azp !== clientId) throw invalid('claim azp')
    if (iat > Date.now() / 1000 + clockTolerance) throw invalid('claim iat of the ID token')
  }

  /** @throws ERR_AUTH_LOGIN_INVALID for what the provider sent as a success; ERR_AUTH_PROVIDER_UNAVAILABLE */
  #reject(error: unknown, { to, failure, status, json }: Trace): never {
    if (isAuthenticationError(error)) throw error
    if (failure !== undefined) this.provider.unavailable(`the ${to} failed: ${reasonOf(failure)}`)
    if (to === undefined || (status === 200 && isPlain(json))) throw invalid(reasonFor(error))
    if (isPlain(json) && json.error === 'invalid_grant') throw invalid(`the ${to}: invalid_grant`)
    const remedy = status === 400 || status === 401 ? ': check clientId and clientSecret' : ''
    return this.provider.unavailable(`the ${to} answered ${status}${remedy}`)
  }
}

export function invalid(cause: string): Error {
  return refusal('auth.login-failed', { code: 'ERR_AUTH_LOGIN_INVALID', cause })
}

/** In our words, since messages of openid-client may quote tokens. */
function reasonFor(error: unknown): string {
  const claims = 'iss aud azp exp iat nbf nonce auth_time'.split(' ')
  for (let each = error; isObject(each); each = each.cause) {
    if (claims.includes(String(each.claim))) return `claim ${String(each.claim)} of the ID token`
  }
  return 'the token response, the ID token or UserInfo is not acceptable'
}

const isObject = (value: unknown): value is { cause?: unknown; claim?: unknown } =>
  typeof value === 'object' && value !== null
