import type { FastifyReply, FastifyRequest } from 'fastify'
import { membersOf } from '../authenticators/any-of.js'
import { readsLocalTokens } from '../authenticators/jwt.js'
import { isProduction } from '../common/production.js'
import { AuthenticationFault, faultOf, rejection, wrongOption } from '../errors/errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { isCookieValue, longestCookie, setCookie, type NewCookie } from '../http/cookie.js'
import { cookieStart, isLocal, type CookieSettings } from '../http/cookie-names.js'
import * as Type from '@sinclair/typebox/type'
import { wantedLogin } from '../login/route.js'
import { cookieOf } from '../request/state.js'
import { unverifiedPart } from '../tokens/claims.js'
import { carrierForApps } from './apps.js'
import { crossSiteReason, isCrossSiteFetch, safeMethods, trustedOf } from './csrf.js'
import type { Feature, FeatureContext, Registration } from '../feature.js'
import type { TokenCarrier } from '../tokens/issued.js'

const overHttp =
  'fastify-authn: a login arrived over http, but browsers accept its cookies only over https. If a proxy terminates TLS, set trustProxy of Fastify. Without TLS, cookies work only on localhost and 127.0.0.1, without a proxy or a container in between, and only if NODE_ENV is not production.'

const crossSiteLogin =
  'fastify-authn: a page of another site has logged in. Browsers neither keep nor send SameSite cookies there, so its next request will be anonymous. Open the page on the host of the API, or on another host of its site: localhost and 127.0.0.1 are two sites. This is logged once'

const expiresIn = Type.Optional(Type.Integer())
const documented = Type.Object({ expiresIn }, { description: 'The tokens, as cookies.' })

const noApps =
  'fastify-authn: a client asks for tokens in the body (Token-Delivery), but got cookies. Clients that are not browsers need cookies: { apps: true }. This is logged once'

export { resolve, schema } from './options.js'

export interface CookiesTesting {
  /** The name of the cookie that a request like this one would have its access token in. */
  cookieName(request: FastifyRequest): string
}

/** The option `cookies.name` of each registration. */
const names = new WeakMap<Registration, string>()

