import * as Type from '@sinclair/typebox/type'
import type { FastifyRequest } from 'fastify'
import { localTokenIn } from '../authenticators/jwt.js'
import { isStored } from '../common/stored.js'
import { isAuthenticationError, rejection, rejectionOrFault } from '../errors/errors.js'
import { channelOf } from '../events.js'
import type { RouteBody } from '../http/plugin-route.js'
import { badRequest } from '../http/query.js'
import { hasStrongFactor, isListed, loggedOut, requireProof } from '../login/proof.js'
import { checkBody } from '../login/schema.js'
import { issuedAt } from '../login/token.js'
import { findUserOf, requireUser, withUserTimeout } from '../users/user.js'
import { attemptInvalid, type TokenUntil } from './attempt.js'
import { isPath } from '../login/return-to.js'
import type { Exchanged } from './exchange.js'
import type { Routes } from './provider.js'
import type { Own, Registration } from '../feature.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Tells these tokens from access tokens (RFC 8725 §3.11). */
const typ = 'link+jwt'

/** The token in the cookie of an attempt of a user who is logged in. A browser can forge all other parts of the cookie. */
export type SessionToken = JwtClaims & {
  readonly sub: string | number
  readonly sid: string
  /** What the session has proved, for a login, which replaces it; undefined for a link. */
  readonly proved?: Pick<Own, 'amr' | 'time'>
}

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
        401: 'The credentials are missing or not accepted, or more is needed.',
        403: 'No session of the user.',
      },
      accepts: [registration.authenticators.get('jwt') as Authenticator],
    },
  }) as const

/** Checks who asks for a link. @throws (rejects) as {@link requireProof} does */
export async function claimLink(
  { registration, method, path }: Routes,
  request: FastifyRequest,
): Promise<[returnTo: string | undefined, tokenUntil: TokenUntil]> {
  const { returnTo } = body.read(request.body)
  const { user, sub, sid, isMfa } = await requireProof(registration, request)
  const iat = issuedAt(Date.now() / 1000, user, registration.tokenChecks)
  return [returnTo, tokenMaker(registration, method, { sub, sid, path, iat, isMfa })]
}

const tokenMaker =
  ({ jwtService }: Registration, method: Routes['method'], claims: JwtClaims): TokenUntil =>
  (exp) =>
    jwtService.generateTokenWithClaims({ ...claims, exp }, method, { typ })

/** Makes the token of a login that replaces the session of the browser, which has one. */
export function inSession({ registration, method, path }: Routes, request: FastifyRequest) {
  try {
    const [first, ...others] = tokensIn(registration, request)
    if (first === undefined || others.length > 0) return undefined
    const claims = registration.jwtService.verify<SessionToken>(first, method, { audience: false })
    for (const check of registration.tokenChecks) check.claims?.(claims)
    const { sub, sid, iat, amr = [], auth_time: time, act } = claims
    const proved = { amr, time }
    const isOwn = sid !== undefined && act === undefined
    return isOwn ? tokenMaker(registration, method, { sub, sid, path, iat, proved }) : undefined
  } catch {
    // It has expired or was revoked: the login begins another session.
    return undefined
  }
}

/** The token of an attempt; null for a login without a session. @throws ERR_AUTH_LOGIN_STATE */
export function readToken({ registration, provider, method, path }: Routes, text: string) {
  if (text === '') return null
  try {
    const rules = { typ, requireExp: true }
    const token = registration.jwtService.verify<SessionToken>(text, method, rules)
    if (token.path !== path) throw new Error()
    // Never a login: the user has asked for something else.
    if (token.proved === undefined && provider.options.link === undefined) throw new Error()
    return token
  } catch (error) {
    const { code = 'it is of another provider or registration' } = error as { code?: string }
    throw attemptInvalid(`the token of the attempt: ${code}`)
  }
}

/** @throws (rejects) ERR_AUTH_LOGIN_STATE, ERR_AUTH_LINK_TAKEN, what `link` throws, and what a store or users fail with */
export async function link(
  routes: Routes,
  token: SessionToken,
  { claims, tokens }: Exchanged,
  request: FastifyRequest,
): Promise<void> {
  const { registration, provider } = routes
  const { options } = provider
  const user = await userOf(routes, token, request).catch((error: unknown) => {
    const isRejected = isAuthenticationError(error) && error.statusCode === 401
    throw isRejected ? attemptInvalid(error.cause ?? error.code) : error
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

/** Browsers add cached Basic credentials: such a header must not hide the cookie. */
function tokensIn({ tokenSources }: Registration, request: FastifyRequest): string[] {
  const found = [localTokenIn(request, []), ...tokenSources.map((each) => each.find(request))]
  return found.filter((each) => each !== null)
}

/** The user of a link. @throws if the session of the link was revoked, or if the request has another session */
async function userOf(
  { registration, method }: Routes,
  token: SessionToken,
  request: FastifyRequest,
) {
  const { options, tokenChecks, jwtService } = registration
  const user = requireUser(await findUserOf(options, token.sub, request))
  for (const each of tokenChecks) each.user?.(user, token)
  // A strong factor may have come since the link began.
  if (token.isMfa !== true && (await hasStrongFactor(registration, user)))
    throw loggedOut('its session had proved less than the user has to now')
  const isOther = (text: string): boolean => {
    try {
      // The audience of access tokens may be a rule of the authenticator alone.
      return jwtService.verify(text, method, { audience: false }).sid !== token.sid
    } catch {
      // A token that has expired says nothing.
      return false
    }
  }
  const isHere = !tokensIn(registration, request).some(isOther)
  if ((await isListed(registration, token)) && isHere) return user
  throw loggedOut('its session is gone, or not that of this browser')
}
