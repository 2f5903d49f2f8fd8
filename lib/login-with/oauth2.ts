import type { ServerMetadata } from 'openid-client'
import { ignoreRejection, isPlain, withoutUndefined } from '../common/objects.js'
import { rejectionOrFault } from '../errors/errors.js'
import { secureAddress } from '../http/address.js'
import { FetchError, jsonBodyOf, readJson, reasonOf, request } from '../http/fetch.js'
import { dataOf } from './claims.js'
import { isSubject, withScope, type Exchanged } from './exchange.js'
import { askForTokens, checkTokens, failed, invalid, type Answer } from './request.js'
import type { Attempt } from './attempt.js'
import type { Provider } from './provider.js'
import type { GetJson, OAuth2Options, ProviderTokens, Profile } from '../../types/login-with.js'

/** How often a profile may fetch something. */
const mostFetches = 8

/** Members of a profile that only an ID token can have. */
const ofIdTokens = new Set('iss aud exp iat nonce auth_time acr amr __proto__'.split(' '))

/** Exchanges a code, and reads the profile. @param parameters - those of the callback, already checked */
export async function exchangeForProfile(
  provider: Provider,
  metadata: ServerMetadata,
  parameters: URLSearchParams,
  { codeVerifier }: Attempt,
  redirectUri: string,
): Promise<Exchanged> {
  const { pkce = true } = provider.options.oauth2 as OAuth2Options
  const code = String(parameters.get('code'))
  const verifier = pkce ? codeVerifier : null
  const answer = await askForTokens(provider, metadata, code, redirectUri, verifier)
  const tokens = tokensOf(provider, answer)
  return { claims: await profileOf(provider, tokens), tokens, authTime: undefined }
}

/** @throws ERR_AUTH_LOGIN_INVALID, ERR_AUTH_PROVIDER_UNAVAILABLE */
function tokensOf(provider: Provider, [response, bytes]: Answer): ProviderTokens {
  const body = checkTokens(provider, response.status, bodyOf(response, bytes))
  const { access_token: accessToken, token_type: type = 'bearer' } = body
  // It becomes a header.
  if (typeof accessToken !== 'string' || !/^[\x20-\x7e]*[\x21-\x7e]$/.test(accessToken))
    throw invalid('access_token of the token response')
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw invalid('token_type of the token response')
  const { refresh_token: refreshToken, scope, expires_in: seconds } = withScope(body)
  const expiresIn = /^(?:number|string)$/.test(typeof seconds) ? Number(seconds) : Number.NaN
  return withoutUndefined({
    accessToken,
    refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined,
    scope: typeof scope === 'string' ? scope : undefined,
    expiresIn: expiresIn >= 0 && expiresIn < Infinity ? expiresIn : undefined,
  })
}

/** The members of a JSON object or a form; null for another body. */
function bodyOf(response: Response, bytes: Buffer): Record<string, unknown> | null {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(
    response.headers.get('content-type') ?? '',
  )
  if (isForm) return Object.fromEntries(new URLSearchParams(bytes.toString()))
  const json = jsonBodyOf(response, bytes)
  return isPlain(json) ? json : null
}

/** @throws (rejects) what the option `profile` throws, and ERR_AUTH_PROVIDER_UNAVAILABLE, ERR_AUTH_LOGIN_INVALID */
async function profileOf(provider: Provider, tokens: ProviderTokens): Promise<Profile> {
  const { issuer } = provider.options
  const oauth2 = provider.options.oauth2 as OAuth2Options
  const read = async (signal: AbortSignal): Promise<unknown> => {
    const get = getter(provider, tokens, signal)
    const ask = async (): Promise<unknown> => provider.profile?.() ?? oauth2.profile(get, tokens)
    const profile = await ask()
    if (profile instanceof Error) throw profile
    return profile
  }
  try {
    return profileFrom(await provider.limit(read), issuer)
  } catch (error) {
    // The app knows no such error: it is that of the limit.
    if (error instanceof FetchError) throw profileFailed(provider, error, false)
    throw rejectionOrFault('ERR_AUTH_USER_SERVICE', error)
  }
}

const profileFailed = (provider: Provider, error: unknown, hasAnswered: boolean): Error =>
  failed(
    provider,
    `the profile of ${provider.options.name} failed: ${reasonOf(error)}`,
    hasAnswered,
  )

/** The first parameter of the option `profile`. */
function getter(provider: Provider, { accessToken }: ProviderTokens, signal: AbortSignal): GetJson {
  let fetches = 0
  const get = async (
    url: string,
    more: Readonly<Record<string, string>> | undefined,
  ): Promise<object> => {
    let status: number | undefined
    let hasAnswered = true
    try {
      const address = secureAddress(String(url))
      if (address === null) throw new FetchError('an address is not secure')
      if ((fetches += 1) > mostFetches) throw new FetchError('it fetches too often')
      const headers = new Headers(more)
      if (!headers.has('accept')) headers.set('accept', 'application/json')
      headers.set('authorization', `Bearer ${accessToken}`)
      const init = { headers, signal, redirect: 'manual' as const }
      hasAnswered = false
      const response = await request(address, init, provider.send)
      status = response.status
      hasAnswered = status !== 200
      const { json } = await readJson(response)
      hasAnswered = true
      if (typeof json === 'object' && json !== null) return json
      throw new FetchError('the body is no object')
    } catch (error) {
      throw Object.assign(profileFailed(provider, error, hasAnswered), { status })
    }
  }
  return (url, { headers } = {}) => {
    const json = get(url, headers)
    // Otherwise one that is not awaited could end the process.
    ignoreRejection(json)
    return json as Promise<never>
  }
}

/** Checks what the option `profile` has returned. @throws ERR_AUTH_LOGIN_INVALID */
function profileFrom(found: unknown, iss: string): Profile {
  const members = Object.entries(dataOf(found)).filter(
    ([name, value]) =>
      !ofIdTokens.has(name) && (name !== 'email_verified' || typeof value === 'boolean'),
  )
  const all = Object.fromEntries(members)
  const sub = Number.isSafeInteger(all.sub) && Number(all.sub) > 0 ? String(all.sub) : all.sub
  if (typeof sub !== 'string' || !isSubject(sub)) throw invalid('sub of the profile')
  return Object.freeze({ ...all, iss, sub })
}
