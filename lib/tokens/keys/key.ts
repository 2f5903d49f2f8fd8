import { createHmac, createPublicKey } from 'node:crypto'
import { digestOf } from '../../common/digest.js'
import { algorithmOf, type KeyFamily } from '../../common/algorithms.js'
import { AuthnUsageError } from '../../errors/errors.js'
import type { MisuseCode } from '../../../types/errors.js'
import type { KeyFileSystem, KeyState, PublicJwk, SigningMethod } from '../../../types/keys.js'
import type { EngineKey } from '../engine.js'

/** These decide which algorithms a key fits: bits of a secret and of RSA, the curve as node:crypto names it. */
export interface KeyTraits {
  /** The `asymmetricKeyType` of node:crypto, or `secret`. */
  readonly type: string
  readonly bits?: number | undefined
  readonly curve?: string | undefined
}

export type KeyMaterial = EngineKey & KeyTraits

export type Key = KeyMaterial & {
  /** The name of the key in the header of its tokens. Keys of `secret`, `rsa`, `ecdsa` and `eddsa` have none. */
  readonly kid?: string
  readonly alg: SigningMethod
  readonly state: KeyState
  /** The time at which it stops verifying, in milliseconds since 1970; `Infinity` for never. */
  readonly until: number
  /** Whether it verifies tokens of its algorithm that have no `kid`. */
  readonly legacy: boolean
  /** The public half of a pair with a `kid`. */
  readonly jwk?: PublicJwk
}

/** Names a key, or a member of it, in errors. */
export type NameOf = (member?: string) => string

export function keyNames(option: string, file?: string): NameOf {
  const place = file === undefined ? '' : ` (key set file ${JSON.stringify(file)})`
  return (member) => `option "${member === undefined ? option : `${option}.${member}`}"${place}`
}

/** @param remedy - what to do; a sentence of its own */
export function keyError(
  name: string,
  problem: string,
  remedy: string,
  code: MisuseCode = 'ERR_AUTH_KEY',
): never {
  throw new AuthnUsageError(code, `${name}: ${problem} ${remedy}`)
}

const families: Readonly<Record<KeyFamily, { types: readonly string[]; label: string }>> = {
  secret: { types: ['secret'], label: 'a secret' },
  rsa: { types: ['rsa'], label: 'an RSA key' },
  ecdsa: { types: ['ec'], label: 'an elliptic curve key' },
  eddsa: { types: ['ed25519', 'ed448'], label: 'an Ed25519 or Ed448 key' },
}

/** The reason why a key does not fit an algorithm; null if it fits. */
export function misfit({ type, bits, curve }: KeyTraits, alg: SigningMethod): string | null {
  const { family, minimumBits = 0, curve: needed } = algorithmOf(alg)
  const { types, label } = families[family]
  if (!types.includes(type)) return `holds a key of type ${type}, expected ${label} for ${alg}`
  if (bits !== undefined && bits < minimumBits) {
    return `is ${bits} bits long, expected at least ${minimumBits} for ${alg}`
  }
  const fits = needed === undefined || needed === curve
  return fits ? null : `is on the curve ${curve}, but ${alg} needs ${needed}`
}

/** Equal for keys that verify the same signatures. HMAC pads secrets with zeros, as HS256 does. */
export function fingerprintOf({ verify }: EngineKey): string {
  return createHmac('sha256', verify).update('fastify-authn').digest('hex')
}

/** The public half of a key pair (RFC 7517 §4), its members in the order of RFC 7638 §3.3. */
export function publicJwk(pem: string): Record<string, string> {
  const jwk = createPublicKey(pem).export({ format: 'jwk' }) as Record<string, string>
  return Object.fromEntries(Object.entries(jwk).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The thumbprint (RFC 7638) of what {@link publicJwk} returns. */
export function thumbprintOf(jwk: object): string {
  return digestOf(JSON.stringify(jwk))
}

/** The begin of PEM text, anywhere in a string. A key option without it is a path. */
export const pemMarker = /-----\s*BEGIN/i

/**
 * Errors do not quote the path, because the option may hold a key or a passphrase by mistake. Of node:fs, `fs.promises`
 * is used.
 * @throws ERR_AUTH_KEY
 */
export async function readKeyFile(
  fs: KeyFileSystem,
  name: string,
  path: string,
  remedy = 'Give PEM text, or the path of a PEM file that the process may read.',
): Promise<string> {
  const { promises } = fs as { promises?: KeyFileSystem }
  const reader = typeof promises?.readFile === 'function' ? promises : fs
  try {
    const content: string | Uint8Array = await reader.readFile(path)
    return typeof content === 'string' ? content : Buffer.from(content).toString()
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
    return keyError(name, `the file that it names cannot be read (${reason}).`, remedy)
  }
}
