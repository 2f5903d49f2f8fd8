import type { FastifyRequest } from 'fastify'
import { AuthnUsageError, isAuthenticationError } from '../errors.js'
import { credentialsOf } from '../http/authorization.js'
import { checkAuthenticator } from '../options.js'
import { registrationOf } from '../registration.js'
import { kMembers } from '../symbols.js'
import type { Authenticator } from '../../types/authenticator.js'

type Outcome = object | null

/** An authenticator that stands for several. */
export interface CombinedAuthenticator<User extends object> extends Authenticator<User> {
  readonly [kMembers]: readonly Authenticator[]
}

/**
 * One authenticator out of several: the scheme of the request's `Authorization` header picks those
 * that are asked; where none of that scheme is there, those without a scheme are asked. They are
 * asked in order: the first user counts; when nobody is found, the first refusal; when nothing was
 * refused either, there were no credentials. A fault ends it at once.
 *
 * It is optional only when all of its members are.
 *
 * @throws ERR_AUTH_OPTION when there is none, or one is no authenticator
 */
export function anyOf<Members extends readonly Authenticator[]>(
  ...members: Members
): CombinedAuthenticator<Members[number] extends Authenticator<infer User> ? User : never> {
  if (members.length === 0) {
    throw new AuthnUsageError('ERR_AUTH_OPTION', 'anyOf(): expected one authenticator or more.')
  }
  members.forEach((member, index) => checkAuthenticator(member, `anyOf()[${index}]`))
  const judges = new WeakMap<FastifyRequest, Authenticator>()

  /** Those that a request has to be shown to. */
  function candidates(request: FastifyRequest): Authenticator[] {
    const { authorization } = request.headers
    const picked = members.filter(
      ({ scheme }) => scheme !== undefined && credentialsOf(authorization, scheme) !== null,
    )
    return picked.length > 0 ? picked : members.filter(({ scheme }) => scheme === undefined)
  }

  return {
    [kMembers]: members,
    optional: members.every(({ optional }) => optional === true),
    async init(app) {
      for (const member of members) await registrationOf(app)?.initialize(member)
    },
    async authenticate(request): Promise<never> {
      let refusal: unknown = null
      for (const candidate of candidates(request)) {
        try {
          const user: Outcome = await candidate.authenticate(request)
          // Not only objects: what is neither a user nor null is for the guard to refuse.
          if (user !== null) return user as never
        } catch (error) {
          if (!isAuthenticationError(error)) throw error
          if (refusal !== null && (!isMissing(refusal) || isMissing(error))) continue
          refusal = error
          judges.set(request, candidate)
        }
      }
      if (refusal !== null) throw refusal
      return null as never
    },
    onUnauthorized(error, request, reply) {
      const judge = judges.get(request) ?? members[0]
      return judge?.onUnauthorized?.(error, request, reply)
    },
  }
}

function isMissing(error: unknown): boolean {
  return isAuthenticationError(error) && error.code === 'ERR_AUTH_NO_CREDENTIALS'
}
