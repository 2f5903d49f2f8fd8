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
  // Only space and tab (RFC 9110 §5.6.3), and not what else trim() removes: to browsers, a name with a no-break space
  // before `__Host-` is another one, which any subdomain may set.
  const pairs = (header ?? '').split(';').map((pair) => pair.replace(/^[\t ]+/, ''))
  const found = pairs.filter((pair) => pair.startsWith(`${name}=`))
  if (found.length > 1) return MALFORMED
  return found[0]?.slice(name.length + 1).trim() || null
}

export function setCookie({ name, value, maxAge, isSecure, sameSite }: NewCookie): string {
  const life = maxAge === null ? '' : `; Max-Age=${maxAge}`
  return `${name}=${value}${life}; Path=/${isSecure ? '; Secure' : ''}; HttpOnly; SameSite=${sameSite}`
}
