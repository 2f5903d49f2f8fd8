import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ignoreRejection } from '../common/objects.js'
import { faultOf } from '../errors/errors.js'
import {
  attemptCookies,
  attemptLife,
  cookieName,
  mostAttempts,
  newAttempt,
  type Attempt,
} from './attempt.js'
import { checkParams } from './options.js'
import { pathOf } from './return-to.js'
import { badRequest, queryOf, type Routes } from './query.js'
import type { Provider } from './provider.js'
import type { Work } from '../http/plugin-route.js'

/** Begins a login: leads the browser to the provider. */
export function start({ provider, addCookie, cookieStarts, redirectUri }: Routes): Work {
  const { name } = provider.options
  return async (request, reply) => {
    const [text, ...others] = queryOf(request).getAll('returnTo')
    const returnTo = text === undefined ? '' : pathOf(text)
    if (returnTo === null || others.length > 0) {
      return badRequest('querystring/returnTo must be a path of this app')
    }
    const uri = redirectUri(request)
    const params = paramsOf(provider, request)
    const { authorization } = await provider.metadata()
    const attempt = newAttempt(name, returnTo, params.max_age ? Number(params.max_age) : null)
    const [cookieStart = ''] = cookieStarts(request)
    const present = attemptCookies(request.headers.cookie, cookieStart)
    if (present.length >= mostAttempts) for (const each of present) addCookie(reply, each, '', 0)
    addCookie(reply, cookieName(cookieStart, attempt.state), attempt.value, attemptLife)
    return reply.redirect(authorizationUrl(provider, authorization, attempt, uri, params), 303)
  }
}

/** @throws ERR_AUTH_AUTHORIZATION_PARAMS */
function paramsOf(
  { options }: Provider,
  request: FastifyRequest,
): Readonly<Record<string, string>> {
  const { authorizationParams: given = {}, name } = options
  if (typeof given !== 'function') return given
  try {
    const params: unknown = given(request)
    ignoreRejection(params)
    return checkParams(params, `loginWith.${name}.authorizationParams()`)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHORIZATION_PARAMS', error)
  }
}

/** The authorization request (OpenID Connect Core §3.1.2.1, RFC 7636 §4.3). */
function authorizationUrl(
  { options: { clientId, scope } }: Provider,
  endpoint: URL,
  { state, nonce, codeVerifier }: Attempt,
  redirectUri: string,
  params: Readonly<Record<string, string>>,
): string {
  const url = new URL(endpoint)
  const all = {
    ...params,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state,
    nonce,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
  for (const [key, value] of Object.entries(all)) url.searchParams.set(key, value)
  return url.href
}
