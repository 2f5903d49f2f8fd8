import {
  constants,
  createHmac,
  generateKeyPairSync,
  sign as signBytes,
  type KeyObject,
} from 'node:crypto'

/** Key pairs made for the tests; none is in the repository. */
export const keys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed25519: generateKeyPairSync('ed25519'),
}

export function privatePem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

export function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string
}

/** Base64url of bytes, of a text, or of an object as JSON. */
export function encode(value: unknown): string {
  const bytes = typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)
  return Buffer.from(bytes as string).toString('base64url')
}

/** Seconds since 1970. */
export const now = (): number => Math.floor(Date.now() / 1000)

/** Claims that are valid for a minute. */
export const claims = (more: object = {}): object => ({ sub: 'alice', exp: now() + 60, ...more })

/** An HMAC token whose header and payload may be anything. */
export function hmacToken(
  header: unknown,
  payload: unknown,
  key: string | Buffer,
  hash = 'sha256',
): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`
}

/** A token signed with a private key: hash null for EdDSA. */
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
