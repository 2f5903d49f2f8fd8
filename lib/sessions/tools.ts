import { randomBytes } from 'node:crypto'
import type { Revocations } from './revocations.js'
import type { UserRevocations } from './user-revocations.js'
import type { TokenCheck } from '../feature.js'
import type { ClaimsOf } from '../login/token.js'
import type { ResolvedSessions } from '../options/resolve.js'
import type { StoreAccess } from '../stores/store-access.js'
import type { JwtService } from '../tokens/service.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { SessionChoice, SessionStore } from '../../types/sessions.js'

/** Seconds that a call of the store may take. */
export const storeTimeout = 5

/** Shared by the functions that begin, refresh and revoke the sessions of a registration. */
export interface SessionTools {
  readonly settings: Omit<ResolvedSessions, 'store'>
  /** The end of the names of its sessions, which tells them from those of other registrations with the same key. */
  readonly tag: string
  readonly access: StoreAccess<SessionStore>
  readonly revocations: Revocations
  readonly userRevocations: UserRevocations
  readonly service: JwtService
  readonly method: SigningMethod | undefined
  /** Seconds for which revocations are kept: until no authenticator accepts an access token of the session any more. */
  readonly revocationTtl: number
  readonly claimsOf: ClaimsOf
  readonly tokenChecks: readonly TokenCheck[]
  readonly counts: { begun: number; refreshed: number; reused: number }
}

/** Whether a session is one of this registration: others may have the same key. */
export function isOwnSession({ tag }: Pick<SessionTools, 'tag'>, sid: string): boolean {
  return sid.endsWith(`.${tag}`)
}

/** 128 random bits. */
export function randomName(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * Revokes sessions: in this process at once, in all others when the store reports it.
 *
 * @returns how many the store has revoked
 * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE
 */
export async function revokeSessions(
  { access, revocations, userRevocations, revocationTtl }: SessionTools,
  which: SessionChoice,
): Promise<number> {
  // Before the sessions are, so that a login that stores its session at this moment finds the revocation.
  if ('sub' in which) await access.ask((store) => userRevocations.add(store, which.sub))
  const revoked = await access.ask((store) => store.revoke(which, revocationTtl))
  // Also where the store has no such session, which it may have lost.
  if ('sid' in which) revocations.add(which.sid, revocationTtl)
  for (const { sid } of revoked) revocations.add(sid, revocationTtl)
  return revoked.length
}
