import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { AuthnUsageError } from '../errors.js'
import { algorithms, type KeyFamily } from './algorithms.js'
import type { JwtConfig, KeyFileSystem, KeyPairConfig, SigningMethod } from '../../types/jwt.js'

type PairFamily = Exclude<KeyFamily, 'secret'>

/** A key that was read, checked and parsed. */
export interface LoadedKey {
  /** What signs: the secret, or PEM text of the private key; missing in a ring that only verifies. */
  readonly sign?: Buffer | string
  /** What verifies: the secret, or PEM text of the public key. */
  readonly verify: Buffer | string
  readonly bits?: number
  readonly curve?: string
}

/** All keys of a configuration. */
export type KeyRing = Readonly<Partial<Record<KeyFamily, LoadedKey>>>

/** Contents of the key files, by path. */
export type KeyFiles = ReadonlyMap<string, string>

/** `asymmetricKeyType` of node:crypto that each family takes, and what a person calls it. */
const pairFamilies: Readonly<Record<PairFamily, { types: readonly string[]; label: string }>> = {
  rsa: { types: ['rsa'], label: 'an RSA key' },
  ecdsa: { types: ['ec'], label: 'an elliptic curve key (P-256, P-384 or P-521)' },
  eddsa: { types: ['ed25519', 'ed448'], label: 'an Ed25519 or Ed448 key' },
}
const pairNames = Object.keys(pairFamilies) as readonly PairFamily[]
const pairHalves = ['private', 'public'] as const
const pemMarker = /-----\s*BEGIN/i

function keyError(option: string, problem: string, remedy: string, cause?: unknown): never {
  throw new AuthnUsageError('ERR_AUTH_KEY', `option "${option}": ${problem} ${remedy}`, cause)
}

/** The paths of all key files that a configuration names. */
export function keyFilePaths(config: JwtConfig): string[] {
  const values = pairNames.flatMap((name) => pairHalves.map((half) => config[name]?.[half]))
  return values.filter((value) => value !== undefined && !pemMarker.test(value)) as string[]
}

/**
 * Reads every key file once.
 *
 * @param fs - any object with `readFile`; node:fs is asked through its promises
 * @throws ERR_AUTH_KEY that names the option and the file
 */
export async function readKeyFiles(config: JwtConfig, fs: KeyFileSystem): Promise<KeyFiles> {
  const paths = [...new Set(keyFilePaths(config))]
  const texts = await Promise.all(paths.map((path) => readKeyFile(config, fs, path)))
  return new Map(paths.map((path, index) => [path, texts[index] as string]))
}

async function readKeyFile(config: JwtConfig, fs: KeyFileSystem, path: string): Promise<string> {
  if (isBareKey(path)) {
    // Not a path at all, and nothing to be quoted.
    return keyError(
      optionOfPath(config, path),
      'holds a JSON Web Key, or a key without the lines of PEM.',
      'Give PEM text, with its BEGIN and END lines, or the path of a PEM file.',
    )
  }
  const { promises } = fs as { promises?: KeyFileSystem }
  const reader = typeof promises?.readFile === 'function' ? promises : fs
  try {
    const content: string | Uint8Array = await reader.readFile(path)
    return typeof content === 'string' ? content : Buffer.from(content).toString()
  } catch (error) {
    const option = optionOfPath(config, path)
    const reason = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
    return keyError(
      option,
      `the key file ${JSON.stringify(path)} cannot be read (${reason}).`,
      'Give PEM text, or the path of a PEM file that the process may read.',
      error,
    )
  }
}

