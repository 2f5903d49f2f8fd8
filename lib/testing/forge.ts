import {
  constants,
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from 'node:crypto'
import { algorithmOf, type KeyFamily } from '../common/algorithms.js'
import { withoutUndefined } from '../common/objects.js'
import type { SigningMethod } from '../../types/jwt.js'

/** The material of bad tokens: a good token, and the keys that are known. */
export interface Material {
  readonly claims: Readonly<Record<string, unknown>>
  readonly method: SigningMethod
  /** The claim that names the user. */
  readonly claimName: string
  /** The purpose that the header of a good token names (`typ`), where it is not `JWT`. */
  readonly typ?: unknown
  /** The name of the key in the header of a good token (`kid`), where it has one. */
  readonly kid?: string | undefined
  readonly token?: string | undefined
  /** The key that signed it: a secret or a private key. */
  readonly key?: KeyObject | undefined
  /** The public key that verifies the good token; undefined for HMAC. */
  readonly publicKey?: KeyObject | undefined
}

/** The content of a token. */
export interface TokenContent {
  /** The claim `sub`. If the app names users by another claim, leave it out and give that one in `claims`. */
  readonly sub?: string | number | undefined
  /** Seconds from now until `exp`; negative for an expired token. Default: `jwt.expiry`. */
  readonly expiresIn?: number | undefined
  /** Seconds from now until `nbf`. Default 0. */
  readonly notBefore?: number | undefined
  /** Default: `jwt.signingMethod`. */
  readonly algorithm?: SigningMethod | undefined
  /** More claims. Default: those of every token of the app. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /** The header's `typ`: what the token is for. Default `JWT`. */
  readonly typ?: string | undefined
}

/** Base64url of bytes, of a string, or of an object as JSON. */
export function encode(value: unknown): string {
  const bytes = typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)
  return Buffer.from(bytes as string).toString('base64url')
}

export const epochSeconds = (): number => Math.floor(Date.now() / 1000)

/** The claims that were asked for, without those that every token has. */
export function askedClaimsOf(content: TokenContent): Record<string, unknown> {
  const { claims, sub, expiresIn, notBefore } = content
  const exp = expiresIn === undefined ? claims?.exp : epochSeconds() + expiresIn
  const nbf = notBefore === undefined ? claims?.nbf : epochSeconds() + notBefore
  return withoutUndefined({ ...claims, sub: sub ?? claims?.sub, exp, nbf })
}

export function headerLike(
  { method, typ = 'JWT', kid }: Pick<Material, 'method' | 'typ' | 'kid'>,
  more: object = {},
  alg: unknown = method,
): object {
  return { alg, typ, ...(kid !== undefined && { kid }), ...more }
}

/** A token signed by a method, with any header and payload, also where the method does not belong to the key. */
export function forge(header: unknown, payload: unknown, method: SigningMethod, key: KeyObject) {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${signatureOf(input, method, key).toString('base64url')}`
}

function signatureOf(input: string, method: SigningMethod, key: KeyObject): Buffer {
  const hash = `sha${method.slice(2)}`
  if (key.type === 'secret') return createHmac(hash, key).update(input).digest()
  const isEdwards = key.asymmetricKeyType?.startsWith('ed') === true
  return sign(isEdwards ? null : hash, Buffer.from(input), {
    key,
    dsaEncoding: 'ieee-p1363',
    ...(method.startsWith('PS') && {
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  })
}

/** A key that signs and the key that verifies; for HMAC both are the same secret. */
type ForgedKey = Readonly<Record<'privateKey' | 'publicKey', KeyObject>>

const makers: Readonly<Record<KeyFamily, (curve: string) => ForgedKey>> = {
  secret: () => {
    const key = createSecretKey(randomBytes(64))
    return { privateKey: key, publicKey: key }
  },
  rsa: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ecdsa: (namedCurve) => generateKeyPairSync('ec', { namedCurve }),
  eddsa: () => generateKeyPairSync('ed25519'),
}
const made = new Map<string, ForgedKey>()

/** A key for a method that no app has. Made once for each process and owner, because RSA keys take long. */
export function keyOf(owner: 'attacker' | 'issuer', method: SigningMethod): ForgedKey {
  const { family, curve = '' } = algorithmOf(method)
  const id = `${owner} ${family} ${curve}`
  const key = made.get(id) ?? makers[family](curve)
  made.set(id, key)
  return key
}

/** The name of the one key in key sets that take the place of those of issuers and providers. */
export const kid = 'fastify-authn-testing'

export function keySetOf(method: SigningMethod): object {
  const jwk = keyOf('issuer', method).publicKey.export({ format: 'jwk' })
  return { keys: [{ ...jwk, kid, alg: method, use: 'sig' }] }
}
