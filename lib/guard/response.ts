import type { FastifyReply, FastifyRequest } from 'fastify'
import { toJson } from '../common/objects.js'
import { isMessageKey, rejectionOf, type RejectionRow } from '../errors/rejections.js'
import type { Registration } from '../feature.js'
import type { LocalizedText } from '../http/language.js'
import type { AuthenticationErrorLike, RejectionLike } from '../../types/errors.js'

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

/** Sends all but the challenges. The body is `{"error": …}` by default. */
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
