import type { FastifyReply, FastifyRequest } from 'fastify'
import { rejection, rejectionOrFault } from '../errors/errors.js'
import { isMfa } from '../guard/level.js'
import { parsedUrl } from '../http/address.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { badRequest, queryOf } from '../http/query.js'
import { finishLogin, type giveTokens } from '../login/finish.js'
import { urlOf } from '../login/plugin-routes.js'
import { isListed } from '../login/proof.js'
import { mfaRules } from '../request/mfa-option.js'
import { Counters } from '../throttle/counters.js'
import { clientOf } from '../throttle/throttle.js'
import { findUser, isUsableName, withUserTimeout } from '../users/user.js'
import { takeAttempt } from './attempt.js'
import { accept } from './claims.js'
import { exchange, type Exchanged } from './exchange.js'
import { link, readToken, type SessionToken } from './link.js'
import { exchangeForProfile } from './oauth2.js'
import { invalid, isAway, isFailure } from './request.js'
import { pathAt } from '../login/return-to.js'
import { isIssuerOf } from '../http/tenant.js'
import type { ResolvedProvider } from './options.js'
import type { Routes } from './provider.js'
import type { Own, Registration } from '../feature.js'
import { claimsMaker } from '../login/token.js'
import type { AskedBody, Authentication, FinishedLogin } from '../tokens/issued.js'
import type { Work } from '../http/plugin-route.js'
import type { Profile } from '../../types/login-with.js'
import type { UserService } from '../../types/user-service.js'

/** Errors of RFC 6749 §4.1.2.1 and OpenID Connect Core §3.1.2.6, which a reason may name. */
const knownErrors =
  'invalid_request unauthorized_client access_denied unsupported_response_type invalid_scope server_error temporarily_unavailable interaction_required login_required account_selection_required consent_required invalid_request_uri invalid_request_object request_not_supported request_uri_not_supported registration_not_supported'

const counts = {
  /** Any client can make up codes. */
  isWrong: ({ code }: { readonly code?: unknown }): boolean => code === 'ERR_AUTH_LOGIN_INVALID',
  isAsked: true,
}

/**
 * How many callbacks of a client may fail in a minute because of the provider. Made-up codes can cause that too, and would use
 * up its limits. Wrong codes are counted with refresh tokens, but these are not: an outage must not end sessions.
 */
const mostFailures = 30

/** Ends a login or a link, to which the provider has led the browser back. */
export function callback(routes: Routes): Work {
  const { registration, provider, returnTo, cookieStart } = routes
  const failures = new Counters(60)
  return async (request, reply, started) => {
    const query = queryOf(request)
    const state = query.getAll('state').join()
    const attempt = takeAttempt(provider.options, state, cookieStart(request), reply)
    const token = readToken(routes, attempt.link)
    const work = async (): Promise<Exchanged> => {
      const metadata = await provider.metadata()
      const sendsIssuer = Boolean(metadata.authorization_response_iss_parameter_supported)
      checkParameters(query, sendsIssuer, metadata.issuer)
      const make = provider.options.oauth2 === undefined ? exchange : exchangeForProfile
      return make(provider, metadata, query, attempt, routes.redirectUri(request))
    }
    const counted = async (): Promise<Exchanged> => {
      const client = clientOf(request.ip)
      const { consumedPoints = 0, msBeforeNext = 0 } = failures.get(client) ?? {}
      if (registration.options.throttle && consumedPoints >= mostFailures)
        throw rejection('auth.too-many-attempts', { retryAfter: Math.ceil(msBeforeNext / 1000) })
      return work().catch((error: unknown) => {
        if (isFailure(error)) failures.penalty(client)
        throw error
      })
    }
    // The throttle is asked when its turn comes, since callbacks before it may have failed.
    const found = await provider.exchanges.run(
      request,
      () => registration.attempts.counting(counts, { token: state }, request, counted),
      isAway,
    )
    if (isGone(request)) throw ABANDONED
    const user = provider.options.responseMode === 'form_post' ? query.get('user') : null
    const accepted = await accept(routes, found, user)
    if (isGone(request)) throw ABANDONED
    if (token === null || token.proved !== undefined) {
      const amr = amrOf(provider.options, found.claims)
      const asked = await logIn(routes, { ...accepted, amr }, token, request, reply, started)
      if (asked !== null) return leadTo(asked, routes, reply)
    } else await link(routes, token, accepted, request)
    const address = attempt.returnTo === '' ? returnTo : pathAt(returnTo, attempt.returnTo)
    return leadTo(address, routes, reply)
  }
}

