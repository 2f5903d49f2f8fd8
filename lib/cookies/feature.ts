import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { membersOf, readsCookie } from '../authenticators/facts.js'
import { isProduction } from '../common/production.js'
import { refusal, wrongOption } from '../errors.js'
import { MALFORMED } from '../http/authorization.js'
import { cookieOf, type NewCookie } from '../http/cookie.js'
import { schemeOf } from '../http/origin.js'
import { carriedBy, carryOn } from '../request/carried.js'
import { crossSiteReason, safeMethods, trustedOf } from './csrf.js'
import { lifeOf, setCookies } from './reply.js'
import type { ResolvedCookies } from '../options/resolve.js'
import type { CookieMode } from '../registration.js'

/** The hosts of a machine that develops an app: browsers take `Secure` cookies only from some of them without TLS. */
const localHost = /^(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/

const droppedCookies =
  'fastify-authn: a login came by http, and browsers take its cookies only by https. Where a proxy terminates TLS for this app, set trustProxy of Fastify; without TLS, they work on localhost and 127.0.0.1 only, and where NODE_ENV is not production.'

type Jar = Readonly<Record<'access' | 'refresh', Omit<NewCookie, 'value' | 'maxAge'>>>

/** Tokens in cookies, for one registration. */
export function cookiesFeature({ name, sameSite, trustedOrigins }: ResolvedCookies): CookieMode {
  const trusted = trustedOf(trustedOrigins)
  const jarOf = (host: '__Host-' | ''): Jar => {
    const start = name === '' ? host : `${host}${name}-`
    const isSecure = host !== ''
    const attribute = sameSite === 'lax' ? 'Lax' : 'Strict'
    return {
      access: { name: `${start}token`, isSecure, sameSite: attribute },
      refresh: { name: `${start}refresh`, isSecure, sameSite: 'Strict' },
    }
  }
  // A browser takes a cookie with the prefix only over TLS, with `Secure` and for one host, so that no sibling subdomain
  // can set it, and nobody who writes into connections without TLS (RFC 6265bis §4.1.3.2).
  const strict = jarOf('__Host-')
  const local = isProduction() ? strict : jarOf('')
  const jar = (request: FastifyRequest): Jar => {
    if (local === strict) return strict
    const isLocal = schemeOf(request.protocol) === 'http' && localHost.test(request.host)
    return isLocal ? local : strict
  }
  let hasWarned = false
  const warn = (log: FastifyBaseLogger): void => {
    if (!hasWarned) log.warn(droppedCookies)
    hasWarned = true
  }
  const crossSite: CookieMode['crossSite'] = (request) => {
    const reason = crossSiteReason(request, trusted)
    return reason === null ? null : refusal('auth.cross-site', { cause: reason })
  }

  const mode: CookieMode = {
    name: strict.access.name,
    nameFor: (request) => jar(request).access.name,
    safeMethods,
    crossSite,
    accessToken(request) {
      if (request.headers.cookie === undefined) return null
      const { name: own } = jar(request).access
      const value = cookieOf(request.headers.cookie, own)
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
    give(request, reply, { token, expiresIn = lifeOf(token), refreshToken, refreshExpiresIn }) {
      const { access, refresh } = jar(request)
      if (access.isSecure && request.protocol === 'http') warn(request.log)
      const cookies: NewCookie[] = [{ ...access, value: token, maxAge: expiresIn }]
      if (refreshToken !== undefined) {
        cookies.push({ ...refresh, value: refreshToken, maxAge: refreshExpiresIn ?? null })
      }
      setCookies(reply, cookies)
      return { expiresIn }
    },
    clear(request, reply) {
      const { access, refresh } = jar(request)
      const gone = { value: '', maxAge: 0 }
      setCookies(reply, [
        { ...access, ...gone },
        { ...refresh, ...gone },
      ])
    },
    check({ options, authenticators, standard }, login, registrations) {
      const all = [standard ?? [], ...authenticators.values()].flat().flatMap(membersOf)
      if (!all.some(readsCookie)) {
        stop('nothing would read them: set "userService" and "jwt", or name a jwtAuthenticator.')
      }
      if (login === null && options.login !== false) {
        stop(
          'there is no login route to set them: set "jwt" with a key that signs, or login: false where another server on this host sets them.',
        )
      }
      const others = registrations.map(({ cookies }) => cookies).filter((each) => each !== mode)
      if (others.some((other) => other?.name === mode.name)) {
        stop(
          `another registration in this app has the cookie ${mode.name} too, so that a login there would replace the one here. Give one of them a name: cookies: { name: 'admin' }.`,
        )
      }
    },
  }
  return mode
}

/** @throws AuthenticationError for a cookie that was sent twice */
function once(value: string | typeof MALFORMED | null, name: string): string | null {
  if (value !== MALFORMED) return value
  const code = 'ERR_AUTH_MALFORMED_CREDENTIALS'
  throw refusal('auth.no-credentials-provided', { code, cause: `two cookies ${name}` })
}

function stop(problem: string): never {
  wrongOption(`option "cookies" is set, but ${problem}`)
}
