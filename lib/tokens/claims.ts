import { AuthnUsageError, refusal } from '../errors.js'
import { invalidToken } from './invalid.js'
import type { ResolvedJwtConfig, ResolvedRules } from '../options/resolve-jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/**
 * Checks the claims of a token whose signature is already verified (RFC 7519 §4.1).
 *
 * @param now - milliseconds since 1970
 * @throws AuthenticationError
 */
export function checkClaims(claims: JwtClaims, rules: ResolvedRules, now = Date.now()): void {
  const { exp, nbf } = claims as { exp?: unknown; nbf?: unknown }
  const tolerance = rules.clockTolerance
  const seconds = now / 1000
  if (exp === undefined ? rules.requireExp : !Number.isFinite(exp)) throw invalidToken('claim exp')
  if (nbf !== undefined && !Number.isFinite(nbf)) throw invalidToken('claim nbf')
  if (rules.issuer !== undefined && claims.iss !== rules.issuer) throw invalidToken('claim iss')
  if (rules.audience !== undefined && !meetsAudience(claims.aud, rules.audience))
    throw invalidToken('claim aud')
  // RFC 7519 §4.1.4 refuses a token "on or after" its exp, so the very second of exp counts as expired.
  if (exp !== undefined && seconds >= (exp as number) + tolerance) {
    throw refusal('auth.jwt-expired')
  }
  if (nbf !== undefined && seconds < (nbf as number) - tolerance) {
    throw refusal('auth.jwt-not-valid-yet')
  }
}

/** @param aud - a string, or an array of strings (RFC 7519 §4.1.3) */
function meetsAudience(aud: unknown, accepted: readonly string[]): boolean {
  const values: unknown[] = Array.isArray(aud) ? aud : [aud]
  return (
    values.every((value) => typeof value === 'string') &&
    values.some((value) => accepted.includes(value))
  )
}

/**
 * The claims to sign: those of the caller, plus `nbf` and `exp`, plus `iss` and `aud` where they are configured.
 *
 * @throws ERR_AUTH_CLAIMS when `claims` is not an object, or when `nbf` or `exp` is not a number of seconds
 */
export function issued(
  claims: Readonly<Partial<JwtClaims>>,
  config: Pick<ResolvedJwtConfig, 'issuer' | 'audience' | 'expiry' | 'validAfterField'>,
): Record<string, unknown> {
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
    throw new AuthnUsageError('ERR_AUTH_CLAIMS', 'claims: expected an object.')
  }
  const { issuer, audience, expiry, validAfterField } = config
  const now = Math.floor(Date.now() / 1000)
  const payload: Record<string, unknown> = {
    ...(issuer !== undefined && { iss: issuer }),
    ...(audience !== undefined && { aud: audience.length === 1 ? audience[0] : audience }),
    ...claims,
  }
  // Not `{ nbf, exp, ...claims }`: `exp: undefined` from the caller would make a token that never expires.
  if (payload.nbf === undefined) payload.nbf = now
  if (payload.exp === undefined) payload.exp = now + expiry
  if (payload.iat === undefined && validAfterField !== undefined) payload.iat = now
  for (const claim of ['nbf', 'exp', 'iat']) {
    const value = payload[claim]
    if (value === undefined) continue
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) {
      const found = typeof value === 'number' ? value : typeof value
      const problem = `found ${found}, expected seconds since 1970, 1 or more.`
      throw new AuthnUsageError('ERR_AUTH_CLAIMS', `claim "${claim}": ${problem}`)
    }
    payload[claim] = Math.floor(value)
  }
  return payload
}
