import type { ServerMetadata } from 'openid-client'
import { FetchError, readBody, reasonOf, request as sendRequest } from '../http/fetch.js'
import type { Provider } from './provider.js'

/** A response of the provider, with its body. */
export type Answer = readonly [response: Response, bytes: Buffer]

/** Errors of responses that are no success: any client can make up codes. A missing response is not the client's fault. */
const failures = new WeakSet<object>()
export const isFailure = (error: unknown): boolean =>
  failures.has(Object(error)) || (error as { code?: unknown }).code === 'ERR_AUTH_LOGIN_INVALID'

/** The 503 of a provider that fails. @param hasAnswered - whether it has sent a response: then the callback counts as a failed attempt */
export function failed(provider: Provider, cause: string, hasAnswered: boolean): Error {
  const failure = provider.unavailable(cause)
  if (hasAnswered) failures.add(failure)
  return failure
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
    if (body !== undefined) {
      step = 'function clientSecret'
      await authenticate(provider, metadata, body, all)
      step = place
    }
    // A redirect is an answer too, which counts.
    const init = { method, headers: all, body: body ?? null, signal, redirect: 'manual' as const }
    // A code is used once.
    const response = await sendRequest(new URL(address), init, provider.send, body === undefined)
    hasAnswered = true
    return [response, await readBody(response)]
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
