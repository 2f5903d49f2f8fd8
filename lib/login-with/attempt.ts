import { createHash, createHmac, randomBytes } from 'node:crypto'
import { MALFORMED } from '../http/authorization.js'
import { cookieOf } from '../http/cookie.js'
import { isPath } from './return-to.js'
import type { ResolvedProvider } from './options.js'

/** Seconds from the start of a login to its callback. */
export const attemptLife = 1800

/** From so many cookies of attempts on, a start clears them: abandoned ones would fill the headers. */
export const mostAttempts = 5

/**
 * A login that a browser has begun. All of it is in one cookie, and `state` is the digest of that, so that nobody can change
 * the cookie, exchange it or use it with another provider (RFC 6749 §10.12, RFC 9700 §4.4), and no process has to keep it.
 */
export type Attempt = ReturnType<typeof attemptOf>

/**
 * Begins an attempt.
 *
 * @param returnTo - a path from the query; empty for the default
 * @param maxAge - the parameter `max_age` of the authorization request; empty for none
 */
export function newAttempt(provider: ResolvedProvider, returnTo: string, maxAge: string): Attempt {
  const bits = randomBytes(32).toString('base64url')
  const end = Math.floor(Date.now() / 1000) + attemptLife
  const path = Buffer.from(returnTo).toString('base64url')
  return attemptOf(provider, `${bits}.${end}.${maxAge}.${path}`)
}

function attemptOf({ name, issuer, authorizationParams: params }: ResolvedProvider, value: string) {
  const [bits = '', end, sentMaxAge = '', encoded = ''] = value.split('.')
  const path = Buffer.from(encoded, 'base64url').toString()
  // What does not depend on the request is not taken from the browser, which can make an attempt of its own.
  const maxAge = (typeof params === 'object' ? params.max_age : undefined) ?? sentMaxAge
  const derive = (label: string): string =>
    createHmac('sha256', bits).update(label).digest('base64url')
  return {
    value,
    // A name and an issuer have no line feed.
    state: createHash('sha256').update(`${name}\n${issuer}\n${value}`).digest('base64url'),
    nonce: derive('nonce'),
    codeVerifier: derive('code_verifier'),
    returnTo: isPath(path) ? path : '',
    maxAge: maxAge === '' ? null : Number(maxAge),
    isOver: !(Number(end) > Date.now() / 1000),
  }
}

/** The name of the cookie of an attempt. */
export const cookieName = (start: string, state: string): string =>
  `${start}login-${state.slice(0, 16)}`

/** The names of the cookies of attempts in a request. */
export function attemptCookies(header: string | undefined, start: string): string[] {
  const names = (header ?? '').split(';').map((pair) => pair.split('=', 1).join().trim())
  const isAttempt = (name: string): boolean =>
    name.startsWith(`${start}login-`) && /^[\w-]{16}$/.test(name.slice(start.length + 6))
  return [...new Set(names.filter(isAttempt))]
}

/**
 * Finds the attempt of a callback in the cookie of its `state`.
 *
 * @param header - the value of the header `Cookie`
 * @returns or why there is none
 */
export function findAttempt(
  provider: ResolvedProvider,
  state: string,
  header: string | undefined,
  name: string,
): Attempt | string {
  const value = cookieOf(header, name)
  if (value === null) return 'no cookie of this attempt: did it begin on another host?'
  const attempt = value === MALFORMED ? null : attemptOf(provider, value)
  if (attempt?.state !== state) return 'the cookie of this attempt was changed'
  return attempt.isOver ? 'the attempt has expired' : attempt
}
