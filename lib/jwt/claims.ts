import { AuthnUsageError, refusal } from '../errors.js'
import type { TokenRules } from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Rules with every default in place. */
export interface ResolvedRules {
  readonly clockTolerance: number
  readonly requireExp: boolean
  readonly issuer: string | undefined
  readonly audience: readonly string[] | undefined
}

/** Rules of a verifier: its own, else those of the configuration, else the defaults. */
export function resolveRules(own: TokenRules, base?: ResolvedRules): ResolvedRules {
  const { audience } = own
  return {
    clockTolerance: own.clockTolerance ?? base?.clockTolerance ?? 0,
    requireExp: own.requireExp ?? base?.requireExp ?? true,
    issuer: own.issuer ?? base?.issuer,
    audience: audience === undefined ? base?.audience : [audience].flat(),
  }
}

/**
 * Judges the claims of a token whose signature is already verified (RFC 7519 §4.1).
 *
 * @param now - milliseconds since 1970
 * @throws AuthenticationError
 */
export function checkClaims(claims: JwtClaims, rules: ResolvedRules, now = Date.now()): void {
  const { exp, nbf } = claims as { exp?: unknown; nbf?: unknown }
  const tolerance = rules.clockTolerance
  const seconds = now / 1000
  if (exp === undefined ? rules.requireExp : !Number.isFinite(exp)) invalid('exp')
  if (nbf !== undefined && !Number.isFinite(nbf)) invalid('nbf')
  if (rules.issuer !== undefined && claims.iss !== rules.issuer) invalid('iss')
  if (rules.audience !== undefined && !meetsAudience(claims.aud, rules.audience)) invalid('aud')
  // "on or after": a token is dead in the very second of its exp (RFC 7519 §4.1.4).
  if (exp !== undefined && seconds >= (exp as number) + tolerance) {
    throw refusal('auth.jwt-expired')
  }
  if (nbf !== undefined && seconds < (nbf as number) - tolerance) {
    throw refusal('auth.jwt-not-valid-yet')
  }
}

function invalid(claim: string): never {
  throw refusal('auth.jwt-invalid', { cause: `claim ${claim}` })
}

/** RFC 7519 §4.1.3: a string, or an array of strings. */
function meetsAudience(aud: unknown, accepted: readonly string[]): boolean {
  const values: unknown[] = Array.isArray(aud) ? aud : [aud]
  return (
    values.every((value) => typeof value === 'string') &&
    values.some((value) => accepted.includes(value))
  )
}

/**
 * Claims whose times can be signed, in whole seconds.
 *
 * @throws ERR_AUTH_CLAIMS for a time that is none
 */
export function toSignable(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const payload = { ...claims }
  for (const claim of ['nbf', 'exp', 'iat']) {
    const value = payload[claim]
    if (value === undefined) continue
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) {
      throw new AuthnUsageError(
        'ERR_AUTH_CLAIMS',
        `claim "${claim}": found ${typeof value === 'number' ? value : typeof value}, expected seconds since 1970, 1 or more.`,
      )
    }
    payload[claim] = Math.floor(value)
  }
  return payload
}