/** A key that was given as JSON, or as base64 of its DER (a sequence, so an M) or of its PEM. */
function isBareKey(value: string): boolean {
  const text = value.replace(/\\n|\s/g, '')
  return /^[[{]/.test(text) || /^(?:M|LS0tLS1CRUdJTi)[A-Za-z0-9+/_-]{48,}=*$/.test(text)
}

function optionOfPath(config: JwtConfig, path: string): string {
  const places = pairNames.flatMap((name) => pairHalves.map((half) => ({ name, half })))
  const place = places.find(({ name, half }) => config[name]?.[half] === path)
  return `jwt.${place?.name}.${place?.half}`
}

/**
 * Checks and parses all keys of a configuration.
 *
 * @throws ERR_AUTH_KEY for the first key that is wrong
 */
export function parseKeys(config: JwtConfig, files: KeyFiles): KeyRing {
  const ring: Partial<Record<KeyFamily, LoadedKey>> = {}
  if (config.secret !== undefined) ring.secret = parseSecret(config.secret)
  for (const family of pairNames) {
    const pair = config[family]
    if (pair !== undefined) ring[family] = parsePair(family, pair, files)
  }
  return ring
}

/** An HMAC secret: RFC 7518 §3.2. A public key taken for a secret would let everybody sign. */
function parseSecret(secret: string | Buffer): LoadedKey {
  const bytes = Buffer.from(secret)
  const option = 'jwt.secret'
  const text = bytes.toString('latin1')
  const remedy = 'Make one with: node -p "crypto.randomBytes(64).toString(\'base64url\')"'
  if (pemMarker.test(text) || isPublicDer(bytes)) {
    keyError(
      option,
      'holds a PEM key or certificate, expected a random secret.',
      'Give the key as jwt.rsa, jwt.ecdsa or jwt.eddsa.',
    )
  }
  if (isJwk(text)) keyError(option, 'holds a JSON Web Key, expected a random secret.', remedy)
  const bits = bytes.length * 8
  if (bits < 256) {
    keyError(option, `is ${bits} bits long, expected at least 256.`, remedy)
  }
  return { sign: bytes, verify: bytes, bits }
}

/** A public key in DER, or in base64 of it, as what is left of PEM without its lines. */
function isPublicDer(bytes: Buffer): boolean {
  return [bytes, Buffer.from(bytes.toString('latin1'), 'base64')].some((key) => {
    try {
      return createPublicKey({ key, format: 'der', type: 'spki' }) !== undefined
    } catch {
      return false
    }
  })
}

function isJwk(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return [value].flat().some((key) => key instanceof Object && ('kty' in key || 'keys' in key))
  } catch {
    return false
  }
}

function parsePair(family: PairFamily, pair: KeyPairConfig, files: KeyFiles): LoadedKey {
  const privateKey = parseHalf(family, 'private', pair, files)
  const publicKey = parseHalf(family, 'public', pair, files)
  const derived = privateKey && createPublicKey(privateKey)
  const verifying = publicKey ?? derived
  if (verifying === undefined) {
    return keyError(
      `jwt.${family}`,
      'names no key.',
      `Set jwt.${family}.private to sign and verify, or jwt.${family}.public to verify only.`,
    )
  }
  if (derived && publicKey && !derived.equals(publicKey)) {
    keyError(
      `jwt.${family}.public`,
      `is not the public half of jwt.${family}.private.`,
      'Give the two halves of one pair, or leave the public one out.',
    )
  }
  const { modulusLength, namedCurve } = verifying.asymmetricKeyDetails ?? {}
  return {
    ...(privateKey && { sign: privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
    verify: verifying.export({ type: 'spki', format: 'pem' }),
    ...(modulusLength !== undefined && { bits: modulusLength }),
    ...(namedCurve !== undefined && { curve: namedCurve }),
  }
}

function parseHalf(
  family: PairFamily,
  half: 'private' | 'public',
  pair: KeyPairConfig,
  files: KeyFiles,
): KeyObject | undefined {
  const value = pair[half]
  if (value === undefined) return undefined
  const option = `jwt.${family}.${half}`
  // Environment variables often carry PEM text with its line breaks spelled \n.
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
  // createPublicKey would quietly take the public half of a private key.
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
  const type = key.asymmetricKeyType ?? 'unknown'
  if (!types.includes(type)) {
    keyError(option, `holds a key of type ${type}${source}, expected ${label}.`, '')
  }
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {}
  if (modulusLength !== undefined && modulusLength < 2048) {
    keyError(
      option,
      `is an RSA key of ${modulusLength} bits${source}, expected at least 2048.`,
      'Make one with: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048',
    )
  }
  if (namedCurve !== undefined && !Object.values(algorithms).some((a) => a.curve === namedCurve)) {
    keyError(option, `is on the curve ${namedCurve}${source}, expected ${label}.`, '')
  }
}

/**
 * The key of a signing method.
 *
 * @param use - what it is needed for; `wanted` says for whom, in the error
 * @throws ERR_AUTH_KEY when it is not configured, too short, or on another curve
 */
export function keyFor(
  ring: KeyRing,
  method: SigningMethod,
  use: 'sign' | 'verify',
  wanted: string,
): Buffer | string {
  const row = algorithms[method]
  const key = ring[row.family]
  const option = row.family === 'secret' ? 'jwt.secret' : `jwt.${row.family}`
  if (key === undefined) {
    return keyError(
      option,
      `is missing, but ${wanted} needs it for ${method}.`,
      'Set it, or choose another signing method.',
    )
  }
  if (key.bits !== undefined && row.minimumBits !== undefined && key.bits < row.minimumBits) {
    keyError(
      option,
      `is ${key.bits} bits long, expected at least ${row.minimumBits} for ${method} (${wanted}).`,
      'Make one with: node -p "crypto.randomBytes(64).toString(\'base64url\')"',
    )
  }
  if (row.curve !== undefined && key.curve !== row.curve) {
    keyError(
      option,
      `is on the curve ${key.curve}, but ${method} (${wanted}) needs ${row.curve}.`,
      'Give a key on that curve, or choose the signing method of this one.',
    )
  }
  return (
    key[use] ??
    keyError(`${option}.private`, `is missing, but ${wanted} needs it to sign.`, 'Set it.')
  )
}
