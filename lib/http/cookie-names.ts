import type { FastifyRequest } from 'fastify'
import { schemeOf } from './origin.js'

export interface CookieSettings {
  readonly name: string
  readonly sameSite: 'lax' | 'strict'
  readonly apps: boolean
  readonly trustedOrigins: readonly string[]
}

/** The hosts of local development, where not every browser accepts `Secure` cookies without TLS. */
const localHost = /^(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/

const loopback = /^(?:::1|(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/

const forwarded = /^(?:x-forwarded-.*|forwarded|via|x-real-ip|cf-connecting-ip|true-client-ip)$/

/**
 * The beginning of the names of cookies. Browsers accept `__Host-` only over TLS, with `Secure` and for one host, so
 * that neither a sibling subdomain nor an attacker on a connection without TLS can set it (RFC 6265bis §4.1.3.2).
 */
export function cookieStart(host: '__Host-' | '', name: string): string {
  return name === '' ? host : `${host}${name}-`
}

/**
 * Whether a request comes from a browser on this machine, without TLS. A proxy may send the host `localhost` with the
 * requests of others: nginx does so by default.
 */
export function isLocal({ headers, host, protocol, socket }: FastifyRequest): boolean {
  return (
    schemeOf(protocol) === 'http' &&
    localHost.test(host) &&
    (headers.origin ?? 'http://').startsWith('http://') &&
    loopback.test(socket.remoteAddress ?? '') &&
    !Object.keys(headers).some((name) => forwarded.test(name))
  )
}
