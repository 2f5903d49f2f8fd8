import { propertyOf } from '../common/objects.js'
import type { FastifyRequest } from 'fastify'
import { isAuthenticationError, wrongOption } from '../errors.js'
import { credentialsOf } from '../http/authorization.js'
import { check } from '../options/check.js'
import { authenticatorSchema } from '../options/authenticator-schemas.js'
import { registrationOf } from '../registration.js'
import { kFacts, readsCookie, type KnownAuthenticator } from './facts.js'
import { setClaims, takeClaims } from '../request/extra.js'
import { PasswordAttempt } from '../throttle/attempt.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtClaims } from '../../types/request-extra.js'

type Outcome = object | null

/**
 * One authenticator out of several. Those are asked whose scheme the request's `Authorization` header names; where
 * there are none, those without a scheme, and, with the option `cookies` and without that header, `jwtAuthenticator`.
 *
 * They are asked in order. The first user counts; where nobody is found, the first refusal; where nothing was refused
 * either, there were no credentials. A fault ends it at once. A failure counts for the throttle only when none of them
 * accepts. It is optional only when all of its members are.
 *
 * @throws ERR_AUTH_OPTION when there is none, or one is no authenticator
 */
export function anyOf<Members extends readonly Authenticator[]>(
  ...members: Members
): KnownAuthenticator<Members[number] extends Authenticator<infer User> ? User : never> {
  if (members.length === 0) {
    wrongOption('anyOf(): expected one authenticator or more.')
  }
  members.forEach((member, index) => check(authenticatorSchema, member, `anyOf()[${index}]`))
  const judges = new WeakMap<FastifyRequest, Authenticator>()
  const isAnswering = members.some(({ onUnauthorized }) => onUnauthorized !== undefined)

  /** @returns the members that are asked about a request, by the scheme of its header */
  function candidates(request: FastifyRequest): Authenticator[] {
    const { authorization } = request.headers
    const picked = members.filter(
      ({ scheme }) => scheme !== undefined && credentialsOf(authorization, scheme) !== null,
    )
    if (picked.length > 0) return picked
    const isByCookie = authorization === undefined && takesCookies(request)
    return members.filter(
      (member) => member.scheme === undefined || (isByCookie && readsCookie(member)),
    )
  }

  /** @returns the first answer that is not null. The guard refuses an answer that is neither a user nor null */
  async function ask(asked: readonly Authenticator[], request: FastifyRequest): Promise<Outcome> {
    let refusal: unknown = null
    let claims: JwtClaims | null = null
    for (const candidate of asked) {
      try {
        const user: Outcome = await candidate.authenticate(request)
        if (user !== null) {
          // It answers too where its user may not do what the route asks for.
          if (isAnswering) judges.set(request, candidate)
          return user
        }
        takeClaims(request)
      } catch (error) {
        if (!isAuthenticationError(error)) throw error
        const left = takeClaims(request)
        if (refusal !== null && (!isMissing(refusal) || isMissing(error))) continue
        refusal = error
        claims = left
        judges.set(request, candidate)
      }
    }
    if (claims !== null) setClaims(request, claims)
    if (refusal !== null) throw refusal
    return null
  }

  return {
    [kFacts]: { members },
    optional: members.every((member) => propertyOf(member, 'optional') === true),
    async init(app) {
      for (const member of members) await registrationOf(app)?.initialize(member)
    },
    async authenticate(request): Promise<never> {
      const asked = candidates(request)
      const end = asked.length > 1 ? PasswordAttempt.collectFailures(request) : undefined
      let user: Outcome = null
      try {
        user = await ask(asked, request)
      } finally {
        await end?.(typeof user === 'object' && user !== null)
      }
      return user as never
    },
    onUnauthorized(error, request, reply) {
      const judge = judges.get(request) ?? members[0]
      return judge?.onUnauthorized?.(error, request, reply)
    },
  }
}

function takesCookies({ server }: FastifyRequest): boolean {
  return (registrationOf(server)?.cookies ?? null) !== null
}

function isMissing(error: unknown): boolean {
  return isAuthenticationError(error) && error.code === 'ERR_AUTH_NO_CREDENTIALS'
}
