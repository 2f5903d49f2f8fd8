import type { FastifyReply, FastifyRequest } from 'fastify'
import { refusalOf, type RefusalRow } from '../common/refusals.js'
import { credentialsOf } from '../http/authorization.js'
import { challenge, type BearerProblem } from '../http/challenge.js'
import { membersOf } from '../authenticators/any-of.js'
import type { Registration } from '../registration.js'
import type { LocalizedText } from '../http/language.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { NeededNames } from '../../types/marks.js'

/**
 * The text of an error; one with a key of the catalogue is translated into the language of the request. The language of
 * a text of the app is unknown.
 */
export function textOf(
  error: AuthenticationErrorLike,
  request: FastifyRequest,
  { translator }: Registration,
): LocalizedText {
  const { key } = rowOf(error)
  // The app may have set it, to whatever a query parser made of it.
  const lang: unknown = request.lang
  return key === null
    ? { text: error.message, language: null }
    : translator.translate(key, typeof lang === 'string' ? lang : '')
}

/**
 * Sets the header `WWW-Authenticate`: where the status is 401, a challenge for each scheme; for a token that lacks a
 * scope, one for Bearer alone, since no other credentials would help (RFC 6750 §3.1).
 *
 * @param schemes - those of the authenticators that would have been accepted
 * @param scope - what the route asks for, if it does
 * @param judgedHeader - whether the error is about the `Authorization` header
 */
export function setChallenges(
  error: AuthenticationErrorLike,
  request: FastifyRequest,
  reply: FastifyReply,
  { options: { realm }, features }: Registration,
  schemes: readonly string[],
  scope: NeededNames | null = null,
  judgedHeader = true,
): void {
  const { status, description } = rowOf(error)
  const lacksScope = error.code === 'ERR_AUTH_INSUFFICIENT_SCOPE'
  const hasToken = judgedHeader && Boolean(credentialsOf(request.headers.authorization, 'Bearer'))
  if (status !== 401 && !(lacksScope && hasToken)) return
  // An error code only where the request carried a token (RFC 6750 §3.1).
  const problem: BearerProblem = {
    error: lacksScope ? 'insufficient_scope' : 'invalid_token',
    description,
    ...(lacksScope && scope !== null && { scope: scopeAttribute(scope) }),
  }
  const isBearer = sameAs('Bearer')
  const more = features.map((feature) => feature.challenge?.(scope) ?? '').join('')
  const challenges = (lacksScope ? schemes.filter(isBearer) : schemes).map((scheme) =>
    isBearer(scheme)
      ? challenge(scheme, realm, hasToken ? problem : undefined) + more
      : challenge(scheme, realm),
  )
  if (challenges.length === 0) return
  // One line a challenge: browsers do not split a line that holds several.
  void reply.header('www-authenticate', challenges.length === 1 ? challenges[0] : challenges)
}

/** Of several scopes that are each enough, the first one: clients ask for all that they read here. */
function scopeAttribute(scope: NeededNames): string {
  return 'all' in scope ? scope.all.join(' ') : String(scope.any[0])
}

/** Sends the status, the headers and `{"error": …}`. The header `WWW-Authenticate` is set elsewhere. */
export function sendRefusal(
  error: AuthenticationErrorLike,
  { text, language }: LocalizedText,
  reply: FastifyReply,
): void {
  addVary(reply, 'Accept-Language')
  if (language !== null) void reply.header('content-language', language)
  if (error.retryAfter !== undefined) void reply.header('retry-after', String(error.retryAfter))
  // Sent as text: a response schema or serializer of the route must neither drop nor refuse it.
  void reply
    .code(rowOf(error).status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ error: text }))
}

/** The schemes of an authenticator, each once; of one that stands for several, those of them all. */
export function challengeSchemes(authenticator: Authenticator): readonly string[] {
  const all = membersOf(authenticator).map(({ scheme }) => scheme)
  const schemes = all.filter((scheme) => scheme !== undefined)
  return schemes.filter((scheme, index) => schemes.findIndex(sameAs(scheme)) === index)
}

function sameAs(scheme: string): (other: string) => boolean {
  return (other) => other.toLowerCase() === scheme.toLowerCase()
}

/** The error is always a refusal here, and every refusal has a row. */
function rowOf({ code }: AuthenticationErrorLike): RefusalRow {
  return refusalOf(code) as RefusalRow
}

/** Adds a name to the header `Vary`, and keeps those that CORS or compression have put there. */
function addVary(reply: FastifyReply, field: string): void {
  const present = reply.getHeader('vary')
  const fields = [present ?? []].flat().join(', ')
  if (
    fields === '*' ||
    fields
      .toLowerCase()
      .split(/\s*,\s*/)
      .includes(field.toLowerCase())
  )
    return
  void reply.header('vary', fields === '' ? field : `${fields}, ${field}`)
}
