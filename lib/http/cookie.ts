import { MALFORMED } from './authorization.js'

/** `cookie-octet` of RFC 6265 §4.1.1: what a value may be made of. */
const cookieOctets = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/

/** The most bytes of a cookie, its name, value and attributes, that every browser keeps (RFC 6265 §6.1). */
export const longestCookie = 4096

/** A cookie for the header `Set-Cookie`. It is sent back to this host only. */
export interface NewCookie {
  readonly name: string
  /** Only characters that {@link isCookieValue} accepts. */
  readonly value: string
  /** Seconds; 0 removes the cookie; null keeps it until the browser ends. */
  readonly maxAge: number | null
  readonly isSecure: boolean
  readonly sameSite: 'Lax' | 'Strict'
}

export function isCookieValue(text: string): boolean {
  return cookieOctets.test(text)
}

/** The cookies of a request by their names; MALFORMED for a name that was sent twice. */
export type Cookies = ReadonlyMap<string, string | typeof MALFORMED>

/**
 * Reads the header `Cookie` (RFC 6265 §5.4), in one pass, since a client may send 15,000 semicolons. Values are not
 * decoded, and quotation marks belong to them. Of a name that was sent twice, an attacker may have set one value, and
 * their order says nothing. Node joins several headers by `; `.
 */
export function parseCookies(header: string): Cookies {
  const cookies = new Map<string, string | typeof MALFORMED>()
  let equals = header.indexOf('=')
  for (let start = 0, end = 0; equals !== -1; start = end + 1) {
    end = header.indexOf(';', start)
    if (end === -1) end = header.length
    // Only space and tab are skipped (RFC 9110 §5.6.3). trim() removes more: to browsers, a name with a no-break space
    // before `__Host-` is another one, which any subdomain may set.
    while (header[start] === ' ' || header[start] === '\t') start += 1
    if (equals > end) continue
    const name = header.slice(start, equals)
    cookies.set(name, cookies.has(name) ? MALFORMED : header.slice(equals + 1, end).trim())
    equals = header.indexOf('=', end)
  }
  return cookies
}

export function setCookie({ name, value, maxAge, isSecure, sameSite }: NewCookie): string {
  const life = maxAge === null ? '' : `; Max-Age=${maxAge}`
  return `${name}=${value}${life}; Path=/${isSecure ? '; Secure' : ''}; HttpOnly; SameSite=${sameSite}`
}
