import type { FastifyReply } from 'fastify'
import { AuthenticationFault, faultOf } from '../errors/errors.js'
import { isCookieValue, longestCookie, setCookie, type NewCookie } from '../http/cookie.js'
import { unverifiedPart } from '../tokens/claims.js'

/** @throws AuthenticationFault for a token that no browser would keep; none of the cookies is set then */
export function setCookies(reply: FastifyReply, cookies: readonly NewCookie[]): void {
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
