import {
  createPrivateKey,
  createPublicKey,
  type AsymmetricKeyDetails,
  type KeyObject,
} from 'node:crypto'
import { algorithmOf, algorithms, signingMethods, type KeyFamily } from '../../common/algorithms.js'
import { pemMarker } from './files.js'
import { keyError, misfit, namesOf, type Key, type KeyMaterial, type NameOf } from './key.js'
import { checkWeakness } from './known-secrets.js'
import type { JwtConfig, KeyPairConfig } from '../../../types/jwt.js'

export type PairFamily = Exclude<KeyFamily, 'secret'>

/** Contents of key files, by path. */
export type KeyFiles = ReadonlyMap<string, string>

/** The `asymmetricKeyType` of node:crypto that each family accepts, and its name in errors. */
const pairFamilies: Readonly<Record<PairFamily, { types: readonly string[]; label: string }>> = {
  rsa: { types: ['rsa'], label: 'an RSA key' },
  ecdsa: { types: ['ec'], label: 'an elliptic curve key (P-256, P-384 or P-521)' },
  eddsa: { types: ['ed25519', 'ed448'], label: 'an Ed25519 or Ed448 key' },
}

export const pairNames = Object.keys(pairFamilies) as readonly PairFamily[]

/** The key files of `rsa`, `ecdsa` and `eddsa`: each path with the first option that names it. */
export function keyFilePaths(config: JwtConfig): Map<string, string> {
  const options = new Map<string, string>()
  for (const family of pairNames) {
    for (const half of ['private', 'public'] as const) {
      const value = config[family]?.[half]
      if (value === undefined || pemMarker.test(value) || options.has(value)) continue
      options.set(value, namesOf(`jwt.${family}`)(half))
    }
  }
  return options
}

/**
 * The keys of `secret`, `rsa`, `ecdsa` and `eddsa`: one without a `kid` for each algorithm that the option's key fits.
 *
 * @throws ERR_AUTH_KEY for the first key that is wrong
 */
export function parseKeys(config: JwtConfig, files: KeyFiles): Key[] {
  const keys: Key[] = []
  const add = (family: KeyFamily, material: KeyMaterial): void => {
    const state = material.sign === undefined ? 'verify' : 'sign'
    for (const alg of signingMethods) {
      if (algorithmOf(alg).family !== family || misfit(material, alg) !== null) continue
      keys.push({ ...material, alg, state, until: Infinity, legacy: true })
    }
  }
  if (config.secret !== undefined) {
    add('secret', parseSecret(namesOf('jwt')('secret'), config.secret))
  }
  for (const family of pairNames) {
    const pair = config[family]
    if (pair !== undefined) add(family, parsePair(namesOf(`jwt.${family}`), family, pair, files))
  }
  return keys
}

