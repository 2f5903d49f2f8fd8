import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultOf, refusal, refusalOrFault } from '../errors/errors.js'
import { reportSuccess } from '../events.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { queryOf } from '../http/query.js'
import { findUser, isUsableName, withUserTimeout } from '../users/user.js'
import { viewOf } from '../users/view.js'
import { cookieName, findAttempt, type Attempt } from './attempt.js'
import { invalid, type Exchange, type Exchanged } from './exchange.js'
import type { Provider } from './provider.js'
import { pathAt } from './return-to.js'
import type { Registration } from '../feature.js'
import type { Work } from '../http/plugin-route.js'
import type { UserService } from '../../types/user-service.js'

/** What the two routes of a provider share. */
export interface Routes {
  readonly registration: Registration
  readonly provider: Provider
  readonly exchange: Exchange
  readonly returnTo: string
  /** Whether browsers withhold the cookies of a login after a redirect that began on another site. */
  readonly isStrict: boolean
  /** What names of cookies may begin with in a request, first where new ones do. */
  cookieStarts(request: FastifyRequest): readonly string[]
  addCookie(reply: FastifyReply, name: string, value: string, maxAge: number): void
  /** The parameter `redirect_uri`. */
  redirectUri(request: FastifyRequest): string
}

/** Errors of RFC 6749 §4.1.2.1 and OpenID Connect Core §3.1.2.6, which a reason may name. */
const knownErrors = new Set(
  'invalid_request unauthorized_client access_denied unsupported_response_type invalid_scope server_error temporarily_unavailable interaction_required login_required account_selection_required consent_required invalid_request_uri invalid_request_object request_not_supported request_uri_not_supported registration_not_supported'.split(
    ' ',
  ),
)

/** Ends a login, to which the provider has led the browser back. */
export function callback(routes: Routes): Work {
  const { registration, provider, exchange, returnTo } = routes
  const { refuseToken, countRejectedToken } = registration.passwords
  return async (request, reply, started) => {
    const query = queryOf(request)
    const attempt = attemptOf(routes, query, request, reply)
    // Each attempt has a name of its own, so that only its address has a limit.
    const counted = `login ${attempt.state}`
    await refuseToken(counted, request)
    try {
      const metadata = await provider.metadata()
      const sendsIssuer = metadata.authorization_response_iss_parameter_supported === true
      checkParameters(query, sendsIssuer, metadata.issuer)
      const uri = routes.redirectUri(request)
      const found = await exchange.run(metadata, query, attempt, uri)
      if (isGone(request)) throw ABANDONED
      await logIn(routes, found, request, reply, started)
    } catch (error) {
      const isInvalid = (error as { code?: unknown }).code === 'ERR_AUTH_LOGIN_INVALID'
      if (isInvalid) await countRejectedToken(counted, request)
      throw error
    }
    const address = attempt.returnTo === '' ? returnTo : pathAt(returnTo, attempt.returnTo)
    return leadTo(address, routes, reply)
  }
}

/** The attempt of the parameter `state`, whose cookie the response clears. @throws ERR_AUTH_LOGIN_STATE */
function attemptOf(
  { provider, cookieStarts, addCookie }: Routes,
  query: URLSearchParams,
  request: FastifyRequest,
  reply: FastifyReply,
): Attempt {
  const [state = '', ...others] = query.getAll('state')
  const isState = others.length === 0 && /^[\w-]{43}$/.test(state)
  let found: Attempt | string = 'no parameter state'
  for (const start of isState ? cookieStarts(request) : []) {
    const name = cookieName(start, state)
    found = findAttempt(provider.options, state, request.headers.cookie, name)
    if (typeof found === 'string') continue
    addCookie(reply, name, '', 0)
    return found
  }
  throw refusal('auth.login-expired', { code: 'ERR_AUTH_LOGIN_STATE', cause: found })
}

/** @throws ERR_AUTH_LOGIN_INVALID, ERR_AUTH_LOGIN_DENIED */
function checkParameters(query: URLSearchParams, sendsIssuer: boolean, issuer: string): void {
  if (new Set(query.keys()).size < query.size) throw invalid('a parameter of the callback repeats')
  const iss = query.get('iss')
  // RFC 9207 §2.4
  if (iss === null ? sendsIssuer : iss !== issuer) throw invalid('parameter iss of the callback')
  const isOther = ['response', 'id_token', 'token'].some((name) => query.has(name))
  if (isOther) throw invalid('the callback is of another flow')
  const error = query.get('error')
  if (error !== null) {
    const cause = `the provider answered ${knownErrors.has(error) ? error : 'an unknown error'}`
    throw refusal('auth.login-failed', { code: 'ERR_AUTH_LOGIN_DENIED', cause })
  }
  if (!query.get('code')) throw invalid('no code in the callback')
}

async function logIn(
  { registration, provider: { options } }: Routes,
  { claims, tokens }: Exchanged,
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
): Promise<void> {
  const { userService, userServiceTimeout: timeout } = registration.options
  const ask = async (): Promise<unknown> => options.username(claims, request, tokens)
  const fail = (error: unknown): never => {
    throw refusalOrFault('ERR_AUTH_USER_SERVICE', error)
  }
  const name = (await withUserTimeout(ask(), timeout).catch(fail)) ?? null
  if (name !== null && !isUsableName(name)) {
    const expected =
      'a non-empty string of at most 1,024 bytes without control characters, a finite number, null or undefined'
    const place = `loginWith.${options.name}.username()`
    fail(new TypeError(`${place} returned a ${typeof name} that is no name, expected ${expected}.`))
  }
  const username = name as string | number | null
  const service = userService as UserService
  const user = username === null ? null : await findUser(service, username, request, timeout)
  if (username === null || user === null) {
    const cause = username === null ? 'username() returned none' : 'user not found'
    throw refusal('auth.forbidden', { code: 'ERR_AUTH_LOGIN_REFUSED', cause })
  }
  if (isGone(request)) throw ABANDONED
  const report = loginReport(registration, user, options.name)
  const attempt = { started, confirm: async () => undefined }
  const issued = await registration.issueTokens(username, request, user, attempt, registration)
  registration.carrier.send(request, reply, issued)
  report(request, started)
}

/** @throws AuthenticationFault when a getter of the user throws */
function loginReport({ hiddenFields }: Registration, user: object, provider: string) {
  try {
    const view = viewOf(user, hiddenFields)
    return (request: FastifyRequest, started: number): void =>
      reportSuccess(request, view, 'login', started, { provider })
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
}

/** Leads the browser on. Strict cookies need a page for it: browsers withhold them after a redirect of the provider. */
export function leadTo(address: string, { isStrict }: Routes, reply: FastifyReply): FastifyReply {
  if (!isStrict) return reply.redirect(address, 303)
  const escaped = address.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`)
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', "default-src 'none'")
    .send(`<!doctype html><meta http-equiv="refresh" content="0;url=${escaped}">`)
}
