import type { FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { rejection, type AuthenticationError } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { levelClaims, sessionTokens, type SessionLevel } from './issue.js'
import {
  newRefreshToken,
  parseRefreshToken,
  seal,
  unseal,
  type RefreshToken,
} from './refresh-token.js'
import { revokeSessions, storeTimeout, type SessionTools } from './tools.js'
import { registrationOf } from '../request/registration.js'
import type { Registration } from '../feature.js'
import { tokensReport } from '../login/finish.js'
import { issuedAfter } from '../login/token.js'
import type { IssuedTokens } from '../tokens/issued.js'
import type { StoredSession } from '../../types/sessions.js'

/**
 * Exchanges a refresh token for new tokens, and publishes `success`.
 * @throws (rejects) ERR_AUTH_NO_CREDENTIALS, ERR_AUTH_REFRESH_INVALID, ERR_AUTH_REFRESH_REUSED,
 * ERR_AUTH_STORE_UNAVAILABLE, what {@link presentedSession}, the user service and `login.claims` throw
 */
export async function refreshSession(
  tools: SessionTools,
  request: FastifyRequest,
  text: string | null,
  started: number,
): Promise<IssuedTokens> {
  if (text === null) throw rejection('auth.no-credentials-provided', { cause: 'no refresh token' })
  const presented = await presentedSession(tools, request, text)
  const { user, name } = await ownerOf(tools, request, presented.session)
  const claims = await tools.claimsOf(name, request, user)
  if (String(claims.sub) !== presented.session.sub) {
    // If the "sub" changed, `revoke({ sub })` would not find the session.
    return revokeInvalid(tools, presented.session.sid, 'the user has another "sub" now')
  }
  // Everything that can fail comes before the swap: after the grace, another try of the client would count as theft.
  const report = tokensReport(registrationOf(tools.app) as Registration, user)
  const { sid, endsAt, data } = presented.session
  const level = levelClaims(JSON.parse(data) as SessionLevel)
  const now = Date.now() / 1000
  const { idle } = tools.settings
  const tokensFor = (remaining: number, refreshToken: Pick<RefreshToken, 'text'>): IssuedTokens =>
    sessionTokens(tools, { sid, claims, level, user, refreshToken, now, remaining })
  const asked = presented.ahead + performance.now() / 1000
  const made = tokensFor(Math.min(endsAt - asked, idle), presented.token)
  const swapped = await swapRefreshToken(tools, request, presented, 'refresh')
  const { refreshToken, session, now: used } = swapped
  // The session was revoked while the store was asked, or earlier, and the store has lost the revocation in a failover.
  if (tools.revocations.has(sid)) return revokeInvalid(tools, sid, 'session revoked')
  tools.counts.refreshed += 1
  report(request, 'refresh', started)
  const remaining = Math.min(endsAt, session.lastUsed + idle) - used
  const refreshExpiresIn = Math.max(0, Math.floor(remaining))
  // A repetition does not prolong the session, which may then expire before the token would.
  if (Math.floor(now) + Number(made.expiresIn) > now + remaining)
    return tokensFor(remaining, refreshToken)
  return { ...made, refreshToken: refreshToken.text, refreshExpiresIn }
}

/**
 * Finds the session of a refresh token, current or not. Anybody can make strings with a right checksum, so an address
 * that has sent too many wrong ones gets no look-up. `ahead` is the seconds by which the clock of the store is ahead of
 * `performance.now()`.
 */
export async function presentedSession(
  { app, client, lookups }: SessionTools,
  request: FastifyRequest,
  text: string,
) {
  const token = parseRefreshToken(text)
  if (token === null) throw invalidRefresh('no refresh token')
  const { attempts } = registrationOf(app) as Registration
  const handle = digestOf(token.handle)
  const { session, now } = await lookups.run(request, async () => {
    // The throttle is asked when the request has its turn, since those before it may have been wrong.
    await attempts.rejectThrottledToken(handle, request)
    return client.call((store) => store.find(handle))
  })
  if (session === null) throw invalidRefresh('no such session')
  return { token, session, ahead: now - performance.now() / 1000 }
}

/** Uses a refresh token. An old one revokes its session. `now` of the result is by the clock of the store. */
export async function swapRefreshToken(
  { client, registration, revocations, counts, settings, revocationTtl }: SessionTools,
  request: FastifyRequest,
  { token: presented, ahead }: Awaited<ReturnType<typeof presentedSession>>,
  route: 'login' | 'refresh' | 'logout',
) {
  const { grace, idle } = settings
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
    // This process gives up at the deadline, and the client would not get the token of a later swap.
    deadline: ahead + performance.now() / 1000 + timeout,
    revocationTtl,
  }
  const swapped = await client.call((store) => store.swap(swap), timeout)
  if (swapped.outcome === 'swapped') return { ...swapped, refreshToken: next }
  if (swapped.outcome === 'repeated') {
    try {
      return { ...swapped, refreshToken: unseal(swapped.sealed, presented) }
    } catch (error) {
      throw client.unavailable(error)
    }
  }
  if (swapped.outcome === 'reused') {
    const { sid, sub } = swapped.session
    revocations.add(sid, revocationTtl)
    counts.reused += 1
    channelOf('reuse').publish({ request, registration, authenticator: route, sid, sub })
    throw rejection('auth.refresh-reused')
  }
  throw swapped.outcome === 'late'
    ? client.unavailable(new Error('the store was asked too late'))
    : invalidRefresh('no such session')
}

/** Finds the user of a session, or revokes the session where there is none, or where it is no longer valid. */
export async function ownerOf(
  tools: SessionTools,
  request: FastifyRequest,
  { sid, sub, data }: StoredSession,
): Promise<{ readonly user: object; readonly name: string | number }> {
  const { begun, sub: name = sub } = JSON.parse(data) as { begun: number; sub?: number }
  const user = await tools.find(name, request)
  if (user === null) return revokeInvalid(tools, sid, 'user not found')
  if (begun >= issuedAfter(tools.tokenChecks, user)) return { user, name }
  return revokeInvalid(tools, sid, 'logged out since')
}

async function revokeInvalid(tools: SessionTools, sid: string, reason: string): Promise<never> {
  await revokeSessions(tools, { sid })
  throw invalidRefresh(reason)
}

function invalidRefresh(reason: string): AuthenticationError {
  return rejection('auth.refresh-invalid', { cause: reason })
}
