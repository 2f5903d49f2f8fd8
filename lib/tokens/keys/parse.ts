import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { algorithmOf, signingMethods, type KeyFamily } from '../../common/algorithms.js'
import { pemOf } from '../../common/pem.js'
import { ifUnset } from '../../errors/errors.js'
import {
  keyError,
  misfit,
  keyNames,
  pemMarker,
  type Key,
  type KeyMaterial,
  type KeyTraits,
  type NameOf,
} from './key.js'
import { isKey } from './asymmetric.js'
import { checkWeakness } from './known-secrets.js'
import type { JwtConfig, KeyPairConfig, SigningMethod } from '../../../types/jwt.js'

const pairNames: readonly Exclude<KeyFamily, 'secret'>[] = ['rsa', 'ecdsa', 'eddsa']

/** The key files of `rsa`, `ecdsa` and `eddsa`: each path with the first option that names it. */
export function keyFilePaths(config: JwtConfig): Map<string, string> {
  const options = new Map<string, string>()
  for (const family of pairNames) {
    for (const half of ['private', 'public'] as const) {
      const value = config[family]?.[half]
      if (value === undefined || pemMarker.test(value) || options.has(value)) continue
      options.set(value, keyNames(`jwt.${family}`)(half))
    }
  }
  return options
}

/** The keys of `secret`, `rsa`, `ecdsa` and `eddsa`: one without a `kid` for each algorithm that the key fits. */
export function parseKeys(config: JwtConfig, files: ReadonlyMap<string, string>): Key[] {
  return (['secret', ...pairNames] as const).flatMap((family): Key[] => {
    const given = config[family]
    if (given === undefined) return []
    const algs = signingMethods.filter((alg) => algorithmOf(alg).family === family)
    const material =
      typeof given === 'string' || given instanceof Uint8Array
        ? parseSecret(keyNames('jwt')('secret'), given, algs)
        : parsePair(keyNames(`jwt.${family}`), given, algs, files)
    const state = material.sign === undefined ? 'verify' : 'sign'
    return algs
      .filter((alg) => misfit(material, alg) === null)
      .map((alg) => ({ ...material, alg, state, until: Infinity, legacy: true }))
  })
}

type Wrong = (problem: string, remedy: string) => never

/** @param algs - of which the key has to fit one */
function checkFit(traits: KeyTraits, algs: readonly SigningMethod[], wrong: Wrong): void {
  const problems = algs.map((alg) => misfit(traits, alg))
  const [problem] = problems
  if (problem && !problems.includes(null)) {
    const isSecret = traits.type === 'secret'
    const makeSecret = `node -p "crypto.randomBytes(64).toString('base64url')"`
    wrong(problem, `Make one with: ${isSecret ? makeSecret : 'npx fastify-authn keys'}`)
  }
}

/**
 * Checks an HMAC secret (RFC 7518 §3.2). With a public key as the secret, anyone could sign, so keys are rejected
 * (CVE-2023-48223).
 */
export function parseSecret(
  name: string,
  secret: string | Uint8Array,
  algs: readonly SigningMethod[],
): KeyMaterial {
  const bytes = Buffer.from(secret as string)
  if (isKey(secret)) {
    const problem = 'holds a key (PEM, DER or a JSON Web Key), expected a random secret.'
    const remedy =
      'Give it as jwt.rsa, jwt.ecdsa or jwt.eddsa; in jwt.keys, as "private" or "public".'
    keyError(name, problem, remedy)
  }
  const key = { type: 'secret', bits: bytes.length * 8, sign: bytes, verify: bytes }
  checkFit(key, algs, (problem, remedy) => keyError(name, `${problem}.`, remedy))
  checkWeakness(name, bytes)
  return key
}

export function parsePair(
  nameOf: NameOf,
  pair: KeyPairConfig,
  algs: readonly SigningMethod[],
  files: ReadonlyMap<string, string>,
): KeyMaterial {
  const parse = (half: 'private' | 'public'): KeyObject | undefined => {
    const value = pair[half]
    if (value === undefined) return undefined
    const source = files.has(value) ? ` (file ${JSON.stringify(value)})` : ''
    const wrong: Wrong = (problem, remedy) => keyError(nameOf(half), `${problem}${source}.`, remedy)
    const pem = pemOf(files.get(value) ?? value)
    const label = half === 'private' ? 'PRIVATE KEY' : '(?:PUBLIC KEY|CERTIFICATE)'
    const [, , more] = pem.split(new RegExp(`\n-----BEGIN [^-\n]*${label}-----(?=\n)`))
    if (more !== undefined) wrong('holds more than one key', 'Leave the one that is to be used.')
    const key =
      half === 'private' ? parsePrivate(pem, pair.passphrase, wrong) : parsePublic(pem, wrong)
    checkFit(traitsOf(key), algs, wrong)
    return key
  }
  const privateKey = parse('private')
  const publicKey = parse('public')
  const derived = privateKey && createPublicKey(privateKey)
  const verifying = publicKey ?? derived
  if (verifying === undefined) {
    const remedy = 'Set "private" to sign and verify, or "public" to verify only.'
    return keyError(nameOf(), `has no key${ifUnset}.`, remedy)
  }
  if (derived && !derived.equals(verifying)) {
    const remedy = 'Give the two halves of one pair, or leave the public one out.'
    keyError(nameOf('public'), 'is not the public half of "private".', remedy)
  }
  return {
    ...traitsOf(verifying),
    ...(privateKey && { sign: privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
    verify: verifying.export({ type: 'spki', format: 'pem' }),
  }
}

function traitsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): KeyTraits {
  const { modulusLength: bits, namedCurve: curve } = { ...asymmetricKeyDetails }
  return { type: String(asymmetricKeyType), bits, curve }
}

/** A variable in an .env file without quotes ends with its first line. */
const withLines = 'with all its lines, nothing else in them, and line ends or \\n (quoted in .env)'

function parsePrivate(pem: string, passphrase: string | undefined, wrong: Wrong): KeyObject {
  try {
    return createPrivateKey({ key: pem, ...(passphrase !== undefined && { passphrase }) })
  } catch {
    if (/BEGIN (?:\w+ )?PUBLIC KEY|BEGIN CERTIFICATE/.test(pem)) {
      return wrong('holds a public key', 'Give the private key of the pair.')
    }
    if (!pem.includes('ENCRYPTED') || !/\n-----BEGIN [^]*\n-----END .*-----\n/.test(pem)) {
      return wrong('is not a private key in PEM', `Give PKCS#8 PEM ${withLines}.`)
    }
    return wrong(
      `is encrypted, and its passphrase is ${passphrase === undefined ? `missing${ifUnset}` : 'wrong'}`,
      'Set "passphrase" beside it; in a key set file, "passphraseEnv".',
    )
  }
}

function parsePublic(pem: string, wrong: Wrong): KeyObject {
  // createPublicKey() would accept a private key and use its public half.
  if (/BEGIN (?:\w+ )?PRIVATE KEY/.test(pem)) {
    return wrong('holds a private key', 'Give the public key of the pair.')
  }
  try {
    return createPublicKey(pem)
  } catch {
    return wrong('is not a public key in PEM', `Give SPKI PEM ${withLines}.`)
  }
}
