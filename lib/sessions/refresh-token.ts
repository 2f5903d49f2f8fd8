import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/**
 * A refresh token: base64url of 16 bytes that all tokens of a session share, 32 bytes of its own, and 8 bytes of a
 * checksum, so that other strings are rejected without asking the store.
 */
export interface RefreshToken {
  readonly text: string
  /** What all tokens of the session share. It is as secret as the token: it suffices to revoke the session. */
  readonly handle: Buffer
}

const handleLength = 16
const secretLength = 32
const checkLength = 8
/** base64url of 56 bytes, without padding. */
const pattern = /^[\w-]{75}$/

/** @param handle - of the session; default: that of a new one */
export function newRefreshToken(handle: Buffer = randomBytes(handleLength)): RefreshToken {
  return assemble(handle, randomBytes(secretLength))
}

function assemble(handle: Buffer, secret: Buffer): RefreshToken {
  const start = Buffer.concat([handle, secret])
  return { handle, text: Buffer.concat([start, checkOf(start)]).toString('base64url') }
}

function checkOf(start: Buffer): Buffer {
  return createHash('sha256').update(start).digest().subarray(0, checkLength)
}

/**
 * Reads a refresh token.
 *
 * @returns null for a string of another length, with other characters, or with a wrong checksum
 */
export function parseRefreshToken(text: string): RefreshToken | null {
  if (!pattern.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  // Unused bits after the last byte must be zero, or several strings would be one token.
  if (bytes.toString('base64url') !== text) return null
  const start = bytes.subarray(0, handleLength + secretLength)
  if (!timingSafeEqual(bytes.subarray(start.length), checkOf(start))) return null
  return { text, handle: Buffer.from(start.subarray(0, handleLength)) }
}

/** What a store keeps of a token or of a handle. */
export function digestOf(secret: Buffer | string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

const cipher = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/**
 * Encrypts a token so that only its predecessor decrypts it. The key is derived from the predecessor and not from its
 * digest, which the store has.
 */
export function seal(next: RefreshToken, presented: RefreshToken): string {
  const nonce = randomBytes(nonceLength)
  const encrypt = createCipheriv(cipher, keyOf(presented), nonce)
  const secret = Buffer.from(next.text, 'base64url').subarray(
    handleLength,
    handleLength + secretLength,
  )
  const sealed = [nonce, encrypt.update(secret), encrypt.final(), encrypt.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

/** @throws when it was sealed for another token, or was changed */
export function unseal(sealed: string, presented: RefreshToken): RefreshToken {
  const bytes = Buffer.from(sealed, 'base64url')
  const decrypt = createDecipheriv(cipher, keyOf(presented), bytes.subarray(0, nonceLength), {
    authTagLength: tagLength,
  })
  decrypt.setAuthTag(bytes.subarray(-tagLength))
  const secret = [decrypt.update(bytes.subarray(nonceLength, -tagLength)), decrypt.final()]
  return assemble(presented.handle, Buffer.concat(secret))
}

/** HKDF (RFC 5869), with a label that no other use of the token has. */
function keyOf({ text, handle }: RefreshToken): Buffer {
  const label = 'fastify-authn successor of a refresh token'
  return Buffer.from(hkdfSync('sha256', text, handle, label, 32))
}
