import { randomBytes } from 'node:crypto'
import { refusal, type AuthenticationError } from '../errors.js'
import { parseRefreshToken, type RefreshToken } from './refresh-token.js'
import type { Ends } from './ends.js'
import type { StoreAccess } from './store-access.js'
import type { ValidAfter } from '../users/valid-after.js'
import type { ResolvedSessions } from '../options/resolve.js'
import type { JwtServiceLike, SigningMethod } from '../../types/jwt.js'
import type { LoginOptions } from '../../types/login.js'
import type { SessionChoice } from '../../types/sessions.js'

/** What the sessions of a registration are made, refreshed and ended with. */
export interface SessionTools {
  readonly settings: Omit<ResolvedSessions, 'store'>
  readonly access: StoreAccess
  readonly ends: Ends
  readonly service: JwtServiceLike
  readonly method: SigningMethod | undefined
  /** Seconds for which access tokens are valid. */
  readonly expiry: number
  /** Seconds for which ends are kept: as long as any access token of the session can be accepted somewhere. */
  readonly keepEnd: number
  readonly claims: LoginOptions['claims']
  readonly validAfter: ValidAfter | null
  readonly counts: { begun: number; refreshed: number; reused: number }
}

/** A name that nobody can guess: 128 random bits. */
export function randomName(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * Ends sessions: in this process at once, in all others when the store tells them.
 *
 * @returns how many the store has ended
 * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE
 */
export async function endSessions(
  { access, ends, keepEnd }: Pick<SessionTools, 'access' | 'ends' | 'keepEnd'>,
  which: SessionChoice,
): Promise<number> {
  const ended = await access.ask((store) => store.end(which, keepEnd))
  // Also where the store knew no such session: it may have lost it.
  if ('sid' in which) ends.add(which.sid, keepEnd)
  for (const { sid } of ended) ends.add(sid, keepEnd)
  return ended.length
}

/** The refusal of a refresh token. @param reason - for the log */
export function invalidRefresh(reason: string): AuthenticationError {
  return refusal('auth.refresh-invalid', { cause: reason })
}

/** Reads a refresh token. @throws ERR_AUTH_REFRESH_INVALID */
export function requireRefreshToken(text: string): RefreshToken {
  const token = parseRefreshToken(text)
  if (token === null) throw invalidRefresh('no refresh token')
  return token
}
