import type { FastifyReply, FastifyRequest } from 'fastify'
import { toJson } from '../common/objects.js'
import { isMessageKey, rejectionOf, type RejectionRow } from '../errors/rejections.js'
import { credentialsOf } from '../http/authorization.js'
import { membersOf } from '../authenticators/any-of.js'
import type { Registration } from '../feature.js'
import type { LocalizedText } from '../http/language.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthenticationErrorLike, RejectionLike } from '../../types/errors.js'
import type { NeededNames } from '../../types/marks.js'

/**
 * The message of an error. The one of its key is in the language of the request; a text of the app (key null) is sent as
 * it is. An error without a known key, such as one of another version of the package, gets the message of its code.
 */
export function messageOf(
  error: AuthenticationErrorLike,
  request: FastifyRequest,
  { translator }: Registration,
): LocalizedText {
  const key = error.key === null || isMessageKey(error.key) ? error.key : rowOf(error).key
  // An app may set it to what a query parser returns, such as an array.
  const lang: unknown = request.lang
  return key === null
    ? { text: error.message, language: null }
    : translator.translate(key, typeof lang === 'string' ? lang : '')
}

/**
 * Sets the header `WWW-Authenticate`: for a 401 a challenge for each scheme; for a token that lacks a scope one for
 * Bearer alone, since no other credentials would help (RFC 6750 §3.1).
 * @param readsHeader - whether the error is about the `Authorization` header
 */
export function setChallenges(
  error: AuthenticationErrorLike,
  request: FastifyRequest,
  reply: FastifyReply,
  { options: { realm }, features }: Registration,
  schemes: readonly string[],
  scope: NeededNames | null = null,
  readsHeader = true,
): void {
  const { status, description } = rowOf(error)
  const lacksScope = error.code === 'ERR_AUTH_INSUFFICIENT_SCOPE'
  const hasToken = readsHeader && Boolean(credentialsOf(request.headers.authorization, 'Bearer'))
  if (status !== 401 && !(lacksScope && hasToken)) return
  // Clients request all scopes that are listed here, so of several alternatives only the first is listed.
  const needed = scope && ('all' in scope ? scope.all.join(' ') : String(scope.any[0]))
  // A challenge names the problem only where the request has a token (RFC 6750 §3.1).
  const problem = hasToken && {
    error: lacksScope ? 'insufficient_scope' : 'invalid_token',
    error_description: description,
    ...(lacksScope && needed !== null && { scope: needed }),
  }
  const more = features
    .map((each) => each.challenge?.({ status, scope: needed }))
    .filter((each) => each !== undefined)
  const ofBearer = Object.assign({ realm }, problem, ...more) as Record<string, string>
  // MCP clients read the first challenge alone.
  const inOrder = more.length === 0 ? schemes : schemes.toSorted(bearerFirst)
  const challenges = (lacksScope ? schemes.filter(isBearer) : inOrder).map((scheme) =>
    // Basic challenges have `charset` (RFC 7617 §2.1).
    challenge(
      scheme,
      isBearer(scheme) ? ofBearer : { realm, charset: isBasic(scheme) ? 'UTF-8' : undefined },
    ),
  )
  if (challenges.length === 0) return
  // Each challenge gets a header line, because browsers do not split a line that holds several.
  void reply.header('www-authenticate', challenges.length === 1 ? challenges[0] : challenges)
}

/** A copy in the language of the request, as an app may throw one error for many; a text of the app stays as it is. */
export function localize(
  error: AuthenticationErrorLike,
  { text, language }: LocalizedText,
): AuthenticationErrorLike {
  if (language === null) return error
  const { message: _, stack: __, ...own } = Object.getOwnPropertyDescriptors(error)
  const copy = Object.setPrototypeOf(new Error(text), Object.getPrototypeOf(error)) as Error
  // On newer versions of Node, `stack` is a getter that works only on the original error.
  const stack = { value: error.stack, writable: true, configurable: true }
  return Object.defineProperties(copy, { ...own, stack }) as AuthenticationErrorLike
}

/** The body that `errorBody` of the app makes of an error, as JSON; null where the default body is to be sent. */
export function appErrorBody(
  rejection: RejectionLike,
  request: FastifyRequest,
  { errorBody }: Registration,
): string | null {
  if (errorBody === undefined) return null
  try {
    return toJson(errorBody(rejection, request), 'errorBody')
  } catch (fault) {
    request.log.error({ err: fault }, 'errorBody failed; the default body is sent')
    return null
  }
}

/** Sends all but the challenges of {@link setChallenges}. The body is `{"error": …}` by default. */
export function sendRejection(
  error: AuthenticationErrorLike,
  localized: LocalizedText,
  reply: FastifyReply,
  registration: Registration,
): void {
  const { text, language } = localized
  const own =
    registration.errorBody && appErrorBody(localize(error, localized), reply.request, registration)
  addVary(reply, 'Accept-Language')
  if (language !== null) void reply.header('content-language', language)
  if (error.retryAfter !== undefined) void reply.header('retry-after', String(error.retryAfter))
  // Sent as a string, so that no response schema or serializer of the route changes or rejects it.
  void reply
    .code(rowOf(error).status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(own ?? JSON.stringify({ error: text }))
}

/** The schemes of an authenticator and its members, each once. */
export function challengeSchemes(authenticator: Authenticator): readonly string[] {
  const all = membersOf(authenticator).map(({ scheme }) => scheme)
  const schemes = all.filter((scheme) => scheme !== undefined)
  return schemes.filter((scheme, index) => schemes.findIndex(sameAs(scheme)) === index)
}

function sameAs(scheme: string): (other: string) => boolean {
  return (other) => other.toLowerCase() === scheme.toLowerCase()
}

const isBearer = sameAs('Bearer')
const isBasic = sameAs('Basic')
const bearerFirst = (one: string, other: string): number =>
  Number(isBearer(other)) - Number(isBearer(one))

function rowOf({ code }: AuthenticationErrorLike): RejectionRow {
  return rejectionOf(code) as RejectionRow
}

/** Adds a name to the header `Vary`, beside those of CORS or compression. */
export function addVary(reply: FastifyReply, field: string): void {
  const present = reply.getHeader('vary')
  const fields = [present ?? []].flat().join(', ')
  const names = fields.toLowerCase().split(/\s*,\s*/)
  if (names.includes('*') || names.includes(field.toLowerCase())) return
  void reply.header('vary', fields === '' ? field : `${fields}, ${field}`)
}

/** A quoted-string (RFC 9110 §5.6.4). */
function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** A challenge for `WWW-Authenticate` (RFC 9110 §11.6.1). @param parameters - by name; those that are undefined are left out */
function challenge(
  scheme: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${quote(value)}`,
  )
  return `${scheme} ${given.join(', ')}`
}
