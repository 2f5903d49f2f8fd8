import type { ServerMetadata } from 'openid-client'
import { isPlain } from '../common/objects.js'
import { rejection } from '../errors/errors.js'
import { FetchError, readBody, reasonOf, request as sendRequest } from '../http/fetch.js'
import type { Provider } from './provider.js'

/** A response of the provider, with its body. */
export type Answer = readonly [response: Response, bytes: Buffer]

/** Whether others need not ask the provider now. One that has answered may answer them otherwise. */
const answered = new WeakSet<object>()
export const isAway = (error: unknown): boolean => isFailure(error) && !answered.has(Object(error))

export const isFailure = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'ERR_AUTH_PROVIDER_UNAVAILABLE'

/** The 503 of a provider that fails. No client can help it, so it does not count as a failed attempt. */
export function failed(provider: Provider, cause: string, hasAnswered = true): Error {
  const failure = provider.unavailable(cause)
  if (hasAnswered) answered.add(failure)
  return failure
}

export const invalid = (cause: string): Error =>
  rejection('auth.login-failed', { code: 'ERR_AUTH_LOGIN_INVALID', cause })

/** Errors about the app, not about the code: those of RFC 6749 §5.2, of GitHub and of Slack. */
const ofApp = new Set<unknown>(
  'invalid_client unauthorized_client unsupported_grant_type incorrect_client_credentials redirect_uri_mismatch bad_client_secret invalid_client_id bad_redirect_uri'.split(
    ' ',
  ),
)

/**
 * Checks the response of the token endpoint. @param body - the members of its body; null for another body
 * @returns the body @throws ERR_AUTH_LOGIN_INVALID, ERR_AUTH_PROVIDER_UNAVAILABLE
 */
export function checkTokens<Body extends Readonly<Record<string, unknown>>>(
  provider: Provider,
  status: number,
  body: Body | null,
): Body {
  const error = body?.error
  const fail = (hint: string): Error =>
    failed(provider, `the token endpoint answered ${status}${hint}`)
  // Twitch rejects a wrong secret with 403, and no `error` (PhantomBot/PhantomBot#2860).
  const isOfApp = ofApp.has(error) || (!error && (status === 401 || status === 403))
  if (status < 500 && isOfApp)
    throw fail(': check clientId, clientSecret and the callback that is registered')
  // Some report errors with the status 200, others without `error`. That of Facebook is an object, also for a wrong secret
  // (facebookarchive/php-graph-sdk#538).
  const isOfCode = status === 400 || status === 401 || (status === 200 && error)
  if (isOfCode || error === 'invalid_grant')
    throw invalid(
      `the token endpoint has rejected the code${isPlain(error) ? ', or clientSecret' : ''}`,
    )
  if (status !== 200 || body === null) throw fail('')
  return body
}

/**
 * Sends a request to an endpoint of the provider, within five seconds. One with a body is that to the token endpoint, in
 * which the app says who it is. @throws (rejects) ERR_AUTH_PROVIDER_UNAVAILABLE
 */
export async function ask(
  provider: Provider,
  place: string,
  address: string,
  {
    method,
    headers,
    body,
  }: { method: string; headers: Record<string, string>; body?: URLSearchParams },
  metadata: ServerMetadata,
): Promise<Answer> {
  let step = place
  let hasAnswered = false
  const work = async (signal: AbortSignal): Promise<Answer> => {
    const all = new Headers(headers)
    // The provider of the test kit checks no secret, and that of the app may be in a vault.
    if (body !== undefined && provider.send === undefined) {
      step = 'function clientSecret'
      await authenticate(provider, metadata, body, all)
      step = place
    }
    // A redirect is an answer too.
    const init = { method, headers: all, body: body ?? null, signal, redirect: 'manual' as const }
    // A code is used once.
    const response = await sendRequest(new URL(address), init, provider.send, body === undefined)
    const bytes = await readBody(response)
    // Otherwise it has sent a part of it, and others would wait for the rest of theirs.
    hasAnswered = true
    return [response, bytes]
  }
  return provider.limit(work).catch((error: unknown) => {
    throw failed(provider, `the ${step} failed: ${reasonOf(error)}`, hasAnswered)
  })
}

/** Exchanges a code (RFC 6749 §4.1.3). @param codeVerifier - null without PKCE */
export function askForTokens(
  provider: Provider,
  metadata: ServerMetadata,
  code: string,
  redirectUri: string,
  codeVerifier: string | null,
): Promise<Answer> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    ...(codeVerifier !== null && { code_verifier: codeVerifier }),
  })
  const init = { method: 'POST', headers: { accept: 'application/json' }, body }
  return ask(provider, 'token endpoint', String(metadata.token_endpoint), init, metadata)
}

/** Adds the credentials of the client to a token request (RFC 6749 §2.3.1). @throws (rejects) FetchError for a function that gives no secret */
async function authenticate(
  { options: { clientId, clientSecret, clientAuth } }: Provider,
  { token_endpoint_auth_methods_supported: methods }: ServerMetadata,
  body: URLSearchParams,
  headers: Headers,
): Promise<void> {
  const secret = typeof clientSecret === 'function' ? await secretOf(clientSecret) : clientSecret
  body.set('client_id', clientId)
  if (secret === undefined) return
  const isBasic = !Array.isArray(methods) || methods.includes('client_secret_basic')
  if ((clientAuth ?? (isBasic ? 'basic' : 'post')) === 'post') {
    return body.set('client_secret', secret)
  }
  body.delete('client_id')
  const pair = [clientId, secret].map((each) =>
    new URLSearchParams({ '': each }).toString().slice(1),
  )
  headers.set('authorization', `Basic ${Buffer.from(pair.join(':')).toString('base64')}`)
}

async function secretOf(clientSecret: () => unknown): Promise<string> {
  const secret = await (async () => clientSecret())().catch(() => undefined)
  if (typeof secret === 'string' && /\S/.test(secret)) return secret
  throw new FetchError('it has thrown, or returned no string')
}