function checkParameters(query: URLSearchParams, sendsIssuer: boolean, issuer: string): void {
  if (new Set(query.keys()).size < query.size) throw invalid('a parameter of the callback repeats')
  const iss = query.get('iss')
  // RFC 9207 §2.4
  if (iss === null ? sendsIssuer : !isIssuerOf(issuer, iss))
    throw invalid('parameter iss of the callback')
  const other = ['response', 'id_token', 'token'].find((name) => query.has(name))
  if (other) throw invalid(`parameter ${other} of the callback, which is of another flow`)
  const error = query.get('error')
  if (error !== null) {
    const isKnown = knownErrors.split(' ').includes(error)
    const cause = `the provider answered ${isKnown ? error : 'an unknown error'}`
    throw rejection('auth.login-failed', { code: 'ERR_AUTH_LOGIN_DENIED', cause })
  }
  if (!query.get('code')) throw invalid('no code in the callback')
}

/** @returns the address of the page that asks for a second factor; null where there are tokens */
async function logIn(
  { registration, provider: { options } }: Routes,
  { claims, tokens, authTime, amr }: Exchanged & Pick<Authentication, 'amr'>,
  session: SessionToken | null,
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
): Promise<string | null> {
  const { userService, userServiceTimeout: timeout } = registration.options
  const ask = async (): Promise<unknown> => options.username(claims, request, tokens)
  const username = await withUserTimeout(ask(), timeout)
    .then((name) => usableName(name, options.name))
    .catch((error: unknown) => {
      throw rejectionOrFault('ERR_AUTH_USER_SERVICE', error)
    })
  const user = await findUser(userService as UserService, username, request, timeout)
  if (user === null) throw unknownUser('user not found')
  if (isGone(request)) throw ABANDONED
  const found = { username, user, started }
  const authentication = { time: authTime, amr }
  const isSame = session !== null && (await isOf(registration, session, found, request))
  const login = { ...found, ...(isSame ? replacing(session, authentication) : { authentication }) }
  const about = { provider: options.name }
  const body = await finishLogin(registration, request, reply, login, about, onlyCookies)
  const { secondFactor } = body as Partial<AskedBody>
  return secondFactor ? `${registration.secondFactor?.page}#${secondFactor.token}` : null
}

/** Whether a session is one of the user who has come back from the provider, and still there. */
async function isOf(
  registration: Registration,
  token: SessionToken,
  { username, user }: Pick<FinishedLogin, 'username' | 'user'>,
  request: FastifyRequest,
): Promise<boolean> {
  const { sub } = await claimsMaker(registration.options.login)(username, request, user)
  if (String(sub) !== String(token.sub)) return false
  try {
    for (const each of registration.tokenChecks) each.user?.(user, token)
  } catch {
    return false
  }
  return isListed(registration, token)
}

/** A session that is `mfa` stays so, and is as old as its latest proof of that. */
function replacing({ sid: replaces, proved }: SessionToken, { time, amr = [] }: Authentication) {
  const { amr: before, time: then } = proved as Own
  const isKept = before.includes('mfa') && !amr.includes('mfa')
  const all = new Set([...before, ...amr])
  return { replaces, authentication: { time: isKept ? then : time, amr: [...all] } }
}

/** @throws AuthenticationFault if `mfa` of the provider throws */
function amrOf({ mfa }: ResolvedProvider, claims: Profile): readonly string[] | undefined {
  try {
    return mfa !== undefined && isMfa(claims, mfaRules(mfa)) ? ['mfa'] : undefined
  } catch (error) {
    throw rejectionOrFault('ERR_AUTH_AUTHENTICATOR', error)
  }
}

/** A browser follows a redirect without showing its body. */
const onlyCookies: typeof giveTokens = (_, carrier, ...given) => {
  carrier.send(...given)
  return {}
}

function usableName(name: unknown, provider: string): string | number {
  if (name === null || name === undefined) throw unknownUser('username() returned none')
  if (isUsableName(name)) return name
  throw new TypeError(
    `loginWith.${provider}.username() returned a ${typeof name} that cannot be a username: expected a non-empty string of at most 1,024 bytes without control characters, a finite number, null or undefined.`,
  )
}

const unknownUser = (cause: string): Error =>
  rejection('auth.forbidden', { code: 'ERR_AUTH_LOGIN_REFUSED', cause })

export function redirectUris(
  { app }: Registration,
  { redirectUri: given }: ResolvedProvider,
  path: string,
): Routes['redirectUri'] {
  if (given !== undefined) return () => given
  const below = urlOf(app, path)
  let [text, href] = ['', '']
  return ({ protocol, host }) => {
    const uri = `${protocol}://${host}${below}`
    if (uri === text) return href
    // A host has 253 characters at most, and a port. Parsing an international name takes more time than its length suggests.
    const url = host.length > 260 ? null : parsedUrl(uri)
    if (url === null) return badRequest('headers/host must be a host')
    ;[text, href] = [uri, url.href]
    return href
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
