import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ignoreRejection } from '../common/objects.js'
import { faultOf } from '../errors/errors.js'
import { badRequest, queryOf } from '../http/query.js'
import { attemptCookies, attemptLife, cookieName, mostAttempts, newAttempt } from './attempt.js'
import { checkParams } from './options.js'
import { isPath } from './return-to.js'
import type { Routes } from './callback.js'
import type { Provider } from './provider.js'
import type { Work } from '../http/plugin-route.js'

const overHttp =
  'fastify-authn: a login with a provider began over http, where browsers do not keep its cookie. If a proxy terminates TLS, set trustProxy of Fastify. This is logged once'

/** Begins a login: leads the browser to the provider (OpenID Connect Core §3.1.2.1, RFC 7636 §4.3). */
export function start({ provider, addCookie, cookieStarts, redirectUri }: Routes): Work {
  const { name, clientId, scope } = provider.options
  let isWarned = false
  return async (request, reply) => {
    const [returnTo, ...others] = queryOf(request).getAll('returnTo')
    if (others.length > 0 || (returnTo !== undefined && !isPath(returnTo))) {
      return badRequest('querystring/returnTo must be a path of this app')
    }
    const params = paramsOf(provider, request)
    const { max_age: maxAge = '' } = params
    const attempt = newAttempt(provider.options, returnTo ?? '', maxAge)
    const all = {
      ...params,
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri(request),
      scope,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: createHash('sha256').update(attempt.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
    }
    const url = new URL(String((await provider.metadata()).authorization_endpoint))
    for (const [key, value] of Object.entries(all)) url.searchParams.set(key, value)
    const [cookieStart = ''] = cookieStarts(request)
    if (request.protocol === 'http' && cookieStart.startsWith('__Host-') && !isWarned) {
      isWarned = true
      request.log.warn({ provider: name }, overHttp)
    }
    const present = attemptCookies(request.headers.cookie, cookieStart)
    if (present.length >= mostAttempts) for (const each of present) addCookie(reply, each, '', 0)
    addCookie(reply, cookieName(cookieStart, attempt.state), attempt.value, attemptLife)
    return reply.redirect(url.href, 303)
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
