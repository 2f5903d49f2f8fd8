import { MALFORMED } from './authorization.js'

/** `cookie-octet` of RFC 6265 §4.1.1: what a value may be made of. */
const cookieOctets = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/

/** The most bytes of a cookie, its name, value and attributes, that every browser keeps (RFC 6265 §6.1). */
export const longestCookie = 4096

/** A cookie for the header `Set-Cookie`. It is sent back to this host only. */
export interface NewCookie {
  readonly name: string
  /** Only `cookie-octet`: see {@link isCookieValue}. */
  readonly value: string
  /** Seconds; 0 removes the cookie; null keeps it until the browser ends. */
  readonly maxAge: number | null
  readonly isSecure: boolean
  readonly sameSite: 'Lax' | 'Strict'
}

/** Whether a string can be the value of a cookie. Values are neither encoded nor decoded. */
export function isCookieValue(text: string): boolean {
  return cookieOctets.test(text)
}

/**
 * The value of one cookie of a request (RFC 6265 §5.4). It is not decoded, and quotation marks belong to it. Node joins
 * several `Cookie` headers by `; `.
 *
 * @param header - the value of the header `Cookie`
 * @returns null when the cookie is missing or empty; MALFORMED when it was sent twice: an attacker may have set one of
 * the two, and their order says nothing
 */
export function cookieOf(
  header: string | undefined,
  name: string,
): string | typeof MALFORMED | null {
  if (header === undefined) return null
  let found: string | null = null
  for (let at = 0; at < header.length;) {
    const semicolon = header.indexOf(';', at)
    const end = semicolon === -1 ? header.length : semicolon
    while (isBlank(header.charCodeAt(at))) at += 1
    const equals = at + name.length
    if (header.startsWith(name, at) && header.charCodeAt(equals) === 0x3d) {
      if (found !== null) return MALFORMED
      found = trimmed(header, equals + 1, end)
    }
    at = end + 1
  }
  return found === '' ? null : found
}

function trimmed(text: string, start: number, end: number): string {
  while (start < end && isBlank(text.charCodeAt(start))) start += 1
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

/** Space and tab (RFC 9110 §5.6.3). */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

export function setCookie({ name, value, maxAge, isSecure, sameSite }: NewCookie): string {
  const life = maxAge === null ? '' : `; Max-Age=${maxAge}`
  return `${name}=${value}${life}; Path=/${isSecure ? '; Secure' : ''}; HttpOnly; SameSite=${sameSite}`
}
