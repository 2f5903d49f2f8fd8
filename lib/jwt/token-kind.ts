import { createHmac } from 'node:crypto'
import { kit } from '../common/kit.js'
import { comparable } from '../common/typ.js'
import { defaults } from '../options/resolve.js'
import type { ResolvedRules } from '../options/resolve-jwt.js'
import type { HeldKey } from './key-holder.js'
import type { JwtServiceLike, SigningMethod, VerifyRules } from '../../types/jwt.js'

/** Describes which tokens a verifier accepts, to compare it with other verifiers. */
export interface TokenKind {
  /** Equal for equal keys. */
  readonly key: () => unknown
  readonly method: SigningMethod | undefined
  readonly audience: readonly string[] | undefined
  readonly issuer: string | undefined
  /** What they are for; undefined stands for those that do not say it. */
  readonly typ: ResolvedRules['typ']
}

/** The kinds of tokens that are accepted with keys and these rules: one for each key, or one for none. */
export function kindsOfKeys(keys: readonly HeldKey[], rules: ResolvedRules): TokenKind[] {
  const { audience, issuer, typ } = rules
  if (keys.length === 0) return [{ key: () => undefined, method: undefined, audience, issuer, typ }]
  return keys.map((held) => kindOfKey(held, rules))
}

function kindOfKey({ key, method }: HeldKey, { audience, issuer, typ }: ResolvedRules): TokenKind {
  // HMAC and not a plain hash: HMAC pads its keys with zeros, so keys that make the same signatures are equal here too.
  // Most apps have one registration, with nothing to compare.
  const digest = (): string =>
    createHmac('sha256', key.verify).update('fastify-authn').digest('hex')
  return { key: digest, method, audience, issuer, typ }
}

/**
 * The kinds of tokens that a service accepts: one for each key.
 *
 * @param method - default: the signing method of the service, of a ring any
 */
export function tokenKindsOf(
  service: JwtServiceLike,
  method: SigningMethod | undefined,
  rules: VerifyRules = {},
): TokenKind[] {
  const known = kit.kindsOf?.(service, method, rules)
  if (known !== undefined) return known as TokenKind[]
  // The keys of a service that the app wrote itself are unknown, so the service itself stands for its key.
  const { audience, issuer, typ } = rules
  return [
    {
      key: () => service,
      method: method ?? service.signingMethod,
      audience: audience === undefined ? undefined : [audience].flat(),
      issuer,
      typ: typ === undefined ? defaults.typ : new Set([typ].flat().map(comparable)),
    },
  ]
}
