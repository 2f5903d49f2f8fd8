import type { FastifyRequest } from 'fastify'
import { membersOf, readsBasic } from '../authenticators/any-of.js'
import { ignoreRejection } from '../common/objects.js'
import { rejection } from '../errors/errors.js'
import { unrecognized } from '../errors/rejections.js'
import { credentialsOf } from '../http/authorization.js'
import type { Guarded } from './decision.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'

/**
 * Says why credentials were rejected that an authenticator of another route would accept.
 *
 * @returns a rejection with that reason; `error` where the credentials are for an authenticator of this route, or for none
 */
export function explained(
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
