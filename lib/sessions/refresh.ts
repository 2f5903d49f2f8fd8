import type { FastifyRequest } from 'fastify'
import { refusal } from '../errors.js'
import { channels } from '../events.js'
import { ownClaims, type OwnClaims } from '../login/claims.js'
import { findUser } from '../users/find.js'
import { readData } from './data.js'
import { digestOf, newRefreshToken, seal, unseal, type RefreshToken } from './refresh-token.js'
import { tokensOf } from './tokens.js'
import { endSessions, invalidRefresh, requireRefreshToken, type SessionTools } from './tools.js'
import type { GivenTokens, Registration } from '../registration.js'
import type { StoredSession } from '../../types/sessions.js'
import type { UserService } from '../../types/user-service.js'

/** The longest time, in seconds, that a swap may take. */
const longestSwap = 5

/** What came of a refresh. */
export interface Refreshed {
  readonly tokens: GivenTokens
  /** The stored user. */
  readonly user: object
}

/**
 * Exchanges a refresh token for new tokens.
 *
 * @throws (rejects) ERR_AUTH_REFRESH_INVALID, ERR_AUTH_REFRESH_REUSED, ERR_AUTH_STORE_UNAVAILABLE, and what the user
 * service and `login.claims` throw
 */
export async function refreshSession(
  tools: SessionTools,
  registration: Registration,
  request: FastifyRequest,
  text: string,
): Promise<Refreshed> {
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
  // It was ended while the store was asked.
  if (tools.ends.has(sid)) throw invalidRefresh('session ended')
  const remaining = Math.min(endsAt, lastUsed + tools.settings.idle) - exchanged.now
  tools.counts.refreshed += 1
  return { tokens: tokensOf(tools, { sid, claims, user, refreshToken, now, remaining }), user }
}

/** The token that a client gets in place of the one that it has presented. */
interface Exchanged {
  readonly refreshToken: RefreshToken
  readonly session: StoredSession
  /** When it was exchanged, by the clock of the store. */
  readonly now: number
}

/** @param storeNow - the time by the clock of the store, in seconds since 1970 */
async function exchange(
  { access, ends, counts, settings: { grace, idle }, keepEnd }: SessionTools,
  request: FastifyRequest,
  presented: RefreshToken,
  storeNow: number,
): Promise<Exchanged> {
  const next = newRefreshToken(presented.handle)
  // A client whose answer was lost comes again with the same token: there must be time left for that before it counts as
  // stolen.
  const patience = grace < 2 ? longestSwap : Math.min(longestSwap, grace / 2)
  const swap = {
    handle: digestOf(presented.handle),
    presented: digestOf(presented.text),
    next: digestOf(next.text),
    sealed: seal(next, presented),
    grace,
    idle,
    // From then on this process has given up: nobody would ever hear of what the store did later.
    deadline: storeNow + patience,
    keepEnd,
  }
  const swapped = await access.ask((store) => store.swap(swap), patience)
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
    ends.add(sid, keepEnd)
    counts.reused += 1
    channels.reuse.publish({ request, authenticator: 'refresh', sid, sub })
    throw refusal('auth.refresh-reused')
  }
  throw swapped.outcome === 'late'
    ? access.unavailable(new Error('the store was asked too late'))
    : invalidRefresh('no such session')
}

/** Finds the user of a session. The session is ended where there is none any more, or where it must not go on. */
async function ownerOf(
  tools: SessionTools,
  { options }: Registration,
  request: FastifyRequest,
  session: StoredSession,
): Promise<{ readonly user: object; readonly claims: OwnClaims }> {
  const { sid, sub, data } = session
  const over = async (reason: string): Promise<never> => {
    await endSessions(tools, { sid })
    throw invalidRefresh(reason)
  }
  // The store may have lost its newest writes, and with them the end of the session.
  if (tools.ends.has(sid)) return over('session ended')
  const { sub: name, begun } = readData(data, sub)
  const { userService, userServiceTimeout } = options
  const user = await findUser(userService as UserService, name, request, userServiceTimeout)
  if (user === null) return over('user not found')
  const { validAfter } = tools
  if (validAfter !== null && begun < validAfter.of(user)) return over('logged out since')
  const claims = await ownClaims(tools.claims, name, request, user)
  // With another `sub` in its tokens than in the store, `end({ sub })` would not find the session.
  return String(claims.sub) === sub ? { user, claims } : over('the user has another "sub" now')
}
