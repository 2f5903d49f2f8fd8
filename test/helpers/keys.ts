import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult } from 'node:crypto'
import { keys, pairs, rsaPair } from './tokens.js'
import type { JwtConfig, SigningMethod } from '../../types/jwt.js'

/** Key pairs that only tests of keys need. */
export const moreKeys = pairs({
  otherRsa: () => rsaPair('other-rsa'),
  rsa1024: () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
  rsaPss: () => rsaPair('rsa-pss', 'rsa-pss'),
  otherP256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  secp256k1: () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  ed448: () => generateKeyPairSync('ed448'),
  x25519: () => generateKeyPairSync('x25519'),
})

/** DER of a key: PKCS#8 of a private one, SPKI of a public one. */
export function derOf(key: KeyObject): Buffer {
  return key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'der' })
}

export const passphrase = 'the passphrase of the tests'

/** PEM of a private key, encrypted under {@link passphrase}. */
export function encryptedPem(key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8'): string {
  const options = { type, format: 'pem', cipher: 'aes-256-cbc', passphrase } as const
  return String(key.export(options as typeof options & { type: 'pkcs8' }))
}

/** 512 bits, enough for every HMAC. */
export const hmacSecret = 'the secret of the tests '.repeat(3).slice(0, 64)

/** A signing method with its pair (null: HMAC), and how node:crypto signs with it. */
export interface MethodCase {
  readonly title: string
  readonly method: SigningMethod
  readonly family: 'secret' | 'rsa' | 'ecdsa' | 'eddsa'
  readonly pair: KeyPairKeyObjectResult | null
  readonly hash: string | null
  readonly pss: boolean
}

const row = (
  method: SigningMethod,
  family: MethodCase['family'],
  hash: string | null,
  pairOf: () => KeyPairKeyObjectResult | null,
  title: string = method,
): MethodCase => ({
  title,
  method,
  family,
  hash,
  pss: method.startsWith('PS'),
  get pair() {
    return pairOf()
  },
})

/** Every signing method; EdDSA with both of its curves. */
export const methodCases: readonly MethodCase[] = [
  row('HS256', 'secret', 'sha256', () => null),
  row('HS384', 'secret', 'sha384', () => null),
  row('HS512', 'secret', 'sha512', () => null),
  row('RS256', 'rsa', 'sha256', () => keys.rsa),
  row('RS384', 'rsa', 'sha384', () => keys.rsa),
  row('RS512', 'rsa', 'sha512', () => keys.rsa),
  row('PS256', 'rsa', 'sha256', () => keys.rsa),
  row('PS384', 'rsa', 'sha384', () => keys.rsa),
  row('PS512', 'rsa', 'sha512', () => keys.rsa),
  row('ES256', 'ecdsa', 'sha256', () => keys.p256),
  row('ES384', 'ecdsa', 'sha384', () => keys.p384),
  row('ES512', 'ecdsa', 'sha512', () => keys.p521),
  row('EdDSA', 'eddsa', null, () => keys.ed25519, 'EdDSA, Ed25519'),
  row('EdDSA', 'eddsa', null, () => moreKeys.ed448, 'EdDSA, Ed448'),
]

/** A configuration with both halves of a pair under its family. */
export function configOf(
  { family, pair, method }: Pick<MethodCase, 'family' | 'pair' | 'method'>,
  halves: (pair: KeyPairKeyObjectResult) => { private?: string; public?: string },
): JwtConfig {
  return pair === null
    ? { secret: hmacSecret, signingMethod: method }
    : { [family]: halves(pair), signingMethod: method }
}
