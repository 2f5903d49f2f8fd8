import { AuthnUsageError } from '../errors.js'
import { defaults, filled, type Resolved } from './resolve.js'
import type { SessionsOptions } from '../../types/session-api.js'

/** The option `sessions` with every default in place; `store` is undefined for the memory of the process. */
export type ResolvedSessions = Resolved<SessionsOptions, typeof defaults.sessions>

/**
 * Adds the defaults to the option `sessions`.
 *
 * @returns null where there are to be none
 * @throws ERR_AUTH_OPTION when `idle` is longer than `lifetime`
 */
export function resolveSessions(
  given: SessionsOptions | boolean | undefined,
): ResolvedSessions | null {
  if (given === undefined || given === false) return null
  const resolved = filled(defaults.sessions, given === true ? {} : given)
  const { lifetime } = resolved
  const asked = given === true ? undefined : given.idle
  if (asked !== undefined && asked > lifetime) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      `option "sessions.idle": found ${asked} s, which is longer than "sessions.lifetime" (${lifetime} s) and has no effect. Lower "idle", or raise "lifetime".`,
    )
  }
  return { ...resolved, idle: Math.min(resolved.idle, lifetime) }
}
