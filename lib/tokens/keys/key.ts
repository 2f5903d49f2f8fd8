import { createHash, createHmac, createPublicKey } from 'node:crypto'
import { algorithmOf } from '../../common/algorithms.js'
import { AuthnUsageError } from '../../errors.js'
import type { MisuseCode } from '../../../types/errors.js'
import type { KeyState, SigningMethod } from '../../../types/keys.js'
import type { EngineKey } from '../engine.js'

/** Both halves of a key, checked and parsed, with its size: bits of a secret and of RSA, the curve of ECDSA. */
export interface KeyMaterial extends EngineKey {
  readonly bits?: number
  readonly curve?: string
}

/** A key of a key set. */
export interface Key extends KeyMaterial {
  /** Its name in the header of its tokens. Keys of `secret`, `rsa`, `ecdsa` and `eddsa` have none. */
  readonly kid?: string
  readonly alg: SigningMethod
  readonly state: KeyState
  /** Milliseconds since 1970: from then on it verifies nothing. `Infinity` for ever. */
  readonly until: number
  /** Whether it verifies tokens of its algorithm that have no `kid`. */
  readonly legacy: boolean
}

/** Names a key, or a member of it, in errors. */
export type NameOf = (member?: string) => string

/** @param file - the key set file in which the key stands */
export function namesOf(option: string, file?: string): NameOf {
  const place = file === undefined ? '' : ` (key set file ${JSON.stringify(file)})`
  return (member) => `option "${member === undefined ? option : `${option}.${member}`}"${place}`
}

/**
 * @param name - of the key or its member: see {@link NameOf}
 * @param remedy - what to do; a sentence of its own
 */
export function keyError(
  name: string,
  problem: string,
  remedy = '',
  code: MisuseCode = 'ERR_AUTH_KEY',
): never {
  throw new AuthnUsageError(code, `${name}: ${problem} ${remedy}`.trimEnd())
}

/** What keeps a key from being used with an algorithm; null where it fits. */
export function misfit({ bits, curve }: KeyMaterial, alg: SigningMethod): string | null {
  const { minimumBits = 0, curve: needed } = algorithmOf(alg)
  if (bits !== undefined && bits < minimumBits) {
    return `is ${bits} bits long, but ${alg} needs at least ${minimumBits}`
  }
  return needed === undefined || needed === curve
    ? null
    : `is on the curve ${curve}, but ${alg} needs ${needed}`
}

/** Equal for keys that verify the same signatures. HMAC and not a plain hash: it pads secrets with zeros, as HS256 does. */
export function fingerprintOf({ verify }: KeyMaterial): string {
  return createHmac('sha256', verify).update('fastify-authn').digest('hex')
}

/** The public half of a key pair (RFC 7517 §4), its members in the order of RFC 7638 §3.3; null for a secret. */
export function publicJwk({ verify }: KeyMaterial): Record<string, string> | null {
  if (typeof verify !== 'string') return null
  const jwk = createPublicKey(verify).export({ format: 'jwk' }) as Record<string, string>
  return Object.fromEntries(Object.entries(jwk).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The thumbprint of a public key (RFC 7638). */
export function thumbprintOf(jwk: Readonly<Record<string, string>>): string {
  return createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')
}
