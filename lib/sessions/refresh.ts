import type { FastifyRequest } from 'fastify'
import { refusal } from '../errors.js'
import { channels } from '../events.js'
import { ownClaims, type OwnClaims } from '../login/token.js'
import { findUser } from '../users/user.js'
import { sessionTokens, type SessionData } from './issue.js'
import { digestOf, newRefreshToken, seal, unseal, type RefreshToken } from './refresh-token.js'
import {
  invalidRefresh,
  requireRefreshToken,
  revokeSessions,
  storeTimeout,
  type SessionTools,
} from './tools.js'
import { issuedAfter, type IssuedTokens } from '../feature.js'
import type { Registration } from '../registration.js'
import type { StoredSession } from '../../types/sessions.js'
import type { UserService } from '../../types/user-service.js'

/**
 * Exchanges a refresh token for new tokens.
 *
 * @returns the tokens, and the stored user
 * @throws (rejects) ERR_AUTH_REFRESH_INVALID, ERR_AUTH_REFRESH_REUSED, ERR_AUTH_STORE_UNAVAILABLE, and what the user
 * service and `login.claims` throw
 */
export async function refreshSession(
  tools: SessionTools,
  registration: Registration,
  request: FastifyRequest,
  text: string,
): Promise<{ readonly tokens: IssuedTokens; readonly user: object }> {
  const presented = requireRefreshToken(text)
  const handle = digestOf(presented.handle)
  const found = await tools.access.ask((store) => store.find(handle))
  const foundAt = performance.now()
  if (found.session === null) throw invalidRefresh('no such session')
  const { user, claims } = await ownerOf(tools, registration, request, found.session)
  const now = Date.now() / 1000
  const storeNow = found.now + (performance.now() - foundAt) / 1000
  const exchanged = await exchange(tools, request, presented, storeNow)
  const { refreshToken } = exchanged
  const { sid, endsAt, lastUsed } = exchanged.session
  // It may have been revoked while the store was asked.
  if (tools.revocations.has(sid)) throw invalidRefresh('session revoked')
  const remaining = Math.min(endsAt, lastUsed + tools.settings.idle) - exchanged.now
  tools.counts.refreshed += 1
  return { tokens: sessionTokens(tools, { sid, claims, user, refreshToken, now, remaining }), user }
}

/**
 * @param storeNow - the time by the clock of the store, in seconds since 1970
 * @returns the token that the client gets in place of the presented one, and when, by the clock of the store
 */
async function exchange(
  { access, revocations, counts, settings: { grace, idle }, revocationTtl }: SessionTools,
  request: FastifyRequest,
  presented: RefreshToken,
  storeNow: number,
): Promise<{ refreshToken: RefreshToken; session: StoredSession; now: number }> {
  const next = newRefreshToken(presented.handle)
  // A client that lost the response sends the same token again: within the grace, there must be time left for that.
  const timeout = grace < 2 ? storeTimeout : Math.min(storeTimeout, grace / 2)
  const swap = {
    handle: digestOf(presented.handle),
    presented: digestOf(presented.text),
    next: digestOf(next.text),
    sealed: seal(next, presented),
    grace,
    idle,
    // Then this process gives up, and the client would not get the token of a later swap.
    deadline: storeNow + timeout,
    revocationTtl,
  }
  const swapped = await access.ask((store) => store.swap(swap), timeout)
  if (swapped.outcome === 'swapped') return { ...swapped, refreshToken: next }
  if (swapped.outcome === 'repeated') {
    try {
      return { ...swapped, refreshToken: unseal(swapped.sealed, presented) }
    } catch (error) {
      throw access.unavailable(error)
    }
  }
  if (swapped.outcome === 'reused') {
    const { sid, sub } = swapped.session
    revocations.add(sid, revocationTtl)
    counts.reused += 1
    channels.reuse.publish({ request, authenticator: 'refresh', sid, sub })
    throw refusal('auth.refresh-reused')
  }
  throw swapped.outcome === 'late'
    ? access.unavailable(new Error('the store was asked too late'))
    : invalidRefresh('no such session')
}

/** Finds the user of a session, or revokes the session where there is none, or where it is no longer valid. */
async function ownerOf(
  tools: SessionTools,
  { options }: Registration,
  request: FastifyRequest,
  { sid, sub, data }: StoredSession,
): Promise<{ readonly user: object; readonly claims: OwnClaims }> {
  const revoke = async (reason: string): Promise<never> => {
    await revokeSessions(tools, { sid })
    throw invalidRefresh(reason)
  }
  // The store may have lost the revocation with its newest writes.
  if (tools.revocations.has(sid)) return revoke('session revoked')
  const { begun, sub: name = sub } = JSON.parse(data) as SessionData & { sub?: string | number }
  const { userService, userServiceTimeout } = options
  const user = await findUser(userService as UserService, name, request, userServiceTimeout)
  if (user === null) return revoke('user not found')
  if (begun < issuedAfter(tools.tokenChecks, user)) return revoke('logged out since')
  const claims = await ownClaims(tools.claims, name, request, user)
  // Otherwise `revoke({ sub })` would not find the session.
  return String(claims.sub) === sub ? { user, claims } : revoke('the user has another "sub" now')
}
