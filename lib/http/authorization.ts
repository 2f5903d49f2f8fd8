import { atob, isUtf8 } from 'node:buffer'

/** `token` of RFC 9110 §5.6.2, one character. */
const tokenCharacter = /[!#$%&'*+.^_`|~0-9A-Za-z-]/
/** `b64token` of RFC 6750 §2.1. */
export const b64token = /^[A-Za-z0-9\-._~+/]+=*$/
/** base64 with padding (RFC 4648 §4), where the length is a multiple of 4. */
const base64 = /^[A-Za-z0-9+/]*={0,2}$/
const printable = /^[ -~]*$/
/** Control characters, which RFC 7617 §2 forbids in both parts. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
export const controlCharacter = /[\u0000-\u001f\u007f]/

/** The longest header that is read, in characters. 16 KiB is what Node accepts of all headers by default. */
const longest = 16_384

/** Returned for credentials of the right scheme that break its RFC. */
export const MALFORMED = Symbol('malformed')

/** `user-id` and `password` of RFC 7617 §2. */
export interface BasicPair {
  readonly username: string
  readonly password: string
}

/**
 * The credentials after a scheme in an `Authorization` header (RFC 9110 §11.6.2).
 * @param scheme - best in its usual spelling, which is compared first
 * @returns `''` where nothing follows; MALFORMED where something else than a space follows the scheme; null when the
 * header is missing or of another scheme
 */
export function credentialsOf(
  header: string | undefined,
  scheme: string,
): string | typeof MALFORMED | null {
  if (header === undefined) return null
  const { length } = scheme
  const start = header.slice(0, length)
  if (start !== scheme && start.toLowerCase() !== scheme.toLowerCase()) return null
  if (header.length === length) return ''
  let end = length
  while (header.charCodeAt(end) === 0x20) end += 1
  if (end > length) return header.slice(end)
  return tokenCharacter.test(header.charAt(length)) ? null : MALFORMED
}

/** The Bearer token of a header (RFC 6750 §2.1); null for no header, another scheme, and an empty `Bearer`. */
export function parseBearer(header: string | undefined): string | typeof MALFORMED | null {
  const credentials = credentialsOf(header, 'Bearer')
  if (credentials === null || credentials === '') return null
  return credentials !== MALFORMED && b64token.test(credentials) ? credentials : MALFORMED
}

/**
 * The name and the password of a header (RFC 7617 §2): strict base64 of UTF-8, split at the first colon, without
 * control characters; null for no header and for another scheme.
 */
export function parseBasic(header: string | undefined): BasicPair | typeof MALFORMED | null {
  const credentials = credentialsOf(header, 'Basic')
  if (credentials === null) return null
  if (credentials === MALFORMED || credentials === '' || credentials.length > longest)
    return MALFORMED
  const padding = credentials.indexOf('=')
  const unpadded = padding === -1 ? credentials.length : padding
  if (credentials.length % 4 !== 0 || !base64.test(credentials)) return MALFORMED
  if (!isCanonical(credentials, unpadded)) return MALFORMED
  // atob() gives one character for each byte, which for ASCII is the result already, and faster than a Buffer.
  const octets = atob(credentials)
  const bytes = printable.test(octets) ? null : Buffer.from(octets, 'latin1')
  if (bytes !== null && !isUtf8(bytes)) return MALFORMED
  const text = bytes?.toString() ?? octets
  if (controlCharacter.test(text)) return MALFORMED
  const colon = text.indexOf(':')
  if (colon === -1) return MALFORMED
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** Whether a request has several `Authorization` headers; Node keeps the first one and drops the others. */
export function hasSeveral(rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length !== 13) continue
    // The usual spelling first, since toLowerCase() makes a new string.
    if (name === 'Authorization' || name.toLowerCase() === 'authorization') count += 1
  }
  return count > 1
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Whether the unused bits after the last byte are zero (RFC 4648 §3.5). Node ignores them, so that several strings
 * would decode to one value. In base64 and base64url, the characters that differ end no canonical string with unused
 * bits.
 */
export function isCanonical(text: string, length = text.length): boolean {
  const rest = length % 4
  if (rest === 0) return true
  const last = alphabet.indexOf(text.charAt(length - 1))
  return rest !== 1 && (last & (rest === 2 ? 0b1111 : 0b11)) === 0
}
