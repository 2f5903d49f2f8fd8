import type { FastifyRequest } from 'fastify'
import { isProduction } from '../common/production.js'
import { refusal } from '../errors.js'
import { MALFORMED } from '../http/authorization.js'
import { cookieOf, type NewCookie } from '../http/cookie.js'
import { schemeOf } from '../http/origin.js'
import { carriedBy, carryOn } from '../request/carried.js'
import { crossSiteReason, safeMethods, trustedOf } from './cross-site.js'
import { giveCookies, lifeOf } from './give.js'
import type { ResolvedCookies } from '../options/resolve.js'
import type { CookieMode } from '../registration.js'

/** The hosts of a machine that develops an app: browsers take `Secure` cookies only from some of them without TLS. */
const localHost = /^(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/

/** The two cookies, as one request has and gets them. */
interface Jar {
  readonly access: Pick<NewCookie, 'name' | 'isSecure' | 'sameSite'>
  readonly refresh: Pick<NewCookie, 'name' | 'isSecure' | 'sameSite'>
}

/** Tokens in cookies, for one registration. */
export function cookieMode({ name, sameSite, trustedOrigins }: ResolvedCookies): CookieMode {
  const trusted = trustedOf(trustedOrigins)
  const prefix = name === '' ? '' : `${name}-`
  const jarOf = (start: '__Host-' | ''): Jar => {
    const isSecure = start !== ''
    return {
      access: {
        name: `${start}${prefix}token`,
        isSecure,
        sameSite: sameSite === 'lax' ? 'Lax' : 'Strict',
      },
      refresh: { name: `${start}${prefix}refresh`, isSecure, sameSite: 'Strict' },
    }
  }
  // A browser takes a cookie with the prefix only over TLS, with `Secure` and for one host, so that nobody else can set
  // it: no sibling subdomain, and nobody who writes into connections without TLS (RFC 6265bis §4.1.3.2).
  const strict = jarOf('__Host-')
  const local = isProduction() ? strict : jarOf('')
  const jar = (request: FastifyRequest): Jar => {
    if (local === strict) return strict
    const isLocal = schemeOf(request.protocol) === 'http' && localHost.test(request.host)
    return isLocal ? local : strict
  }
  const warn = warnOnce()

  const once = (value: string | typeof MALFORMED | null, cookie: string): string | null => {
    if (value !== MALFORMED) return value
    const reason = {
      code: 'ERR_AUTH_MALFORMED_CREDENTIALS',
      cause: `two cookies ${cookie}`,
    } as const
    throw refusal('auth.no-credentials-provided', reason)
  }
  const crossSite: CookieMode['crossSite'] = (request) => {
    const reason = crossSiteReason(request, trusted)
    return reason === null ? null : refusal('auth.cross-site', { cause: reason })
  }

  return {
    name: strict.access.name,
    nameFor: (request) => jar(request).access.name,
    safeMethods,
    crossSite,
    accessToken(request) {
      const { cookie } = request.headers
      if (cookie === undefined) return null
      const { name: own } = jar(request).access
      const value = cookieOf(cookie, own)
      if (value === null) return null
      carryOn(request).isByCookie = true
      const error = crossSite(request)
      if (error !== null) throw error
      return once(value, own)
    },
    refreshToken(request) {
      const { name: own } = jar(request).refresh
      return once(cookieOf(request.headers.cookie, own), own)
    },
    keepPrivate(request, reply) {
      if (carriedBy(request)?.isByCookie !== true || reply.hasHeader('cache-control')) return
      // Before the handler runs, so that what it sets counts.
      void reply.header('cache-control', 'private')
    },
    give(request, reply, tokens) {
      const expiresIn = tokens.expiresIn ?? lifeOf(tokens.token)
      const { access, refresh } = jar(request)
      if (access.isSecure && request.protocol === 'http') warn(request)
      const cookies: NewCookie[] = [{ ...access, value: tokens.token, maxAge: expiresIn }]
      if (tokens.refreshToken !== undefined) {
        cookies.push({
          ...refresh,
          value: tokens.refreshToken,
          maxAge: tokens.refreshExpiresIn ?? null,
        })
      }
      giveCookies(reply, cookies)
      return { expiresIn }
    },
    clear(request, reply) {
      const { access, refresh } = jar(request)
      giveCookies(
        reply,
        [access, refresh].map((each) => ({ ...each, value: '', maxAge: 0 })),
      )
    },
  }
}

/** Tells why nobody stays logged in, where that is so: browsers drop such cookies without a word. */
function warnOnce(): (request: FastifyRequest) => void {
  let isTold = false
  return ({ log }) => {
    if (isTold) return
    isTold = true
    log.warn(
      'fastify-authn: a login came by http, and browsers take its cookies only by https. Where a proxy speaks TLS for this app, set trustProxy of Fastify; without TLS, they work on localhost and 127.0.0.1 only, and where NODE_ENV is not production.',
    )
  }
}
