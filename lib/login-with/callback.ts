import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultOf, refusal, refusalOrFault } from '../errors/errors.js'
import { reportSuccess } from '../events.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { giveTokens } from '../login/finish.js'
import { findUser, isUsableName, withUserTimeout } from '../users/user.js'
import { viewOf } from '../users/view.js'
import { cookieName, findAttempt, type Attempt } from './attempt.js'
import { invalid } from './exchange.js'
import { queryOf, type Routes } from './query.js'
import type { Metadata, Provider } from './provider.js'
import type { Work } from '../http/plugin-route.js'
import type { IdTokenClaims, ProviderTokens } from '../../types/login-with.js'
import type { UserService } from '../../types/user-service.js'

/** Errors of RFC 6749 §4.1.2.1 and OpenID Connect Core §3.1.2.6, which a reason may name. */
const knownErrors = new Set(
  'invalid_request unauthorized_client access_denied unsupported_response_type invalid_scope server_error temporarily_unavailable interaction_required login_required account_selection_required consent_required invalid_request_uri invalid_request_object request_not_supported request_uri_not_supported registration_not_supported'.split(
    ' ',
  ),
)

/** Ends a login, to which the provider has led the browser back. */
export function callback(routes: Routes): Work {
  const { registration, provider, exchange, returnTo, isStrict, redirectUri } = routes
  const { refuseToken, countRejectedToken } = registration.passwords
  return async (request, reply, started) => {
    const query = queryOf(request)
    const attempt = attemptOf(routes, query, request, reply)
    // Each attempt has a name of its own, so that only its address has a limit.
    const counted = `login ${attempt.state}`
    await refuseToken(counted, request)
    try {
      const metadata = await provider.metadata()
      checkParameters(provider, metadata, query)
      const found = await exchange.run(metadata, query, attempt, redirectUri(request))
      if (isGone(request)) throw ABANDONED
      await logIn(routes, found, request, reply, started)
    } catch (error) {
      const isInvalid = (error as { code?: unknown }).code === 'ERR_AUTH_LOGIN_INVALID'
      if (isInvalid) await countRejectedToken(counted, request)
      throw error
    }
    const address = `${returnTo.origin}${attempt.returnTo || returnTo.path}`
    return isStrict ? sendPage(reply, address) : reply.redirect(address, 303)
  }
}

/** The attempt of the parameter `state`, whose cookie the response clears. @throws ERR_AUTH_LOGIN_STATE */
function attemptOf(
  { provider, cookieStarts, addCookie }: Routes,
  query: URLSearchParams,
  request: FastifyRequest,
  reply: FastifyReply,
): Attempt {
  const states = query.getAll('state')
  const [state = ''] = states
  const isState = states.length === 1 && /^[\w-]{43}$/.test(state)
  let found: Attempt | string = 'no parameter state'
  for (const start of isState ? cookieStarts(request) : []) {
    const name = cookieName(start, state)
    found = findAttempt(provider.options.name, state, request.headers.cookie, name)
    if (typeof found === 'string') continue
    addCookie(reply, name, '', 0)
    return found
  }
  throw refusal('auth.login-expired', { code: 'ERR_AUTH_LOGIN_STATE', cause: found })
}

/** @throws ERR_AUTH_LOGIN_INVALID, ERR_AUTH_LOGIN_DENIED */
function checkParameters(
  { options: { issuer } }: Provider,
  { sendsIssuer }: Metadata,
  query: URLSearchParams,
): void {
  const names = [...query.keys()]
  if (new Set(names).size < names.length) throw invalid('a parameter of the callback comes twice')
  const iss = query.get('iss')
  if (iss === null ? sendsIssuer : iss !== issuer) throw invalid('parameter iss of the callback')
  if (['response', 'id_token', 'token'].some((name) => query.has(name))) {
    throw invalid('the callback is of another flow')
  }
  const error = query.get('error')
  if (error !== null) {
    const cause = `the provider answered ${knownErrors.has(error) ? error : 'an unknown error'}`
    throw refusal('auth.login-failed', { code: 'ERR_AUTH_LOGIN_DENIED', cause })
  }
  if (!query.get('code')) throw invalid('no code in the callback')
}

async function logIn(
  { registration, provider }: Routes,
  { claims, tokens }: { claims: IdTokenClaims; tokens: ProviderTokens },
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
): Promise<void> {
  const { userService, userServiceTimeout: timeout } = registration.options
  const { name } = provider.options
  const ask = async (): Promise<unknown> => provider.options.username(claims, request, tokens)
  const username = await withUserTimeout(ask(), timeout).catch((error: unknown) => {
    throw refusalOrFault('ERR_AUTH_USER_SERVICE', error)
  })
  if (username === null || username === undefined) throw unknown('username() returned none')
  if (!isUsableName(username)) {
    const problem = `loginWith.${name}.username() returned a ${typeof username} that is no name: expected a non-empty string of at most 1,024 bytes without control characters, a finite number, null or undefined.`
    throw faultOf('ERR_AUTH_USER_SERVICE', new TypeError(problem))
  }
  const user = await findUser(userService as UserService, username, request, timeout)
  if (user === null) throw unknown('user not found')
  if (isGone(request)) throw ABANDONED
  const attempt = { started, confirm: async () => undefined }
  const issued = await registration.issueTokens(username, request, user, attempt, registration)
  reportSuccess(request, shown(user, registration.hiddenFields), 'login', started, {
    provider: name,
  })
  giveTokens(registration, registration.carrier, request, reply, issued)
}

/** @throws AuthenticationFault when a getter of the user throws */
function shown(user: object, hiddenFields: ReadonlySet<string>): object {
  try {
    return viewOf(user, hiddenFields)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
}

function unknown(cause: string): Error {
  return refusal('auth.forbidden', { code: 'ERR_AUTH_LOGIN_REFUSED', cause })
}

/** A page that opens another one: browsers send Strict cookies there, which they do not after a redirect of the provider. */
function sendPage(reply: FastifyReply, address: string): FastifyReply {
  const escaped = address.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`)
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', "default-src 'none'")
    .send(`<!doctype html><meta http-equiv="refresh" content="0;url=${escaped}">`)
}
