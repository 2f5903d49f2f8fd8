import { wrongOption } from '../errors/errors.js'
import { isOrigin } from '../http/origin.js'

/** An origin that no app has, to resolve a path as browsers do. */
const anyOrigin = 'https://app.invalid'

/** Whether a string from a client is a path of this app (open redirect, RFC 9700 §4.11), and fits into a cookie. */
export function isPath(text: string): boolean {
  const isShort = text.length <= 1000 && Buffer.byteLength(text) <= 2500
  // Browsers take a backslash for a slash, and drop tabs and line feeds.
  if (!/^\/(?!\/)[^\\\p{Cc}]*$/u.test(text) || !isShort || !text.isWellFormed()) return false
  if (!URL.canParse(text, anyOrigin)) return false
  const { origin, pathname } = new URL(text, anyOrigin)
  // As in `/..//evil.example`.
  return origin === anyOrigin && !pathname.startsWith('//')
}

/** A path for the header `Location`, as it came but for what a header cannot have. */
export const encodedPath = (path: string): string =>
  path.replace(/[^\x21-\x7e]+/g, encodeURIComponent)

/** Where a login ends: the option `returnTo` or `failureTo` of a provider. */
export interface Target {
  /** Of another origin; empty for this one. */
  readonly origin: string
  /** With its query. */
  readonly path: string
}

/** @throws ERR_AUTH_OPTION */
export function targetOf(option: string, text: string, trusted: readonly string[]): Target {
  if (isPath(text)) return { origin: '', path: encodedPath(text) }
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && url.username === '' && url.password === '' && isOrigin(url.origin)) {
    if (trusted.includes(url.origin)) {
      return { origin: url.origin, path: `${url.pathname}${url.search}` }
    }
  }
  const found = text.includes('@') ? 'an address with an @' : JSON.stringify(text)
  return wrongOption(
    `option "${option}": found ${found}, expected a path such as /notes, or an address whose origin is in "cookies.trustedOrigins".`,
  )
}

/** Adds parameters to the query of a target. */
export function withQuery({ origin, path }: Target, parameters: Record<string, string>): string {
  const query = new URLSearchParams(parameters).toString()
  return `${origin}${path}${path.includes('?') ? '&' : '?'}${query}`
}
