import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { shortened } from '../http/shortened.js'
import { faultOf, rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { issuedAfter, issuedAt, type OwnClaims } from '../login/token.js'
import { loginExpired } from '../tokens/step.js'
import { newRefreshToken } from './refresh-token.js'
import { revokeSessions, type SessionTools } from './tools.js'
import type { IssueTokens } from '../feature.js'
import type { IssuedTokens } from '../tokens/issued.js'
import type { JwtClaims } from '../../types/request-extra.js'
import type { StoredSession } from '../../types/sessions.js'

/** A session that a login replaces. */
export interface Replaced {
  readonly session: StoredSession
  /**
   * Any other string than its refresh token changes nothing, and an old one is reuse, as it is everywhere.
   * @returns whether it was there
   */
  revoke(): Promise<boolean>
}

const randomName = (): string => randomBytes(16).toString('base64url')

/**
 * @param replaced - the session that it revokes, if it may begin only once; null for others, which have revoked it before
 * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE; ERR_AUTH_LOGIN_EXPIRED; AuthenticationFault; what `confirm` of the attempt throws
 */
export async function beginSession(
  tools: SessionTools,
  replaced: Replaced | null,
  ...[username, request, user, attempt, registration]: Parameters<IssueTokens>
): Promise<IssuedTokens> {
  const { lifetime, idle, maxPerUser: most } = tools.settings
  const { replaces, once } = attempt
  const claims = await tools.claimsOf(username, request, user)
  const { sub } = claims
  const isSameUser = replaced?.session.sub === String(sub)
  // There will not be one more than before.
  const maxPerUser = replaces === undefined ? most + Number(isSameUser) : 2 ** 31 - 1
  const sid = `${once?.name ?? randomName()}.${tools.tag}`
  const now = Date.now() / 1000
  const begun = Math.max(now, issuedAfter(tools.tokenChecks, user))
  // The store has `sub` as a string.
  const { time: authTime, amr } = attempt.authentication
  const data = { begun, authTime, amr, ...(typeof sub === 'number' && { sub }) }
  const remaining = Math.min(lifetime, idle)
  // Tokens are signed before the session is stored, so that claims that cannot be signed leave no session behind.
  const refreshToken = newRefreshToken()
  const level = levelClaims(data)
  const tokens = sessionTokens(tools, { sid, claims, level, user, refreshToken, now, remaining })
  const session = {
    sid,
    sub: String(sub),
    handle: digestOf(refreshToken.handle),
    current: digestOf(refreshToken.text),
    lifetime,
    idle,
    revocationTtl: tools.revocationTtl,
    maxPerUser,
    once: once === undefined ? 0 : Math.max(1, once.until - now),
    // Behind a proxy, this is the address of the client only with Fastify's `trustProxy`.
    address: shortened(request.ip, 64),
    userAgent: shortened(request.headers['user-agent'], 256),
    data: JSON.stringify(data),
  }
  const isRevokedHere = (): boolean => {
    const [at = -Infinity, on = -Infinity] = tools.userRevocations.get(session.sub) ?? []
    return attempt.began === undefined ? at > attempt.started : on > attempt.began
  }
  const revoked = (): Error => {
    const cause = 'sessions revoked meanwhile'
    if (once !== undefined) return loginExpired(cause)
    return rejection(replaces ? 'auth.logged-out' : 'auth.invalid-credentials', { cause })
  }
  // Storing it could end another session of the user, as one of too many.
  if (isRevokedHere()) throw revoked()
  const stored = await tools.client.call((store) => store.create(session))
  if (stored === null) throw loginExpired('it has begun a session before')
  const { began: date, started } = attempt
  const elapsed = date === undefined ? performance.now() - started : Math.max(0, Date.now() - date)
  // The login began at this time by the clock of the store, or a little later; that clock may count milliseconds.
  const began = stored.now + 0.001 - elapsed / 1000
  const { userRevocation: last } = stored
  const isRevoked = (): boolean => {
    // For its own revocations this process compares its own, more exact clock, unless it has forgotten them.
    const isOther = !tools.userRevocations.has(session.sub) || last?.by !== tools.instance
    return isRevokedHere() || (last !== null && isOther && last.at > began)
  }
  const endReplaced = async (): Promise<void> => {
    if ((await replaced?.revoke()) === false && isSameUser) await trim(tools, request, session.sub)
  }
  for (const each of stored.revoked) {
    tools.revocations.add(each.sid, tools.revocationTtl)
    reportRevoked(tools, request, each.sid, session.sub)
  }
  try {
    await attempt.confirm?.()
    if (isRevoked()) throw revoked()
    await attempt.use?.()
    // The e-mail is used up by now. If the store has become unavailable, the other session stays until it expires.
    if (replaced !== null) await endReplaced().catch(unlessUnavailable)
    // Only who revokes the old session may have the new one: a "log out everywhere" that came first has revoked both.
    if (replaces !== undefined && (await revokeSessions(tools, { sid: replaces })) === 0) {
      throw rejection('auth.logged-out', { cause: 'session revoked meanwhile' })
    }
    if (replaces !== undefined) await registration.attempts.guesses.carry(replaces, sid)
  } catch (error) {
    // The client has no token of the session; only lists would show it.
    await revokeSessions(tools, { sid }).catch(() => undefined)
    throw error
  }
  tools.counts.begun += 1
  return tokens
}

/** Of simultaneous logins that replace the same session, all but one have begun a session too many. */
async function trim(tools: SessionTools, request: FastifyRequest, sub: string): Promise<void> {
  const all = await tools.client.call((store) => store.list(sub))
  const tooMany = Math.max(0, all.length - tools.settings.maxPerUser)
  for (const { sid } of all.toSorted((one, other) => one.created - other.created).slice(0, tooMany))
    if ((await revokeSessions(tools, { sid })) > 0) reportRevoked(tools, request, sid, sub)
}

function unlessUnavailable(error: unknown): void {
  if ((error as { code?: unknown }).code !== 'ERR_AUTH_STORE_UNAVAILABLE') throw error
}

export function reportRevoked(of: SessionTools, request: FastifyRequest, sid: string, sub: string) {
  const what = { sid, sub, everywhere: false, revoked: 1, registration: of.registration }
  channelOf('logout').publish({ request, authenticator: 'login', ...what })
}

/** How the user of a session has authenticated: what its store has in `data` of it. */
export interface SessionLevel {
  /** When it began, in seconds since 1970. */
  readonly begun: number
  /** Set where that is known better, such as by a provider. */
  readonly authTime?: number | undefined
  readonly amr?: readonly string[] | undefined
}

/** The claims of RFC 9068 §2.2.1. They are the same after each refresh, which proves nothing new. */
export function levelClaims({ begun, authTime = begun, amr }: SessionLevel): Partial<JwtClaims> {
  return { auth_time: Math.floor(authTime), ...(amr && { amr }) }
}

interface TokenParts {
  readonly sid: string
  readonly claims: OwnClaims
  readonly level: Partial<JwtClaims>
  readonly user: object
  readonly refreshToken: { readonly text: string }
  /** The time at which they are issued: seconds since 1970 by the clock of this process. */
  readonly now: number
  /** Seconds from `now` until the session expires if it is not used. */
  readonly remaining: number
}

/** The access token never outlives the session. @throws AuthenticationFault where JSON cannot express the claims */
export function sessionTokens(
  { service, method, tokenChecks }: SessionTools,
  { sid, claims, level, user, refreshToken, now, remaining }: TokenParts,
): IssuedTokens {
  const nbf = Math.floor(now)
  const exp = Math.min(nbf + service.expiry, Math.floor(now + remaining))
  const own = { iat: issuedAt(now, user, tokenChecks), nbf, exp, jti: randomName(), sid }
  try {
    return {
      token: service.generateTokenWithClaims({ ...claims, ...level, ...own }, method),
      expiresIn: Math.max(0, exp - nbf),
      refreshToken: refreshToken.text,
      refreshExpiresIn: Math.max(0, Math.floor(remaining)),
    }
  } catch (error) {
    throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
  }
}
