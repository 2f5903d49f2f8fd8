import type { FastifyRequest } from 'fastify'
import { testGrants } from '../common/kit.js'
import { isAuthenticationError, rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { isMfa, requireLevel } from '../guard/level.js'
import { issuedAfter, type OwnClaims } from './token.js'
import { localClaimsOf, storedUser } from '../request/state.js'
import { findUserOf, requireUser } from '../users/user.js'
import type { Own, Registration } from '../feature.js'
import type { Guessed } from '../throttle/guesses.js'
import type { UserService } from '../../types/user-service.js'

/** Seconds for which an authentication is recent enough to change how a user logs in. */
export const recent = 600

/** Wrong passwords, codes and passkeys of a session, the last of which revokes it. */
const mostGuesses = 5

/** The session of a request; null also where another user acts as its user (RFC 8693 §4.1). */
export function ownSession({ app }: Registration, request: FastifyRequest): Own | null {
  const session = app.authn.sessions.of(request)
  if (session === null) return null
  // A request with a session has a token of this app, and so its claims and its user.
  const claims = localClaimsOf(request) as OwnClaims & { auth_time: number; amr?: string[] }
  if (Object.hasOwn(claims, 'act')) return null
  const { sub, amr = [], auth_time: time } = claims
  const user = storedUser<object>(request) as object
  return { user, sub, sid: session.id, amr, time, isMfa: isMfa(claims, {}) }
}

/** @throws ERR_AUTH_FORBIDDEN where {@link ownSession} is null */
export function requireOwnSession(registration: Registration, request: FastifyRequest): Own {
  const own = ownSession(registration, request)
  if (own === null) throw rejection('auth.forbidden', { cause: 'not a session of the user' })
  return own
}

/**
 * For what changes how a user logs in: a session that is `mfa` if the user has a second factor or a passkey.
 * @param hasPassword - whether the request has the current password. Otherwise, the authentication has to be recent
 * @throws (rejects) as {@link requireOwnSession}; ERR_AUTH_INSUFFICIENT_AUTHENTICATION; the error of an option that fails
 */
export async function requireProof(
  registration: Registration,
  request: FastifyRequest,
  hasPassword = false,
): Promise<Own> {
  const own = requireOwnSession(registration, request)
  const mfa = own.isMfa || (await hasStrongFactor(registration, own.user))
  requireLevel(request, { mfa, fresh: hasPassword ? null : recent })
  return own
}

export async function hasStrongFactor({ strongFactors }: Registration, user: object) {
  for (const has of strongFactors) if (await has(user)) return true
  return false
}

export const loggedOut = (cause: string): Error => rejection('auth.logged-out', { cause })

/**
 * Called directly before the app stores something: another process may have revoked the session since the request began,
 * and this one not have heard of it. @throws (rejects) ERR_AUTH_JWT_INVALID, ERR_AUTH_STORE_UNAVAILABLE
 */
export async function requireAlive(registration: Registration, request: FastifyRequest) {
  // The sessions of `actingAs()` are in no store.
  if (testGrants.has(request)) return
  const own = requireOwnSession(registration, request)
  if (!(await isListed(registration, own))) throw loggedOut('session revoked meanwhile')
  const { options, tokenChecks } = registration
  // Another request may have set `jwt.validAfterField`, which is a field of the user.
  if (tokenChecks.every((each) => each.user === undefined)) return
  const user = requireUser(await findUserOf(options, own.sub, request))
  for (const each of tokenChecks) each.user?.(user, localClaimsOf(request) as OwnClaims)
}

export async function isListed({ app }: Registration, { sub, sid }: Pick<Own, 'sub' | 'sid'>) {
  const sessions = await app.authn.sessions.list(sub)
  return sessions.some((each) => each.sid === sid)
}

/**
 * Makes the check of the password of a user who is logged in.
 * @returns a function that rejects with ERR_AUTH_CURRENT_PASSWORD. For its `isLast`, see {@link guess}
 */
export function currentPasswordCheck({ options, passwords, tokenChecks, attempts }: Registration) {
  const service = options.userService as UserService
  // Without updatePasswordHash: a hash that is replaced now would no longer be that of the account to be changed.
  const findByUsername: UserService['findByUsername'] = (name, request) => {
    // The check has names as strings, and an app may find numeric ids as numbers only.
    const { sub } = localClaimsOf(request) as OwnClaims
    return service.findByUsername(String(sub) === name ? sub : name, request)
  }
  const users = { userService: { findByUsername }, passwordField: options.passwordField }
  const validAfter = (user: object): number => issuedAfter(tokenChecks, user)
  const counted = passwords.loginCheck(users, validAfter)
  const uncounted = passwords.loginCheck({ ...users, throttle: null }, validAfter)
  return async (name: string, password: string, request: FastifyRequest, isLast: boolean) => {
    if (isLast) await attempts.openAttempt(name, password, request).rejectIfThrottled(true)
    try {
      return await (isLast ? uncounted : counted)(name, password, request)
    } catch (error) {
      const { code } = error as { code?: unknown }
      throw code === 'ERR_AUTH_INVALID_CREDENTIALS' ? rejection('auth.current-password') : error
    }
  }
}

/** Errors of what is no guess, such as a code that was sent twice. */
const harmless = new WeakSet<Error>()

export function noGuess<T extends Error>(error: T): T {
  harmless.add(error)
  return error
}

const wrong = new Set(['CURRENT_PASSWORD', 'CODE_INVALID', 'PASSKEY_INVALID', 'MAIL_CODE_INVALID'])

const isWrong = (error: unknown): boolean =>
  isAuthenticationError(error) && wrong.has(error.code.slice(9)) && !harmless.has(error)

/**
 * Counts what is wrong for the session, and revokes it after the fifth: who has copied it can neither guess on nor use up
 * the tries of the owner.
 * @param check - `isLast`: the one that is wrong then is not counted for the user
 * @throws (rejects) what `check` throws; ERR_AUTH_JWT_INVALID for the fifth
 */
export async function guess<T>(
  { app, name: registration, attempts: { guesses } }: Registration,
  request: FastifyRequest,
  { sid, sub }: Own,
  kind: Guessed,
  check: (isLast: boolean) => Promise<T>,
): Promise<T> {
  const end = async (): Promise<never> => {
    const revoked = await app.authn.sessions.revoke({ sid })
    const about = { sid, sub: String(sub), everywhere: false, revoked, registration }
    channelOf('logout').publish({ request, authenticator: 'confirm', ...about })
    throw loggedOut('five wrong guesses in this session')
  }
  const number = await guesses.count(sid, kind)
  if (number > mostGuesses) {
    await guesses.takeBack(sid, kind)
    // The store was away when the fifth was to revoke the session.
    if (guesses.isOver(sid)) await end()
    throw loggedOut('too many guesses at once in this session')
  }
  try {
    const result = await check(number === mostGuesses)
    await guesses.forget(sid, kind)
    return result
  } catch (error) {
    if (!isWrong(error)) await guesses.takeBack(sid, kind)
    if (!isWrong(error) || number < mostGuesses) throw error
    guesses.end(sid)
    return await end()
  }
}
