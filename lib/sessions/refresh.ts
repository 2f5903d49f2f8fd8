import type { FastifyRequest } from 'fastify'
import { refusal } from '../errors.js'
import { ownClaims, type OwnClaims } from '../login/claims.js'
import { findUser } from '../users/find.js'
import { readData } from './data.js'
import { digestOf, newRefreshToken, parseRefreshToken, seal, unseal } from './refresh-token.js'
import { tokensOf } from './tokens.js'
import { endSessions, invalidRefresh, type SessionTools } from './tools.js'
import type { RefreshToken } from './refresh-token.js'
import type { GivenTokens, Registration } from '../registration.js'
import type { StoredSession, Swapped } from '../../types/sessions.js'
import type { UserService } from '../../types/user-service.js'

/** The longest time, in seconds, that a swap may take. */
const longestSwap = 5

/** What came of a refresh. */
export interface Refreshed {
  readonly tokens: GivenTokens
  /** The stored user. */
  readonly user: object
}

/** A refresh on its way. */
interface Turn {
  readonly tools: SessionTools
  readonly presented: RefreshToken
  readonly next: RefreshToken
  readonly user: object
  readonly claims: OwnClaims
  /** Seconds since 1970 by the clock of this process, before the swap. */
  readonly now: number
}

/** Called when an old token was used, and the session has been ended. */
export type WhenReused = (session: StoredSession) => void

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
  presented: RefreshToken,
  whenReused: WhenReused,
): Promise<Refreshed> {
  const handle = digestOf(presented.handle)
  const { session, now: storeNow } = await tools.access.ask((store) => store.find(handle))
  const foundAt = performance.now()
  if (session === null) throw invalidRefresh('no such session')
  const { user, claims } = await ownerOf(tools, registration, request, session)
  const next = newRefreshToken(presented.handle)
  const turn = { tools, presented, next, user, claims, now: Date.now() / 1000 }
  const { settings, keepEnd } = tools
  const patience = patienceOf(settings.grace)
  const swap = {
    handle,
    presented: digestOf(presented.text),
    next: digestOf(next.text),
    sealed: seal(next, presented),
    grace: settings.grace,
    idle: settings.idle,
    // Then this process has given up: what the store did later, nobody would ever hear of.
    deadline: storeNow + (performance.now() - foundAt) / 1000 + patience,
    keepEnd,
  }
  const swapped = await tools.access.ask((store) => store.swap(swap), patience)
  return { tokens: conclude(turn, swapped, whenReused), user }
}

/**
 * How long a swap may take. A client whose answer was lost comes again with the same token: there must be time left
 * for that before it counts as stolen.
 */
function patienceOf(grace: number): number {
  return grace < 2 ? longestSwap : Math.min(longestSwap, grace / 2)
}

/** Asks the user service whether there still is a user. Whose user is gone has no session any more. */
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
  // A store that has lost its newest writes may not know it.
  if (tools.ends.has(sid)) return over('session ended')
  const { sub: name, begun } = readData(data, sub)
  const { userService, userServiceTimeout } = options
  const user = await findUser(userService as UserService, name, request, userServiceTimeout)
  if (user === null) return over('user not found')
  const { validAfter } = tools
  if (validAfter !== null && begun < validAfter.of(user)) return over('logged out since')
  const claims = await ownClaims(tools.claims, name, request, user)
  // The session could not be ended by the name that its tokens would have from now on.
  return String(claims.sub) === sub ? { user, claims } : over('the user has another "sub" now')
}

/** What a client gets for each outcome of a swap. */
const answers: {
  readonly [Outcome in Swapped['outcome']]: (
    turn: Turn,
    swapped: Swapped & { readonly outcome: Outcome },
    whenReused: WhenReused,
  ) => GivenTokens
} = {
  swapped: (turn, { session, now }) => tokensFor(turn, turn.next, session, now),
  repeated(turn, { session, now, sealed }) {
    let next: RefreshToken
    try {
      next = unseal(sealed, turn.presented)
    } catch (error) {
      throw turn.tools.access.unavailable(error)
    }
    return tokensFor(turn, next, session, now)
  },
  reused({ tools }, { session }, whenReused) {
    tools.ends.add(session.sid, tools.keepEnd)
    tools.counts.reused += 1
    whenReused(session)
    throw refusal('auth.refresh-reused')
  },
  unknown() {
    throw invalidRefresh('no such session')
  },
  late({ tools }) {
    throw tools.access.unavailable(new Error('the store was asked too late'))
  },
}

function conclude(turn: Turn, swapped: Swapped, whenReused: WhenReused): GivenTokens {
  const answer = answers[swapped.outcome] as (
    turn: Turn,
    swapped: Swapped,
    whenReused: WhenReused,
  ) => GivenTokens
  return answer(turn, swapped, whenReused)
}

function tokensFor(
  { tools, user, claims, now }: Turn,
  refreshToken: RefreshToken,
  { sid, endsAt, lastUsed }: StoredSession,
  storeNow: number,
): GivenTokens {
  // It was ended while the store was asked.
  if (tools.ends.has(sid)) throw invalidRefresh('session ended')
  const remaining = Math.min(endsAt, lastUsed + tools.settings.idle) - storeNow
  tools.counts.refreshed += 1
  return tokensOf(tools, { sid, claims, user, refreshToken, now, remaining })
}

/** Reads a refresh token. @throws ERR_AUTH_REFRESH_INVALID */
export function requireRefreshToken(text: string): RefreshToken {
  const token = parseRefreshToken(text)
  if (token === null) throw invalidRefresh('no refresh token')
  return token
}
