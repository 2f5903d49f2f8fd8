import type { FastifyRequest } from 'fastify'
import { wrongOption } from '../errors/errors.js'
import { isOrigin, isOwnOrigin } from '../http/origin.js'
import { quotedAddress } from '../options/address.js'

/** Methods that change nothing (RFC 9110 §9.2.1), which links and images of other sites may therefore use. */
export const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The option `cookies.trustedOrigins`. @throws ERR_AUTH_OPTION for a string that no browser would send */
export function trustedOf(origins: readonly string[]): ReadonlySet<string> {
  for (const [index, origin] of origins.entries()) {
    if (isOrigin(origin)) continue
    wrongOption(
      `option "cookies.trustedOrigins.${index}": found ${quotedAddress(origin)}, expected an origin as browsers write it: https://shop.example or http://localhost:5173, in lower case, without a path, a closing /, a wildcard and the default port.`,
    )
  }
  return new Set(origins)
}

/**
 * Whether a request may be a CSRF, by the rule of `CrossOriginProtection` in Go 1.25. It goes by `Sec-Fetch-Site` and,
 * for older browsers, `Origin`, which pages cannot change. A request with neither comes from no browser.
 * @returns the reason, for the log; null for a request that passes
 */
export function crossSiteReason(
  request: FastifyRequest,
  trusted: ReadonlySet<string>,
): string | null {
  const { method, headers } = request
  // Browsers let pages of every site open a WebSocket, by GET (RFC 6455 §4.1).
  const isSocket = /\bwebsocket\b/i.test(headers.upgrade ?? '')
  if (safeMethods.has(method) && !isSocket) return null
  const { origin } = headers
  if (origin !== undefined && trusted.has(origin)) return null
  // Node joins several headers of a name with commas, which gives none of these values.
  const site = headers['sec-fetch-site']
  if (site !== undefined) {
    return site === 'same-origin' || site === 'none'
      ? null
      : 'Sec-Fetch-Site: another site, and its origin is not in cookies.trustedOrigins'
  }
  if (origin === undefined || isOwnOrigin(origin, request.protocol, request.host)) return null
  return 'Origin: neither that of request.protocol and request.host, nor in cookies.trustedOrigins'
}

/** Whether a script of another site sent the request. Browsers keep the cookies of a page that they go to. */
export function isCrossSiteFetch({ headers }: FastifyRequest): boolean {
  return headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate'
}
