import type { FastifyRequest } from 'fastify'
import { declaredProperty } from '../common/objects.js'
import { wrongOption } from '../errors/errors.js'
import { credentialsOf } from '../http/authorization.js'
import { check } from '../options/check.js'
import { authenticatorSchema } from '../options/authenticator-schemas.js'
import { registrationOf, requireRegistration } from '../request/registration.js'
import { setAsked } from '../request/state.js'
import {
  kRejectsAny,
  kTakesOpaque,
  localTokenIn,
  readsLocalTokens,
  type TakesOpaque,
} from './jwt.js'
import type { Authenticator } from '../../types/authenticator.js'

/**
 * An authenticator that asks exactly one of several for each request:
 *
 * - of those whose scheme the `Authorization` header names, the first that accepts the request; if none does, the first
 *   of them, which rejects it;
 * - otherwise the first that accepts the request; or else a `jwtAuthenticator`, which rejects the token in a cookie, if
 *   there is one; or else the member that has neither a scheme nor `accepts`.
 *
 * A `jwtAuthenticator` accepts whatever looks like a token of our own keys, so it comes after all others.
 *
 * It is optional only when all of its members are.
 * @throws ERR_AUTH_OPTION when there is none, one is no authenticator, or several have neither `accepts` nor a scheme of
 * their own
 */
export function anyOf<Members extends readonly Authenticator[]>(
  ...members: Members
): Authenticator<Members[number] extends Authenticator<infer User> ? User : never> {
  return combine(members, 'anyOf()') as never
}

/** {@link anyOf}. @param place - for errors @param wrong - throws the one about two issuers with introspection */
export function combine(
  members: readonly Authenticator[],
  place: string,
  wrong = wrongOption,
): Authenticator {
  if (members.length === 0) wrongOption(`${place}: expected one authenticator or more.`)
  members.forEach((member, index) => check(authenticatorSchema, member, `${place}[${index}]`))
  checkChoice(members, place)
  const leaves = new Set(members.flatMap(membersOf))
  const takers = [...leaves].filter((leaf: TakesOpaque) => leaf[kTakesOpaque])
  if (takers.length > 1) wrong(`${place}: ${severalTakers}`)
  const [first] = members
  const other = members.find(({ scheme, accepts }) => scheme === undefined && accepts === undefined)
  const isAnswering = members.some(({ onUnauthorized }) => onUnauthorized !== undefined)
  const asked = new WeakMap<FastifyRequest, Authenticator>()

  const ofLocalTokens = members.filter((member) => membersOf(member).some(readsLocalTokens))
  const inOrder = [...members.filter((member) => !ofLocalTokens.includes(member)), ...ofLocalTokens]
  const schemes = new Map(
    members.map((each) => [each, membersOf(each).flatMap(({ scheme }) => scheme ?? [])]),
  )

  function namedBy({ headers: { authorization } }: FastifyRequest): readonly Authenticator[] {
    const isNamed = (scheme: string): boolean => credentialsOf(authorization, scheme) !== null
    return members.filter((member) => schemes.get(member)?.some(isNamed))
  }

  function accepting(request: FastifyRequest, named: readonly Authenticator[]) {
    const candidates = named.length === 0 ? inOrder : inOrder.filter((each) => named.includes(each))
    return (
      candidates.find((member) => member.accepts?.(request) === true) ??
      named.find((member) =>
        membersOf(member).some((leaf: TakesOpaque) => leaf[kTakesOpaque]?.(request)),
      ) ??
      (named.length === 0 ? unnamed(request) : named.find(({ accepts }) => accepts === undefined))
    )
  }

  /** A cookie with a token that no member accepts has to be rejected, also if credentials are optional. */
  function unnamed(request: FastifyRequest): Authenticator | undefined {
    const sources = registrationOf(request.server)?.tokenSources ?? []
    const isRejected = ofLocalTokens.length > 0 && localTokenIn(request, sources) !== null
    return isRejected ? ofLocalTokens[0] : other
  }

  return {
    members,
    optional: members.every((member) => declaredProperty(member, 'optional') === true),
    async init(app) {
      for (const member of members) await requireRegistration('anyOf', app).initialize(member)
    },
    accepts: (request) => accepting(request, namedBy(request)) !== undefined,
    authenticate(request) {
      const named = namedBy(request)
      const member =
        (named.length === 1 ? named[0] : accepting(request, named)) ??
        named.find((each) => membersOf(each).some((leaf) => kRejectsAny in leaf)) ??
        named[0]
      if (member === undefined) return null
      setAsked(request, member)
      if (isAnswering) asked.set(request, member)
      return member.authenticate(request)
    },
    onUnauthorized(error, request, reply) {
      return (asked.get(request) ?? first)?.onUnauthorized?.(error, request, reply)
    },
  }
}

/** @throws ERR_AUTH_OPTION for authenticators of which only the first could ever be asked */
function checkChoice(members: readonly Authenticator[], place: string): void {
  const all = [...new Set(members.flatMap(membersOf))]
  const schemes = all
    .filter(({ accepts }) => accepts === undefined)
    .map(({ scheme }) => scheme?.toLowerCase())
  const twice = schemes.findIndex((scheme, index) => schemes.indexOf(scheme) !== index)
  if (twice === -1) return
  const scheme = schemes[twice] === undefined ? 'a scheme' : `another scheme than ${schemes[twice]}`
  wrongOption(
    `${place}: several authenticators have neither ${scheme} nor accepts(), so only the first one would ever be asked. Give each one accepts(request), which says whether the credentials of a request are meant for it.`,
  )
}

const severalTakers =
  'found several issuers with "introspection", expected one. An opaque token does not say whose it is, and each of them would be shown the tokens of the others. Accept only one of them here.'

/** Whether an authenticator, or a member of an `anyOf()`, reads HTTP Basic. */
export function readsBasic(authenticator: Authenticator): boolean {
  return membersOf(authenticator).some(({ scheme }) => scheme?.toLowerCase() === 'basic')
}

/** @returns the members of an `anyOf()`; for any other authenticator, that authenticator alone */
export function membersOf(authenticator: Authenticator): readonly Authenticator[] {
  return authenticator.members?.flatMap(membersOf) ?? [authenticator]
}
