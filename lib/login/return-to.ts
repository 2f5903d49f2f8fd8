import { wrongOption } from '../errors/errors.js'
import { quotedAddress } from '../options/address.js'

/** Whether a string from a client is a path of this app (open redirect, RFC 9700 §4.11), and fits into a cookie. */
export function isPath(text: string): boolean {
  if (text.length > 512 || Buffer.byteLength(text) > 512) return false
  // Browsers take a backslash for a slash, and drop tabs and line feeds.
  if (!/^\/(?!\/)[^\\\p{Cc}]*$/u.test(text) || !text.isWellFormed()) return false
  // The path `/..//evil.example` becomes `//evil.example`, which is another host.
  return !new URL(text, 'https://app.invalid').pathname.startsWith('//')
}

/** A path for the header `Location`, as it came but for what a header cannot have. */
const encodedPath = (path: string): string => path.replace(/[^\x21-\x7e]+/g, encodeURIComponent)

/** The address to which a login leads at its end: the option `returnTo` or `failureTo` of a provider. @throws ERR_AUTH_OPTION */
export function targetOf(option: string, text: string, trusted: readonly string[]): string {
  if (isPath(text)) return encodedPath(text)
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && url.username === '' && url.password === ''
  if (isPlain && trusted.includes(url.origin)) return url.href
  return wrongOption(
    `option "${option}": found ${quotedAddress(text)}, expected a path such as /notes, or an address whose origin is in "cookies.trustedOrigins".`,
  )
}

/** A path of a request, on the origin of a target. */
export const pathAt = (target: string, path: string): string =>
  `${target.startsWith('/') ? '' : new URL(target).origin}${encodedPath(path)}`
