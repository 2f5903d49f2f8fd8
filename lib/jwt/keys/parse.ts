import {
  createPrivateKey,
  createPublicKey,
  type AsymmetricKeyDetails,
  type KeyObject,
} from 'node:crypto'
import { algorithms, type KeyFamily } from '../../common/algorithms.js'
import { isAsymmetricKey, isJwk } from './detect.js'
import { keyError, pairNames, type FamilyKeys, type LoadedKey, type PairFamily } from './ring.js'
import type { KeyFiles } from './files.js'
import type { JwtConfig, KeyPairConfig } from '../../../types/jwt.js'

/** The `asymmetricKeyType` of node:crypto that each family accepts, and its name in errors. */
const pairFamilies: Readonly<Record<PairFamily, { types: readonly string[]; label: string }>> = {
  rsa: { types: ['rsa'], label: 'an RSA key' },
  ecdsa: { types: ['ec'], label: 'an elliptic curve key (P-256, P-384 or P-521)' },
  eddsa: { types: ['ed25519', 'ed448'], label: 'an Ed25519 or Ed448 key' },
}

/**
 * Checks and parses all keys of a configuration.
 *
 * @throws ERR_AUTH_KEY for the first key that is wrong
 */
export function parseKeys(config: JwtConfig, files: KeyFiles): FamilyKeys {
  const ring: Partial<Record<KeyFamily, LoadedKey>> = {}
  if (config.secret !== undefined) ring.secret = parseSecret('jwt.secret', config.secret)
  for (const family of pairNames) {
    const pair = config[family]
    if (pair !== undefined) ring[family] = parsePair(`jwt.${family}`, family, pair, files)
  }
  return ring
}

/**
 * Checks an HMAC secret (RFC 7518 §3.2). A public key that is used as a secret would let everybody sign.
 *
 * @param option - where it stands, for the error
 * @throws ERR_AUTH_KEY
 */
export function parseSecret(option: string, secret: string | Uint8Array): LoadedKey {
  const bytes = Buffer.from(secret as string)
  const text = bytes.toString('latin1')
  const remedy = 'Make one with: node -p "crypto.randomBytes(64).toString(\'base64url\')"'
  if (isAsymmetricKey(bytes)) {
    keyError(
      option,
      'holds a PEM key or certificate, expected a random secret.',
      'Give the key as jwt.rsa, jwt.ecdsa or jwt.eddsa; in jwt.keys, as "private" or "public".',
    )
  }
  if (isJwk(text)) keyError(option, 'holds a JSON Web Key, expected a random secret.', remedy)
  const bits = bytes.length * 8
  if (bits < 256) {
    keyError(option, `is ${bits} bits long, expected at least 256.`, remedy)
  }
  return { sign: bytes, verify: bytes, bits }
}

/**
 * Checks a pair of keys, or one half of it.
 *
 * @param option - where it stands, for the error
 * @param files - what the key files hold that it names
 * @throws ERR_AUTH_KEY
 */
export function parsePair(
  option: string,
  family: PairFamily,
  pair: KeyPairConfig,
  files: KeyFiles,
): LoadedKey {
  const privateKey = parseHalf(option, family, 'private', pair, files)
  const publicKey = parseHalf(option, family, 'public', pair, files)
  const derived = privateKey && createPublicKey(privateKey)
  const verifying = publicKey ?? derived
  if (verifying === undefined) {
    return keyError(
      option,
      'names no key.',
      `Set ${option}.private to sign and verify, or ${option}.public to verify only.`,
    )
  }
  if (derived && publicKey && !derived.equals(publicKey)) {
    keyError(
      `${option}.public`,
      `is not the public half of ${option}.private.`,
      'Give the two halves of one pair, or leave the public one out.',
    )
  }
  const { modulusLength, namedCurve } = detailsOf(verifying)
  return {
    ...(privateKey && { sign: privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
    verify: verifying.export({ type: 'spki', format: 'pem' }),
    ...(modulusLength !== undefined && { bits: modulusLength }),
    ...(namedCurve !== undefined && { curve: namedCurve }),
  }
}

function parseHalf(
  place: string,
  family: PairFamily,
  half: 'private' | 'public',
  pair: KeyPairConfig,
  files: KeyFiles,
): KeyObject | undefined {
  const value = pair[half]
  if (value === undefined) return undefined
  const option = `${place}.${half}`
  // PEM text in environment variables often has the two characters \n in place of each line break.
  const pem = files.get(value) ?? value.replaceAll('\\n', '\n')
  const source = files.has(value) ? ` (file ${JSON.stringify(value)})` : ''
  const key =
    half === 'private'
      ? parsePrivate(option, source, pem, pair.passphrase)
      : parsePublic(option, source, pem)
  checkFamily(option, source, family, key)
  return key
}

function parsePrivate(
  option: string,
  source: string,
  pem: string,
  passphrase: string | undefined,
): KeyObject {
  try {
    return createPrivateKey({ key: pem, ...(passphrase !== undefined && { passphrase }) })
  } catch (error) {
    if (/BEGIN (?:\w+ )?PUBLIC KEY|BEGIN CERTIFICATE/.test(pem)) {
      keyError(option, `holds a public key${source}.`, 'Give the private key of the pair.')
    }
    if (/ENCRYPTED/.test(pem)) {
      const place = option.replace(/private$/, 'passphrase')
      const problem = passphrase === undefined ? `"${place}" is missing` : `"${place}" is wrong`
      keyError(option, `is encrypted${source}, and ${problem}.`, `Set ${place}.`)
    }
    return keyError(option, `is no private key in PEM${source}.`, 'Give PKCS#8 PEM.', error)
  }
}

function parsePublic(option: string, source: string, pem: string): KeyObject {
  // Refused here, because createPublicKey() accepts a private key too and uses its public half.
  if (/BEGIN (?:\w+ )?PRIVATE KEY/.test(pem)) {
    keyError(option, `holds a private key${source}.`, 'Give the public key of the pair.')
  }
  try {
    return createPublicKey(pem)
  } catch (error) {
    return keyError(option, `is no public key in PEM${source}.`, 'Give SPKI PEM.', error)
  }
}

function checkFamily(option: string, source: string, family: PairFamily, key: KeyObject): void {
  const { types, label } = pairFamilies[family]
  const type = String(key.asymmetricKeyType)
  if (!types.includes(type)) {
    keyError(option, `holds a key of type ${type}${source}, expected ${label}.`)
  }
  const { modulusLength, namedCurve } = detailsOf(key)
  if (modulusLength !== undefined && modulusLength < 2048) {
    keyError(
      option,
      `is an RSA key of ${modulusLength} bits${source}, expected at least 2048.`,
      'Make one with: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048',
    )
  }
  if (namedCurve !== undefined && !Object.values(algorithms).some((a) => a.curve === namedCurve)) {
    keyError(option, `is on the curve ${namedCurve}${source}, expected ${label}.`)
  }
}

/** The details of an asymmetric key. Only secret keys have none, and those never get here. */
function detailsOf(key: KeyObject): AsymmetricKeyDetails {
  return key.asymmetricKeyDetails as AsymmetricKeyDetails
}
