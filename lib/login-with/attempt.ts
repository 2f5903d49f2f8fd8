import { hash, randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { rejection } from '../errors/errors.js'
import { MALFORMED } from '../http/authorization.js'
import { longestCookie, setCookie } from '../http/cookie.js'
import { badRequest } from '../http/query.js'
import { cookieOf, cookiesOf } from '../request/state.js'
import { isPath } from '../login/return-to.js'
import type { ResolvedProvider } from './options.js'

/** Seconds from the start of a login or a link to its callback. */
const life = 1800

/** Pages of other sites can begin attempts too, and nginx rejects all requests with a header line of 8 KB. */
const [mostAttempts, mostBytes] = [5, 4095]

/**
 * A login or a link that a browser has begun. All of it is in one cookie, and `state` is the digest of the cookie and the
 * provider: a cookie that was changed, or is of another attempt or provider, does not fit (RFC 6749 §10.12, RFC 9700 §4.4).
 * No process has to keep it. A browser can make an attempt of its own, with any path and any `max_age`, but not the token
 * that makes it a link.
 */
export type Attempt = ReturnType<typeof attemptOf>

/** Makes the token of a link. `exp` is when it expires, in seconds since 1970. */
export type TokenUntil = (exp: number) => string

/** @param returnTo - a path of the request; empty for the default. @param maxAge - `max_age`; empty for none */
export function newAttempt(
  provider: ResolvedProvider,
  returnTo: string,
  maxAge: string,
  tokenUntil?: TokenUntil,
): Attempt {
  const bits = randomBytes(32).toString('base64url')
  const end = Math.floor(Date.now() / 1000) + life
  const path = Buffer.from(returnTo).toString('base64url')
  const link = tokenUntil === undefined ? '' : `.${tokenUntil(end)}`
  return attemptOf(provider, `${bits}.${end}.${maxAge}.${path}${link}`)
}

function attemptOf({ name, issuer, authorizationParams: params }: ResolvedProvider, value: string) {
  const [bits = '', end, sentMaxAge = '', encoded = '', ...link] = value.split('.')
  const path = Buffer.from(encoded, 'base64url').toString()
  // A browser can make an attempt of its own, whose `max_age` must not take the place of the one in the options.
  const ofOptions = typeof params === 'object' && params.max_age
  const ages = [sentMaxAge, ofOptions].flatMap((age) => (age ? [Number(age)] : []))
  // Neither half tells anything about the other one, nor about the bits.
  const secrets = hash('sha512', bits, 'base64url')
  return {
    value,
    // A name and an issuer have no line feed.
    state: digestOf(`${name}\n${issuer}\n${value}`),
    nonce: secrets.slice(0, 43),
    codeVerifier: secrets.slice(43),
    returnTo: isPath(path) ? path : '',
    /** The least `max_age` but 0; Infinity for none. */
    maxAge: Math.min(...ages.filter((age) => age > 0)),
    isAnew: ages.includes(0),
    /** In seconds since 1970. */
    begun: Number(end) - life,
    isOver: !(Number(end) > Date.now() / 1000),
    /** The token of a link; empty for a login. */
    link: link.join('.'),
  }
}

const cookieName = (start: string, state: string): string => `${start}login-${state.slice(0, 16)}`

function cookieLine(name: string, value: string, maxAge: number): string {
  const isSecure = name.startsWith('__Host-')
  // Strict would miss the callback, to which another site leads.
  return setCookie({ name, value, maxAge, isSecure, sameSite: 'Lax' })
}

/**
 * Keeps an attempt in a cookie, in place of the oldest ones where there are too many.
 * @param start - of its name @throws Error with the status 400 for one that no browser would keep
 */
export function keepAttempt({ state, value }: Attempt, start: string, reply: FastifyReply): void {
  const name = cookieName(start, state)
  const line = cookieLine(name, value, life)
  if (line.length > longestCookie) return badRequest('body/returnTo must be shorter')
  const others = attemptsOf(reply.request, start.startsWith('__Host-'))
  let bytes = 0
  for (const [index, pair] of [`${name}=${value}`, ...others].entries()) {
    bytes += pair.length + 2
    const isTooMuch = index >= mostAttempts || bytes > mostBytes
    if (isTooMuch) void reply.header('set-cookie', cookieLine(pair.split('=', 1).join(), '', 0))
  }
  void reply.header('set-cookie', line)
}

/** These match the cookies of other registrations too, which are in the same header. */
const nameForm = /^(?:__Host-)?(?:[A-Za-z0-9][\w.-]{0,63}-)?login-[\w-]{16}$/
const valueForm = /^[\w-]{43}\.(\d{1,20})\.\d{0,20}\.[\w-]*(?:(?:\.[\w-]+){3})?$/

/** The cookies of attempts, the newest first. Those of the same second are in the order of the browser (RFC 6265 §5.4). */
function attemptsOf(request: FastifyRequest, isSecure: boolean): string[] {
  const found = Array.from(cookiesOf(request), ([name, value]) => {
    // A cookie that was sent twice is of no use, and goes first.
    const end = value === MALFORMED ? 0 : Number(valueForm.exec(value)?.[1])
    return { name, end, pair: `${name}=${String(value)}` }
  })
  return found
    .filter(({ name }) => name.startsWith('__Host-') === isSecure && nameForm.test(name))
    .filter(({ end }) => !Number.isNaN(end))
    .toReversed()
    .sort((one, other) => other.end - one.end)
    .map(({ pair }) => pair)
}

/** The attempt of a parameter `state`, whose cookie the response clears. @throws ERR_AUTH_LOGIN_STATE */
export function takeAttempt(
  provider: ResolvedProvider,
  state: string,
  start: string,
  reply: FastifyReply,
): Attempt {
  // Behind a proxy with TLS on this machine, the POST of a link has an `Origin` that tells so. The callback has none.
  const starts = start.startsWith('__Host-') ? [start] : [`__Host-${start}`, start]
  const names = starts.map((each) => cookieName(each, state))
  const name = names.find((each) => cookieOf(reply.request, each) !== null)
  if (!name) throw attemptInvalid('no cookie of this attempt: did it begin on another host?')
  const value = cookieOf(reply.request, name)
  const attempt = typeof value === 'string' ? attemptOf(provider, value) : null
  if (attempt?.state !== state)
    throw attemptInvalid('state or the cookie of this attempt was changed')
  if (attempt.isOver) throw attemptInvalid('the attempt has expired')
  void reply.header('set-cookie', cookieLine(name, '', 0))
  return attempt
}

export const attemptInvalid = (cause: unknown): Error =>
  rejection('auth.login-expired', { code: 'ERR_AUTH_LOGIN_STATE', cause })
