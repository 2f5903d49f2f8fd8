import type { FastifyReply, FastifyRequest } from 'fastify'
import { refusalOf, type RefusalRow } from './errors.js'
import { credentialsOf } from './http/authorization.js'
import { challenge, type BearerProblem } from './http/challenge.js'
import { kMembers } from './symbols.js'
import type { Registration } from './registration.js'
import type { Authenticator } from '../types/authenticator.js'
import type { AuthenticationErrorLike } from '../types/errors.js'

/**
 * Answers a refusal: status, challenges, and `{"error": …}` in the language of the request.
 *
 * @param schemes - those of the authenticators that would have been accepted
 * @param judgedHeader - whether the error is about the `Authorization` header
 */
export function sendRefusal(
  error: AuthenticationErrorLike,
  request: FastifyRequest,
  reply: FastifyReply,
  registration: Registration,
  schemes: readonly string[],
  judgedHeader = true,
): void {
  const { realm } = registration.options
  const { status } = rowOf(error)
  if (status === 401 && schemes.length > 0) {
    const challenges = schemes.map((scheme) =>
      challenge(scheme, realm, judgedHeader ? bearerProblem(scheme, error, request) : undefined),
    )
    // One line a challenge: browsers do not split a line that holds several.
    void reply.header('www-authenticate', challenges.length === 1 ? challenges[0] : challenges)
  }
  if (error.retryAfter !== undefined) void reply.header('retry-after', String(error.retryAfter))
  // Sent as text: a response schema or serializer of the route must neither drop nor refuse it.
  void reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ error: localize(error, request, reply, registration) }))
}

/** The schemes of an authenticator, each once; of one that stands for several, those of them all. */
export function schemesOf(authenticator: Authenticator): readonly string[] {
  const members = (authenticator as { [kMembers]?: readonly Authenticator[] })[kMembers]
  const all = members?.flatMap(schemesOf) ?? [authenticator.scheme]
  const schemes = all.filter((scheme) => scheme !== undefined)
  return schemes.filter((scheme, index) => schemes.findIndex(sameAs(scheme)) === index)
}

function sameAs(scheme: string): (other: string) => boolean {
  return (other) => other.toLowerCase() === scheme.toLowerCase()
}

/** Only refusals come here, and each has a row. */
function rowOf({ code }: AuthenticationErrorLike): RefusalRow {
  return refusalOf(code) as RefusalRow
}

/** RFC 6750 §3.1: an error code only when the request carried a token. */
function bearerProblem(
  scheme: string,
  error: AuthenticationErrorLike,
  request: FastifyRequest,
): BearerProblem | undefined {
  const isBearer = scheme.toLowerCase() === 'bearer'
  if (!isBearer || !credentialsOf(request.headers.authorization, 'Bearer')) return undefined
  return { error: 'invalid_token', description: rowOf(error).description }
}

/** The text of an error; a key of the catalogue also says its language. */
function localize(
  error: AuthenticationErrorLike,
  request: FastifyRequest,
  reply: FastifyReply,
  { translator }: Registration,
): string {
  const { key } = rowOf(error)
  addVary(reply, 'Accept-Language')
  if (key === null) return error.message
  const { text, language } = translator.translate(key, String(request.lang))
  void reply.header('content-language', language)
  return text
}

/** Adds to `Vary` what others (CORS, compression) have put there. */
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