/** The option `cookies`: tokens in cookies, which pages of other sites cannot use. */
export function create({ options, resolved }: FeatureContext<CookieSettings>): Feature {
  const { name, sameSite, apps, trustedOrigins } = resolved
  const trusted = trustedOf(trustedOrigins)
  const jarOf = (host: '__Host-' | '') => {
    const start = cookieStart(host, name)
    const isSecure = host !== ''
    return {
      access: { name: `${start}token`, isSecure, sameSite: sameSite === 'lax' ? 'Lax' : 'Strict' },
      refresh: { name: `${start}refresh`, isSecure, sameSite: 'Strict' },
    } as const
  }
  const [strict, lenient] = [jarOf('__Host-'), jarOf('')]
  const namesIn = ({ access, refresh }: typeof strict) => [access.name, refresh.name]
  const local = isProduction() ? strict : lenient
  const jar = (request: FastifyRequest) => {
    if (local === strict || !isLocal(request)) return strict
    // Browsers send no `Origin` with a GET, by which `isLocal` would know a page at https; these only https can have set.
    return namesIn(strict).some((each) => cookieOf(request, each) !== null) ? strict : local
  }
  const warned = new Set<string>()
  const warnOnce = (request: FastifyRequest, warning: string): void => {
    if (!warned.has(warning)) request.log.warn(warning)
    warned.add(warning)
  }
  const crossSite = (request: FastifyRequest) => {
    const reason = crossSiteReason(request, trusted)
    return reason === null ? null : rejection('auth.cross-site', { cause: reason })
  }
  const byCookie = new WeakSet<FastifyRequest>()

  const carrier: TokenCarrier = {
    schema: () => documented,
    check(request) {
      if (request.headers['token-delivery'] !== undefined) warnOnce(request, noApps)
    },
    refreshToken: (request) => once(request, jar(request).refresh.name),
    send(request, reply, { token, expiresIn = lifeOf(token), refreshToken, refreshExpiresIn }) {
      const { access, refresh } = jar(request)
      if (access.isSecure && request.protocol === 'http') warnOnce(request, overHttp)
      if (isCrossSiteFetch(request)) warnOnce(request, crossSiteLogin)
      const cookies: NewCookie[] = [{ ...access, value: token, maxAge: expiresIn }]
      if (refreshToken !== undefined) {
        cookies.push({ ...refresh, value: refreshToken, maxAge: refreshExpiresIn ?? null })
      }
      setCookies(reply, cookies)
      return { expiresIn }
    },
    clear(request, reply) {
      const gone = Object.values(jar(request)).map((each) => ({ ...each, value: '', maxAge: 0 }))
      setCookies(reply, gone)
    },
  }

  return {
    name: 'cookies',
    tokenSources: [
      {
        openapi: ['cookieAuth', { type: 'apiKey', in: 'cookie', name: strict.access.name }],
        find(request) {
          if (request.headers.cookie === undefined) return null
          const { name: cookieName } = jar(request).access
          const value = cookieOf(request, cookieName)
          // The origin of another site must not make a CSRF an anonymous request.
          if (value === null && cookieOf(request, local.access.name) === null) return null
          byCookie.add(request)
          const error = crossSite(request)
          if (error !== null) throw error
          return once(request, cookieName)
        },
      },
    ],
    checkRequest(request, policy) {
      // Prevents login CSRF: a page of another site could log its visitor in as another user, who then reads what the
      // visitor writes.
      if (policy === null) return crossSite(request)
      // Browsers attach cached Basic credentials to the requests of every site, as they do with cookies.
      const { authorization } = request.headers
      const isBasic = policy.readsBasic && credentialsOf(authorization, 'Basic') !== null
      return isBasic ? crossSite(request) : null
    },
    notes: {
      responses({ methods, policy }) {
        const isRead =
          policy === null ||
          policy.readsBasic ||
          membersOf(policy.authenticator).some(readsLocalTokens)
        const isChange = methods.some((method) => !safeMethods.has(method))
        const forbidden = { 403: 'A page of another site may have sent the request.' }
        return isRead && isChange ? forbidden : {}
      },
    },
    onPass(request, reply) {
      if (!byCookie.has(request) || reply.hasHeader('cache-control')) return
      // Set before the handler runs, which may replace it.
      void reply.header('cache-control', 'private')
    },
    carrier: apps ? carrierForApps(carrier, [strict, lenient].flatMap(namesIn)) : carrier,
    check(registration, all) {
      const { authenticators, defaultAuthenticators } = registration
      const members = [...defaultAuthenticators, ...authenticators.values()].flatMap(membersOf)
      if (!members.some(readsLocalTokens)) {
        stop('nothing would read them: set "userService" and "jwt", or name a jwtAuthenticator.')
      }
      if (options.login !== false && wantedLogin(registration) === null) {
        stop(
          'there is no login route to set them: set "jwt" with a key that signs, or login: false if another server on this host sets them.',
        )
      }
      names.set(registration, name)
      if (all.some((other) => other !== registration && names.get(other) === name)) {
        stop(
          `another registration in this app also uses the cookie ${strict.access.name}, so a login there would replace the one here. Give one of them a name: cookies: { name: 'admin' }.`,
        )
      }
    },
    testing: { cookieName: (request) => jar(request).access.name } satisfies CookiesTesting,
  }
}

function once(request: FastifyRequest, name: string): string | null {
  const value = cookieOf(request, name)
  if (value !== MALFORMED) return value
  const code = 'ERR_AUTH_MALFORMED_CREDENTIALS'
  throw rejection('auth.no-credentials-provided', { code, cause: `two cookies ${name}` })
}

function stop(problem: string): never {
  wrongOption(`option "cookies" is set, but ${problem}`)
}

/** @throws AuthenticationFault for a token that no browser would keep; none of the cookies is set then */
function setCookies(reply: FastifyReply, cookies: readonly NewCookie[]): void {
  const lines = cookies.map(lineOf)
  const present = [reply.getHeader('set-cookie') ?? []].flat().map(String)
  // The header is removed first, because Fastify adds to the array that is there, which may be another plugin's own.
  void reply.removeHeader('set-cookie').header('set-cookie', [...present, ...lines])
}

function lineOf(cookie: NewCookie): string {
  if (!isCookieValue(cookie.value)) {
    const problem =
      'tokenFunc returned a string that cannot be the value of a cookie (RFC 6265 §4.1.1).'
    throw faultOf('ERR_AUTH_TOKEN_FUNC', new TypeError(problem))
  }
  const line = setCookie(cookie)
  if (line.length <= longestCookie) return line
  // The message has the size, which is no secret: without it, a login that has no effect is hard to explain.
  throw new AuthenticationFault(
    'ERR_AUTH_COOKIE',
    new RangeError('Give the token fewer claims: the user is looked up on every request anyway.'),
    500,
    `The cookie ${cookie.name} would have ${line.length} bytes, but browsers keep at most ${longestCookie}.`,
  )
}

/** Seconds until a token expires, unverified: the login has just made it. Null without `exp`, or if it is no JWT. */
export function lifeOf(token: string): number | null {
  const { exp } = unverifiedPart(token, 1) ?? {}
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return null
  return Math.max(0, Math.ceil(exp - Date.now() / 1000))
}
