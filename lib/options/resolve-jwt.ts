import { comparable } from '../common/typ.js'
import { AuthnUsageError } from '../errors.js'
import { check } from './check.js'
import { jwtSchema, tokenHeaderSchema, verifyRulesSchema } from './jwt-schemas.js'
import { defaults, filled, type Resolved } from './resolve.js'
import type { JwtConfig, TokenHeaderOptions, VerifyRules } from '../../types/jwt.js'

/** Rules of tokens, with every default in place. */
export interface ResolvedRules {
  readonly clockTolerance: number
  readonly requireExp: boolean
  readonly issuer: string | undefined
  readonly audience: readonly string[] | undefined
  /** As `comparable()` spells them; undefined stands for a token that has none. */
  readonly typ: ReadonlySet<string | null | undefined>
}

/** The option `jwt` with every default in place. */
export type ResolvedJwtConfig = Resolved<Omit<JwtConfig, keyof VerifyRules>, typeof defaults.jwt> &
  ResolvedRules & { readonly rememberTokens: typeof defaults.rememberTokens | false }

/**
 * Checks the option `jwt`, and adds the defaults.
 *
 * @throws ERR_AUTH_OPTION
 */
export function resolveJwtConfig(config: unknown): ResolvedJwtConfig {
  const checked = check<JwtConfig>(jwtSchema, config, 'jwt')
  const { secret, rsa, ecdsa, eddsa, rememberTokens } = checked
  if (!(secret !== undefined || rsa || ecdsa || eddsa)) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'option "jwt": no key is set. Set jwt.secret (is the environment variable that it comes from set?), jwt.rsa, jwt.ecdsa or jwt.eddsa, or leave "jwt" out.',
    )
  }
  return {
    ...filled(defaults.jwt, checked),
    ...fillRules(checked, { ...defaults.tokenRules, typ: defaults.typ }),
    rememberTokens: rememberTokens !== false && filled(defaults.rememberTokens, rememberTokens),
  }
}

/**
 * The rules of a verifier: its own, and for those not set, the rules of the service.
 *
 * @throws ERR_AUTH_OPTION
 */
export function resolveRules(own: unknown, base: ResolvedRules): ResolvedRules {
  return fillRules(check<VerifyRules>(verifyRulesSchema, own, 'rules'), base)
}

/**
 * Checks what a token shall say in its header.
 *
 * @throws ERR_AUTH_OPTION
 */
export function checkTokenHeader(header: unknown): TokenHeaderOptions {
  return check(tokenHeaderSchema, header, 'generateTokenWithClaims')
}

function fillRules(own: VerifyRules, base: ResolvedRules): ResolvedRules {
  const { clockTolerance, requireExp, issuer, audience, typ } = own
  return {
    clockTolerance: clockTolerance ?? base.clockTolerance,
    requireExp: requireExp ?? base.requireExp,
    issuer: issuer ?? base.issuer,
    audience: audience === undefined ? base.audience : [audience].flat(),
    typ: typ === undefined ? base.typ : new Set([typ].flat().map(comparable)),
  }
}
