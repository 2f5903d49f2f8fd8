import { ownProperty } from '../common/objects.js'
import { AuthenticationError, AuthnUsageError, rejection } from '../errors/errors.js'
import type { ResolvedJwtConfig, ResolvedRules } from '../options/resolve-jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Checks the claims of a token with a valid signature (RFC 7519 §4.1). @param now - milliseconds since 1970 */
export function checkClaims(claims: JwtClaims, rules: ResolvedRules, now = Date.now()): void {
  const { exp, nbf } = claims as { exp?: unknown; nbf?: unknown }
  const tolerance = rules.clockTolerance
  const seconds = now / 1000
  if (exp === undefined ? rules.requireExp : !Number.isFinite(exp)) throw invalidToken('claim exp')
  if (nbf !== undefined && !Number.isFinite(nbf)) throw invalidToken('claim nbf')
  if (rules.issuer !== undefined && claims.iss !== rules.issuer) throw invalidToken('claim iss')
  if (!meetsAudience(claims, rules.audience)) throw invalidToken('claim aud')
  // A token that is bound to a key of its sender is no bearer token (RFC 7800, RFC 8705 §3, RFC 9449 §6).
  if (Object.hasOwn(claims, 'cnf')) throw invalidToken('claim cnf')
  // RFC 7519 §4.1.4 rejects a token "on or after" its exp, so at that second it has expired.
  if (exp !== undefined && seconds >= (exp as number) + tolerance) {
    throw rejection('auth.jwt-expired')
  }
  if (nbf !== undefined && seconds < (nbf as number) - tolerance) {
    throw rejection('auth.jwt-not-valid-yet')
  }
}

/**
 * Kinds of tokens that authenticate no request: ID tokens, refresh tokens (`Offline` in Keycloak), logout tokens, and
 * what apps send by e-mail or issue between a password and a second factor.
 */
const foreignKind =
  /^(?:application\/)?id(?![a-z])|id[-_ ]?token|refresh|offline|logout|reset|forgot|recover|verify|verification|confirm(?!ed)|activat(?:e(?!d)|ion)|invit(?:e(?!d)|ation)|magic|mfa|2fa|(?:2|two|second|multi)[-_ ]?factor|(?<![a-z])t?otp|otp(?![a-z])/i

const kindClaims = ['typ', 'token_use', 'token_type', 'type']

/** Checks what a token says that it is for: one for another purpose may have our key and our audience. */
export function checkKind(claims: JwtClaims): void {
  const { typ, token_use: use, token_type: kind, type } = claims
  // Most tokens have none of them, and looking for own members takes longer.
  if (typ === undefined && use === undefined && kind === undefined && type === undefined) return
  for (const claim of kindClaims) {
    const value = ownProperty(claims, claim)
    if (value === undefined) continue
    // An app may store the number of a user's kind in `type`.
    const isForeign = typeof value === 'string' ? foreignKind.test(value) : claim !== 'type'
    if (isForeign) throw invalidToken(`claim ${claim}`)
  }
}

/**
 * RFC 7519 §4.1.3: `aud` is a string, or an array of strings. A token with an `aud` in which we do not find ourselves
 * is not for us, also where we have no name.
 */
function meetsAudience(claims: JwtClaims, accepted: ResolvedRules['audience']): boolean {
  if (accepted === false) return true
  if (accepted === undefined) return !Object.hasOwn(claims, 'aud')
  const { aud } = claims
  const values: unknown[] = Array.isArray(aud) ? aud : [aud]
  return (
    values.every((value) => typeof value === 'string') &&
    values.some((value) => accepted.includes(value))
  )
}

/**
 * The claims to sign: those of the caller, plus `nbf` and `exp`, plus `iss` and `aud` where they are configured.
 * @throws ERR_AUTH_CLAIMS when `claims` is not an object, or when `nbf` or `exp` is not a number of seconds
 */
export function claimsToSign(
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
    ...(audience && { aud: audience.length === 1 ? audience[0] : audience }),
    ...claims,
  }
  // In `{ nbf, exp, ...claims }`, `exp: undefined` from the caller would make a token that never expires.
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

/**
 * The keys are checked at startup, so that only the client's bytes can make the engine throw: whatever its error is,
 * the token is invalid. That error is not the cause, because some of its messages quote the token.
 */
export function invalidToken(reason: unknown): AuthenticationError {
  if (typeof reason === 'string') return rejection('auth.jwt-invalid', { cause: reason })
  const { code } = Object(reason) as { code?: unknown }
  // The engine has codes such as FAST_JWT_INVALID_SIGNATURE.
  const words = /^FAST_JWT_([A-Z_]+)$/.exec(String(code))?.[1] ?? 'MALFORMED'
  return rejection('auth.jwt-invalid', { cause: words.toLowerCase().replaceAll('_', ' ') })
}

/**
 * Decodes the header (0) or the claims (1) of a token in the compact serialization (RFC 7515 §7.1); null where that
 * part is no JSON object. Nothing is verified: the sender may have written anything. Of a member that occurs twice, the
 * last value counts (RFC 7515 §4), as for the engine.
 */
export function unverifiedPart(token: string, part: 0 | 1): Record<string, unknown> | null {
  const encoded = token.split('.', 2)[part] ?? ''
  try {
    const decoded: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString())
    if (typeof decoded !== 'object' || decoded === null || Array.isArray(decoded)) return null
    // The copy has no prototype, so that a polluted Object.prototype adds no members.
    return Object.assign(Object.create(null), decoded) as Record<string, unknown>
  } catch {
    return null
  }
}
