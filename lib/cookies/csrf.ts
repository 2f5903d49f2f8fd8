import type { FastifyRequest } from 'fastify'
import { wrongOption } from '../errors.js'
import { isOrigin, isOwnOrigin } from '../http/origin.js'

/** Methods that change nothing (RFC 9110 §9.2.1), which links and images of other sites may therefore use. */
export const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * The option `cookies.trustedOrigins`.
 *
 * @throws ERR_AUTH_OPTION for a text that no browser would send
 */
export function trustedOf(origins: readonly string[]): ReadonlySet<string> {
  for (const [index, origin] of origins.entries()) {
    if (isOrigin(origin)) continue
    // A password in a URL stays out of the error.
    const found = origin.includes('@') ? 'a text with an @' : JSON.stringify(origin)
    wrongOption(
      `option "cookies.trustedOrigins.${index}": found ${found}, expected an origin as browsers write it: https://shop.example or http://localhost:5173, in small letters, without a path, a closing /, a wildcard and the default port.`,
    )
  }
  return new Set(origins)
}

/**
 * Whether a request may be a CSRF, sent by a page of another site with the cookies of its visitor: the rule of
 * `CrossOriginProtection` in Go 1.25. The headers `Sec-Fetch-Site` and, of older browsers, `Origin` decide, which pages
 * cannot change. A request with neither comes from no browser.
 *
 * @param trusted - other origins whose pages may send such requests
 * @returns why, for the log; null for a request that passes
 */
export function crossSiteReason(
  request: FastifyRequest,
  trusted: ReadonlySet<string>,
): string | null {
  const { method, headers } = request
  if (safeMethods.has(method) && !isSocket(headers.upgrade)) return null
  const { origin } = headers
  if (origin !== undefined && trusted.has(origin)) return null
  // Of several headers of a name, Node makes one text with commas, which is none of these.
  const site = headers['sec-fetch-site']
  if (site !== undefined) {
    return site === 'same-origin' || site === 'none' ? null : 'Sec-Fetch-Site: another site'
  }
  if (origin === undefined || isOwnOrigin(origin, request.protocol, request.host)) return null
  return 'Origin: not that of request.protocol and request.host'
}

/** A WebSocket is asked for by GET (RFC 6455 §4.1), and browsers let pages of every site do it. */
function isSocket(upgrade: string | undefined): boolean {
  return upgrade !== undefined && /\bwebsocket\b/i.test(upgrade)
}
