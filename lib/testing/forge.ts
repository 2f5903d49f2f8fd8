import {
  constants,
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  randomBytes,
  sign as signBytes,
  type KeyObject,
} from 'node:crypto'
import { algorithmOf, type KeyFamily } from '../common/algorithms.js'
import type { SigningMethod } from '../../types/jwt.js'

/** Base64url of bytes, of a text, or of an object as JSON. */
export function encode(value: unknown): string {
  const bytes = typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)
  return Buffer.from(bytes as string).toString('base64url')
}

/** Seconds since 1970. */
export const now = (): number => Math.floor(Date.now() / 1000)

/** A JOSE header. */
export const header = (alg: unknown, more: object = {}): object => ({ alg, typ: 'JWT', ...more })

/**
 * The header of a good token, slightly changed: it keeps the purpose and the name of the key, so that nothing but the
 * change is wrong.
 */
export function headerLike(
  {
    method,
    typ,
    kid,
  }: {
    readonly method: SigningMethod
    readonly typ?: unknown
    readonly kid?: string | undefined
  },
  more: object = {},
  alg: unknown = method,
): object {
  return header(alg, {
    ...(typ !== undefined && { typ }),
    ...(kid !== undefined && { kid }),
    ...more,
  })
}

/** An HMAC token whose header and payload may be anything. */
export function hmacToken(
  header: unknown,
  payload: unknown,
  key: string | Buffer | KeyObject,
  hash = 'sha256',
): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`
}

/** A token signed with a private key. `hash` is null for EdDSA. */
export function signedToken(
  header: unknown,
  payload: unknown,
  key: KeyObject,
  hash: string | null = 'sha256',
  pss = false,
): string {
  const input = `${encode(header)}.${encode(payload)}`
  const signature = signBytes(hash, Buffer.from(input), {
    key,
    dsaEncoding: 'ieee-p1363',
    ...(pss && {
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  })
  return `${input}.${signature.toString('base64url')}`
}

/** A token signed by a method, with any header. */
export function forge(
  header: unknown,
  payload: unknown,
  method: SigningMethod,
  key: KeyObject,
): string {
  // Decided by the key, because the method may be one that does not belong to the key.
  const isEdwards = key.asymmetricKeyType?.startsWith('ed') === true
  const hash = isEdwards ? null : `sha${method.slice(2)}`
  return key.type === 'secret'
    ? hmacToken(header, payload, key, String(hash))
    : signedToken(header, payload, key, hash, method.startsWith('PS'))
}

/** A key that signs and the key that verifies; for HMAC both are the same secret. */
export interface ForgedKey {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const makers: Readonly<Record<KeyFamily, (curve: string) => ForgedKey>> = {
  secret: () => {
    const key = createSecretKey(randomBytes(64))
    return { privateKey: key, publicKey: key }
  },
  rsa: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ecdsa: (namedCurve) => generateKeyPairSync('ec', { namedCurve }),
  eddsa: () => generateKeyPairSync('ed25519'),
}
const strangers = new Map<string, ForgedKey>()

/** A key for a method that no app knows. Made once for each process, because RSA keys take long. */
export function strangerKey(method: SigningMethod): ForgedKey {
  const { family, curve = '' } = algorithmOf(method)
  const kind = `${family} ${curve}`
  const key = strangers.get(kind) ?? makeKey(method)
  strangers.set(kind, key)
  return key
}

/** Makes a new key for a method. */
export function makeKey(method: SigningMethod): ForgedKey {
  const { family, curve = '' } = algorithmOf(method)
  return makers[family](curve)
}
