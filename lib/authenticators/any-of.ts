import type { FastifyRequest } from 'fastify'
import { declaredProperty } from '../common/objects.js'
import { wrongOption } from '../errors.js'
import { credentialsOf } from '../http/authorization.js'
import { check } from '../options/check.js'
import { authenticatorSchema } from '../options/authenticator-schemas.js'
import { registrationOf } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'

/**
 * An authenticator that asks exactly one of several for each request:
 *
 * - of those whose scheme the `Authorization` header names, the first that accepts the request; where none does, the
 *   first of them, which rejects it;
 * - otherwise the first whose `accepts` returns true, or else one that has neither a scheme nor `accepts`.
 *
 * It is optional only when all of its members are.
 *
 * @throws ERR_AUTH_OPTION when there is none, one is no authenticator, or several have neither a scheme nor `accepts`
 */
export function anyOf<Members extends readonly Authenticator[]>(
  ...members: Members
): Authenticator<Members[number] extends Authenticator<infer User> ? User : never> {
  if (members.length === 0) {
    wrongOption('anyOf(): expected one authenticator or more.')
  }
  members.forEach((member, index) => check(authenticatorSchema, member, `anyOf()[${index}]`))
  const [first] = members as readonly Authenticator[]
  const [other, ...more] = members.filter(
    ({ scheme, accepts }) => scheme === undefined && accepts === undefined,
  )
  if (more.length > 0) {
    wrongOption(
      'anyOf(): several authenticators have neither a scheme nor accepts(), so that only the first could ever be asked. Give each accepts(request), which says whether the credentials of a request are its own.',
    )
  }
  const isAnswering = members.some(({ onUnauthorized }) => onUnauthorized !== undefined)
  const asked = new WeakMap<FastifyRequest, Authenticator>()

  function choose(request: FastifyRequest): Authenticator | undefined {
    const { authorization } = request.headers
    const named = members.filter(
      ({ scheme }) => scheme !== undefined && credentialsOf(authorization, scheme) !== null,
    )
    if (named.length === 1) return named[0]
    return (
      (named.length > 0 ? named : members).find((member) => member.accepts?.(request)) ??
      named.find(({ accepts }) => accepts === undefined) ??
      named[0] ??
      other
    )
  }

  return {
    members,
    optional: members.every((member) => declaredProperty(member, 'optional') === true),
    async init(app) {
      for (const member of members) await registrationOf(app)?.initialize(member)
    },
    accepts: (request) => choose(request) !== undefined,
    authenticate(request) {
      const member = choose(request)
      if (member === undefined) return null
      if (isAnswering) asked.set(request, member)
      return member.authenticate(request) as never
    },
    onUnauthorized(error, request, reply) {
      return (asked.get(request) ?? first)?.onUnauthorized?.(error, request, reply)
    },
  }
}

/** @returns the members of an `anyOf()`; for any other authenticator, that authenticator alone */
export function membersOf(authenticator: Authenticator): readonly Authenticator[] {
  return authenticator.members?.flatMap(membersOf) ?? [authenticator]
}
