import * as Type from '@sinclair/typebox/type'
import type { FastifyRequest } from 'fastify'
import { localTokenIn } from '../authenticators/jwt.js'
import { isStored } from '../common/stored.js'
import { isAuthenticationError, rejection, rejectionOrFault } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { requireLevel } from '../guard/level.js'
import type { RouteBody } from '../http/plugin-route.js'
import { badRequest } from '../http/query.js'
import { ownSession, requireRecentLogin } from '../login/own-session.js'
import { checkBody } from '../login/schema.js'
import { issuedAt } from '../login/token.js'
import { localClaimsOf, storedUser } from '../request/state.js'
import { findUserOf, requireUser, withUserTimeout } from '../users/user.js'
import { noAttempt, type TokenUntil } from './attempt.js'
import { isPath } from '../login/return-to.js'
import type { Exchanged } from './exchange.js'
import type { Routes } from './provider.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Tells these tokens from access tokens (RFC 8725 §3.11). */
const typ = 'link+jwt'

/**
 * The token in the cookie of an attempt that makes it a link, and names the user. A browser can forge all other parts of
 * the cookie.
 */
type LinkToken = JwtClaims & { readonly sub: string | number; readonly sid: string }

const body: RouteBody<{ readonly returnTo?: string }> = {
  schema: Type.Object({ returnTo: Type.Optional(Type.String()) }),
  read(value) {
    const given: { returnTo?: string } = value ?? {}
    checkBody(body.schema, given)
    if (isPath(given.returnTo ?? '/')) return given
    return badRequest('body/returnTo must be a path of this app')
  },
}
const location = { type: 'object', properties: { location: { type: 'string' } } }

/**
 * The route that begins a link. It is a POST, because a page of another site can make the browser send a GET. A script of
 * the app's page then opens the `location` of the response.
 */
export const linkRoute = ({ registration, provider }: Routes) =>
  ({
    kind: `link ${provider.options.name}`,
    method: 'POST',
    mark: { use: 'jwt' },
    body,
    notes: {
      responses: {
        200: { ...location, description: 'The address at the provider.' },
        401: 'The credentials are missing or not accepted, or the second factor is needed.',
        403: 'No session of the user, or its login is too old.',
      },
      accepts: [registration.authenticators.get('jwt') as Authenticator],
    },
  }) as const

/**
 * Checks who asks for a link.
 * @throws (rejects) ERR_AUTH_FORBIDDEN, ERR_AUTH_LOGIN_AGAIN, ERR_AUTH_INSUFFICIENT_AUTHENTICATION
 */
export async function claimLink(
  { registration, provider, method, path }: Routes,
  request: FastifyRequest,
): Promise<[returnTo: string | undefined, tokenUntil: TokenUntil]> {
  const { app, jwtService, tokenChecks, secondFactor } = registration
  const { returnTo } = body.read(request.body)
  const session = ownSession(app.authn.sessions, request)
  if (session === null) throw rejection('auth.forbidden', { cause: 'no session of the user' })
  requireRecentLogin(request)
  const user = storedUser(request) as object
  // The word of this provider takes the place of the second factor.
  const mfa = provider.options.mfa !== undefined && secondFactor?.isOn(user) === true
  requireLevel(request, { mfa })
  const { sub, sid } = localClaimsOf(request) as LinkToken
  const iat = issuedAt(Date.now() / 1000, user, tokenChecks)
  const sign = (exp: number): string =>
    jwtService.generateTokenWithClaims({ sub, sid, path, iat, exp }, method, { typ })
  return [returnTo, sign]
}

/** The token of an attempt; null for a login. @throws ERR_AUTH_LOGIN_STATE */
export function readLink({ registration, provider, method, path }: Routes, text: string) {
  if (text === '') return null
  // Never a login: the user has asked for something else.
  if (provider.options.link === undefined) throw noAttempt('the provider has no option "link"')
  try {
    const rules = { typ, requireExp: true }
    const token = registration.jwtService.verify<LinkToken>(text, method, rules)
    if (token.path === path) return token
  } catch (error) {
    throw noAttempt(`the token of the link: ${(error as { code?: string }).code}`)
  }
  throw noAttempt('the token of the link is of another provider or registration')
}

/** @throws (rejects) ERR_AUTH_LOGIN_STATE, ERR_AUTH_LINK_TAKEN, what `link` throws, and what a store or users fail with */
export async function link(
  routes: Routes,
  token: LinkToken,
  { claims, tokens }: Exchanged,
  request: FastifyRequest,
): Promise<void> {
  const { registration, provider } = routes
  const { options } = provider
  const user = await userOf(routes, token, request).catch((error: unknown) => {
    const isRejected = isAuthenticationError(error) && error.statusCode === 401
    throw isRejected ? noAttempt(error.cause ?? error.code) : error
  })
  const ask = async (): Promise<boolean> => {
    const result: unknown = await options.link?.(claims, user, request, tokens)
    if (result instanceof Error) throw result
    const isLinked = isStored(result, 'ERR_AUTH_USER_SERVICE', `loginWith.${options.name}.link`)
    // Also after the time-out: what is stored then stays.
    const about = { registration: registration.name, provider: options.name, request }
    if (isLinked) channelOf('link').publish({ ...about, sub: String(token.sub) })
    return isLinked
  }
  const { userServiceTimeout } = registration.options
  const isLinked = await withUserTimeout(ask(), userServiceTimeout).catch((error: unknown) => {
    throw rejectionOrFault('ERR_AUTH_USER_SERVICE', error)
  })
  if (!isLinked) throw rejection('auth.link-taken')
}

/** The user of a link. @throws if the session of the link was revoked, or if the request has another session */
async function userOf({ registration, method }: Routes, token: LinkToken, request: FastifyRequest) {
  const { app, options, tokenChecks, tokenSources, jwtService } = registration
  const user = requireUser(await findUserOf(options, token.sub, request))
  for (const each of tokenChecks) each.user?.(user, token)
  const sessions = await app.authn.sessions.list(token.sub)
  const isOther = (text: string | null): boolean => {
    try {
      // The audience of access tokens may be a rule of the authenticator alone.
      return jwtService.verify(String(text), method, { audience: false }).sid !== token.sid
    } catch {
      // A token that has expired says nothing.
      return false
    }
  }
  // Browsers add cached Basic credentials: such a header must not hide the cookie.
  const present = [localTokenIn(request, []), ...tokenSources.map((each) => each.find(request))]
  if (sessions.some(({ sid }) => sid === token.sid) && !present.some(isOther)) return user
  throw rejection('auth.logged-out', { cause: 'its session is gone, or not that of this browser' })
}
