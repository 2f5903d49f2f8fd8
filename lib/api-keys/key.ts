import { createHash, randomBytes } from 'node:crypto'
import type { StoredApiKey } from '../../types/api-keys.js'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Lengths of the parts after the prefix: 32 digits have 190 random bits. */
const idLength = 16
const secretLength = 32
export const checksumLength = 6

/** Makes a key. @param expiresAt - seconds since 1970; null for never @returns also what is stored of it */
export function newKey(
  prefix: string,
  { owner, ownerType, name, scopes }: Pick<StoredApiKey, 'owner' | 'ownerType' | 'name' | 'scopes'>,
  expiresAt: number | null,
): { key: string; stored: StoredApiKey } {
  const id = randomDigits(idLength)
  const start = `${prefix}_${id}${randomDigits(secretLength)}`
  const key = start + checksumOf(start)
  const times = { createdAt: Date.now() / 1000, expiresAt, lastUsedAt: null, revokedAt: null }
  const about = { id, digest: digestOf(key), owner, ownerType, name, scopes }
  return { key, stored: { ...about, ...times, replacedBy: null } }
}

/** Returns the id in a key. The form is not checked here: the caller does that, or compares the whole key. */
export function idOf(key: string): string {
  return key.slice(-idLength - secretLength - checksumLength, -secretLength - checksumLength)
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9A-Za-z]{16}$/.test(value)
}

/** @returns a function that says what is wrong with a key, for the log; null for one whose form and checksum are right */
export function keyChecker(prefix: string): (text: string) => 'no API key' | 'checksum' | null {
  const form = new RegExp(`^${prefix}_[0-9A-Za-z]{${idLength + secretLength + checksumLength}}$`)
  return (text) => {
    if (!form.test(text)) return 'no API key'
    const end = text.length - checksumLength
    return checksumOf(text.slice(0, end)) === text.slice(end) ? null : 'checksum'
  }
}

/** SHA-256 in base64url. A slow hash would add nothing: 190 random bits cannot be guessed. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

function randomDigits(length: number): string {
  let text = ''
  while (text.length < length) {
    // From 248 on, the first digits would be more frequent than the others.
    for (const byte of randomBytes(length)) if (byte < 248) text += digits.charAt(byte % 62)
  }
  return text.slice(0, length)
}

/** CRC-32 (Node has `zlib.crc32` since 20.15 only) as a base62 number with six digits. */
export function checksumOf(text: string): string {
  let crc = -1
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xed_b8_83_20 : 0)
  }
  const place = (at: number): number => Math.floor((~crc >>> 0) / 62 ** at) % 62
  return [5, 4, 3, 2, 1, 0].map((at) => digits[place(at)]).join('')
}
