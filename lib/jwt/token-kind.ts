import { createHmac } from 'node:crypto'
import { kindOf } from '../common/kit.js'
import { comparable } from '../common/typ.js'
import { defaults } from '../options/resolve.js'
import type { ResolvedRules } from '../options/resolve-jwt.js'
import type { LoadedKey } from './keys/ring.js'
import type { JwtServiceLike, SigningMethod, VerifyRules } from '../../types/jwt.js'

/** Describes which tokens a verifier accepts, to compare it with other verifiers. */
export interface TokenKind {
  /** Equal for equal keys. A digest, so that it does not contain the key. */
  readonly key: unknown
  readonly method: SigningMethod
  readonly audience: readonly string[] | undefined
  readonly issuer: string | undefined
  /** What they are for; undefined stands for those that do not say it. */
  readonly typ: ResolvedRules['typ']
}

/** The kind of tokens that are accepted with a key and these rules. */
export function kindOfKey(
  key: LoadedKey | undefined,
  method: SigningMethod,
  { audience, issuer, typ }: ResolvedRules,
): TokenKind {
  // HMAC and not a plain hash: HMAC pads its keys with zeros, so keys that make the same signatures are equal here too.
  const digest = key && createHmac('sha256', key.verify).update('fastify-authn').digest('hex')
  return { key: digest, method, audience, issuer, typ }
}

/**
 * The kind of tokens that a service accepts.
 *
 * @param method - default: the signing method of the service
 */
export function tokenKindOf(
  service: JwtServiceLike,
  method: SigningMethod | undefined = service.signingMethod,
  rules: VerifyRules = {},
): TokenKind {
  const known = kindOf(service, method, rules)
  if (known !== undefined) return known as TokenKind
  // The keys of a service that the app wrote itself are unknown, so the service itself stands for its key.
  const { audience, issuer, typ } = rules
  return {
    key: service,
    method,
    audience: audience === undefined ? undefined : [audience].flat(),
    issuer,
    typ: typ === undefined ? defaults.typ : new Set([typ].flat().map(comparable)),
  }
}
