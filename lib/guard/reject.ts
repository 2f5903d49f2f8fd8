import type { FastifyReply, FastifyRequest } from 'fastify'
import { membersOf, readsBasic } from '../authenticators/any-of.js'
import { ignoreRejection, isThenable } from '../common/objects.js'
import { faultOf, rejection } from '../errors/errors.js'
import { rejectionOf, unrecognized } from '../errors/rejections.js'
import { reportRejection } from '../events.js'
import { credentialsOf } from '../http/authorization.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthenticationErrorLike, RejectionCode } from '../../types/errors.js'
import { stateOf } from '../request/state.js'
import type { LocalizedText } from '../http/language.js'
import type { Guarded } from './decision.js'
import { localize, sendRejection, messageOf } from './response.js'

/**
 * Rejects a request. First the header `WWW-Authenticate` is set, which every 401 needs (RFC 9110 §15.5.2). Then
 * `onUnauthorized` of the authenticator may send a response; if it sends none, the default one is sent.
 */
export function reject(guarded: Guarded, thrown: AuthenticationErrorLike): void {
  const { request, reply, done, policy, started, user } = guarded
  const error = explained(guarded, thrown)
  try {
    const logFields = stateOf(request)?.logFields
    reportRejection(request, error, policy.nameFor(request), started, user, logFields, policy)
    const localized = messageOf(error, request, policy.registration)
    policy.setChallenges(error, request, reply)
    if (policy.authenticator.onUnauthorized === undefined)
      sendRejection(error, localized, reply, policy.registration)
    else ask(guarded, error, localized)
  } catch (fault) {
    done(faultOf('ERR_AUTH_ON_UNAUTHORIZED', fault))
  }
}

function ask(guarded: Guarded, error: AuthenticationErrorLike, localized: LocalizedText): void {
  const { request, reply, done, policy } = guarded
  const isAnswered = watchReply(reply, error.code)
  const finish = (): void => {
    if (!isAnswered()) sendRejection(error, localized, reply, policy.registration)
  }
  const giveUp = (fault: unknown): void => {
    if (isAnswered()) {
      request.log.error({ err: fault }, 'onUnauthorized failed after it had sent a response')
      return
    }
    reply.removeHeader('www-authenticate')
    done(faultOf('ERR_AUTH_ON_UNAUTHORIZED', fault))
  }
  let written: unknown
  try {
    written = policy.authenticator.onUnauthorized?.(localize(error, localized), request, reply)
    if (written === reply || !isThenable(written)) return finish()
  } catch (fault) {
    return giveUp(fault)
  }
  Promise.resolve(written).then(finish).catch(giveUp)
}

/**
 * Watches whether `onUnauthorized` sends a response: `reply.sent` is still false while `onSend` hooks run. Our
 * `WWW-Authenticate` is removed from a response whose status is neither 401 nor that of the error, such as a redirect.
 */
function watchReply(reply: FastifyReply, code: RejectionCode): () => boolean {
  const { send } = reply
  const challenges = reply.getHeader('www-authenticate')
  let called = false
  reply.send = (...args) => {
    called = true
    const isOurs = reply.getHeader('www-authenticate') === challenges
    // When an error is sent, Fastify sets the status later.
    const isExpected = [401, rejectionOf(code)?.status].includes(reply.statusCode)
    const isOther = !isExpected && !(args[0] instanceof Error)
    if (isOurs && isOther) reply.removeHeader('www-authenticate')
    return send.apply(reply, args)
  }
  return () => called || reply.sent || reply.raw.headersSent
}

/** @returns the reason, if an authenticator of another route would accept the credentials; otherwise `error` */
function explained(
  { request, policy: { members, registration } }: Guarded,
  error: AuthenticationErrorLike,
): AuthenticationErrorLike {
  const accepted = members.flatMap(membersOf)
  if (!unrecognized.has(error.code) || accepted.some((each) => isMeant(each, request))) return error
  const isOther = (each: Authenticator): boolean =>
    // Basic is left out, because `accepts` of configBasic compares the password.
    !readsBasic(each) && each.accepts !== undefined && isMeant(each, request)
  const [name] = [...registration.authenticators].find(([, each]) => isOther(each)) ?? []
  if (name === undefined) return error
  const feature = registration.features.find(({ authenticators }) => authenticators?.[name])
  const key = feature?.notAccepted ?? 'auth.credentials-not-accepted'
  return rejection(key, { cause: `not accepted here: ${name}` })
}

function isMeant(authenticator: Authenticator, request: FastifyRequest): boolean {
  const { scheme } = authenticator
  try {
    if (authenticator.accepts !== undefined) {
      const isAccepted: unknown = authenticator.accepts(request)
      ignoreRejection(isAccepted)
      return isAccepted === true
    }
    return scheme !== undefined && credentialsOf(request.headers.authorization, scheme) !== null
  } catch {
    return false
  }
}