/** PEM, or a JSON Web Key or a set of them, also after a byte order mark, which \s matches. */
const keyMaterial = /-----\s*BEGIN|^\s*[[{][^]*"kty"\s*:/i

/**
 * Checks an HMAC secret (RFC 7518 §3.2). Everybody could sign with a public key that is used as a secret, so that no
 * key is accepted in its place, as it stands or in base64 (CVE-2023-48223).
 *
 * @throws ERR_AUTH_KEY
 */
export function parseSecret(name: string, secret: string | Uint8Array): KeyMaterial {
  const bytes = Buffer.from(secret as string)
  const text = bytes.toString()
  if ([text, Buffer.from(text, 'base64').toString()].some((form) => keyMaterial.test(form))) {
    keyError(
      name,
      'holds a key or certificate (PEM, or a JSON Web Key), expected a random secret.',
      'Give a key as jwt.rsa, jwt.ecdsa or jwt.eddsa; in jwt.keys, as "private" or "public".',
    )
  }
  const bits = bytes.length * 8
  if (bits < 256) {
    keyError(
      name,
      `is ${bits} bits long, expected at least 256.`,
      'Make one with: npx fastify-authn secret',
    )
  }
  checkWeakness(name, bytes)
  return { sign: bytes, verify: bytes, bits }
}

/**
 * Checks a pair of keys, or one half of it.
 *
 * @param files - what the key files hold that it names
 * @throws ERR_AUTH_KEY
 */
export function parsePair(
  nameOf: NameOf,
  family: PairFamily,
  pair: KeyPairConfig,
  files: KeyFiles,
): KeyMaterial {
  const parse = (half: 'private' | 'public'): KeyObject | undefined => {
    const value = pair[half]
    if (value === undefined) return undefined
    const source = files.has(value) ? ` (file ${JSON.stringify(value)})` : ''
    // PEM text in environment variables often has the two characters \n in place of each line break.
    const pem = files.get(value) ?? value.replaceAll('\\n', '\n')
    const wrong: Wrong = (problem, remedy) => keyError(nameOf(half), `${problem}${source}.`, remedy)
    const key =
      half === 'private' ? parsePrivate(pem, pair.passphrase, wrong) : parsePublic(pem, wrong)
    checkFamily(key, family, wrong)
    return key
  }
  const privateKey = parse('private')
  const publicKey = parse('public')
  const derived = privateKey && createPublicKey(privateKey)
  const verifying = publicKey ?? derived
  if (verifying === undefined) {
    return keyError(
      nameOf(),
      'names no key.',
      'Set "private" to sign and verify, or "public" to verify only.',
    )
  }
  if (derived && publicKey && !derived.equals(publicKey)) {
    keyError(
      nameOf('public'),
      'is not the public half of "private".',
      'Give the two halves of one pair, or leave the public one out.',
    )
  }
  const { modulusLength: bits, namedCurve: curve } = detailsOf(verifying)
  return {
    ...(privateKey && { sign: privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
    verify: verifying.export({ type: 'spki', format: 'pem' }),
    ...(bits !== undefined && { bits }),
    ...(curve !== undefined && { curve }),
  }
}

/** Throws the error of one half of a pair. */
type Wrong = (problem: string, remedy?: string) => never

function parsePrivate(pem: string, passphrase: string | undefined, wrong: Wrong): KeyObject {
  try {
    return createPrivateKey({ key: pem, ...(passphrase !== undefined && { passphrase }) })
  } catch {
    if (/BEGIN (?:\w+ )?PUBLIC KEY|BEGIN CERTIFICATE/.test(pem)) {
      return wrong('holds a public key', 'Give the private key of the pair.')
    }
    if (!pem.includes('ENCRYPTED')) return wrong('is no private key in PEM', 'Give PKCS#8 PEM.')
    return wrong(
      `is encrypted, and its passphrase is ${passphrase === undefined ? 'missing' : 'wrong'}`,
      'Set "passphrase" beside it; in a key set file, "passphraseEnv".',
    )
  }
}

function parsePublic(pem: string, wrong: Wrong): KeyObject {
  // Refused here, because createPublicKey() accepts a private key too and uses its public half.
  if (/BEGIN (?:\w+ )?PRIVATE KEY/.test(pem)) {
    return wrong('holds a private key', 'Give the public key of the pair.')
  }
  try {
    return createPublicKey(pem)
  } catch {
    return wrong('is no public key in PEM', 'Give SPKI PEM.')
  }
}

function checkFamily(key: KeyObject, family: PairFamily, wrong: Wrong): void {
  const { types, label } = pairFamilies[family]
  const type = String(key.asymmetricKeyType)
  if (!types.includes(type)) wrong(`holds a key of type ${type}, expected ${label}`)
  const { modulusLength = 2048, namedCurve } = detailsOf(key)
  if (modulusLength < 2048) {
    wrong(`is an RSA key of ${modulusLength} bits, expected at least 2048`)
  }
  if (namedCurve !== undefined && !Object.values(algorithms).some((a) => a.curve === namedCurve)) {
    wrong(`is on the curve ${namedCurve}, expected ${label}`)
  }
}

/** The details of an asymmetric key. Only secret keys have none, and those never get here. */
function detailsOf(key: KeyObject): AsymmetricKeyDetails {
  return key.asymmetricKeyDetails as AsymmetricKeyDetails
}
