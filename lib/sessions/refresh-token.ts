import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/**
 * A refresh token: base64url of 16 bytes that all tokens of a session share, 32 bytes of its own, and 8 bytes of a
 * checksum, so that other strings are rejected without asking the store.
 */
export interface RefreshToken {
  readonly text: string
  /** The part that all tokens of the session share. It is as secret as the token: it suffices to revoke the session. */
  readonly handle: Buffer
}

const handleLength = 16
const secretLength = 32
const checkLength = 8

export function newRefreshToken(handle: Buffer = randomBytes(handleLength)): RefreshToken {
  return assemble(Buffer.concat([handle, randomBytes(secretLength)]))
}

/** @param start - the token without its checksum */
function assemble(start: Buffer): RefreshToken {
  const check = createHash('sha256').update(start).digest().subarray(0, checkLength)
  const text = Buffer.concat([start, check]).toString('base64url')
  return { handle: start.subarray(0, handleLength), text }
}

/** Null for a string of another length, with other characters, or with a wrong checksum. */
export function parseRefreshToken(text: string): RefreshToken | null {
  if (text.length !== 75) return null
  const bytes = Buffer.from(text, 'base64url')
  const token = assemble(bytes.subarray(0, handleLength + secretLength))
  // The whole string is compared, because the last character has unused bits: several strings would decode to one token.
  return token.text === text ? token : null
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
  const sealed = [nonce, encrypt.update(next.text), encrypt.final(), encrypt.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

/** @throws when it was sealed for another token, or was changed */
export function unseal(sealed: string, presented: RefreshToken): RefreshToken {
  const bytes = Buffer.from(sealed, 'base64url')
  const decrypt = createDecipheriv(cipher, keyOf(presented), bytes.subarray(0, nonceLength), {
    authTagLength: tagLength,
  })
  decrypt.setAuthTag(bytes.subarray(-tagLength))
  const text = [decrypt.update(bytes.subarray(nonceLength, -tagLength)), decrypt.final()]
  return { handle: presented.handle, text: Buffer.concat(text).toString() }
}

/** HKDF (RFC 5869), with a label that no other use of the token has. */
function keyOf({ text, handle }: RefreshToken): Buffer {
  const label = 'fastify-authn successor of a refresh token'
  return Buffer.from(hkdfSync('sha256', text, handle, label, 32))
}
