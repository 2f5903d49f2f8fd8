import { defaults } from '../options/resolve.js'
import { resolveRules, type ResolvedRules } from '../options/resolve-jwt.js'
import type { JwtServiceLike, SigningMethod, VerifyRules } from '../../types/jwt.js'

/** Describes which tokens a verifier accepts, to compare it with other verifiers. */
export interface TokenKind {
  /** Equal for equal keys. */
  readonly key: () => unknown
  readonly method: SigningMethod | undefined
  readonly audience: readonly string[] | undefined
  readonly issuer: string | undefined
  readonly typ: ResolvedRules['typ']
}

/** The kinds of tokens that a service accepts: one for each key. */
export function tokenKindsOf(
  service: JwtServiceLike,
  method: SigningMethod | undefined,
  rules: VerifyRules = {},
): TokenKind[] {
  const { issuer, audience } = service
  const base = { ...defaults.tokenRules, typ: defaults.typ, issuer, audience }
  const { clockTolerance: _, requireExp: __, ...accepted } = resolveRules(rules, base)
  return service.fingerprints(method).map((fingerprint) => ({
    ...accepted,
    key: () => fingerprint,
    method: fingerprint.split(' ')[0] as SigningMethod,
  }))
}
