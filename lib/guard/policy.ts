import { combine, membersOf, readsBasic } from '../authenticators/any-of.js'
import { kNeverMeets, type Limited } from '../authenticators/limits.js'
import { didYouMean } from '../common/closest.js'
import { kit } from '../common/kit.js'
import { wrongMark } from '../errors/errors.js'
import { declaredProperty } from '../common/objects.js'
import { parseMark } from '../marks/mark.js'
import { challengeSchemes, challengesOf } from './challenges.js'
import { stateOf } from '../request/state.js'
import type { FastifyRequest } from 'fastify'
import type { Registration, RoutePolicy } from '../feature.js'
import type { Needs } from '../marks/access.js'
import type { Authenticator } from '../../types/authenticator.js'

export function policyOf(mark: unknown, place: string, registration: Registration): RoutePolicy {
  const { mode, use, ...needed } = parseMark(mark, place)
  const { authenticators } = registration
  const members =
    use === null
      ? registration.defaultAuthenticators
      : use.map((name) => namedAuthenticator(authenticators, name, place))
  const [first = missing(place)] = members
  const chosen = members.length === 1 ? first : combine(members, place, wrongMark)
  const authenticator = kit.standIn?.(chosen, registration.app) ?? chosen
  const needs: Needs | null = Object.values(needed).some(Boolean) ? needed : null
  // An authenticator with several names is called by the first one.
  const nameOf = new Map([...authenticators].toReversed().map(([name, each]) => [each, name]))
  const namesOf = (each: Authenticator): readonly string[] =>
    each.members === undefined || nameOf.has(each)
      ? [nameOf.get(each) ?? 'custom']
      : each.members.flatMap(namesOf)
  const names = [...new Set(members.flatMap(namesOf))]
  const name = names.join('|')
  for (const key of ['mfa', 'fresh'] as const) {
    if (!needed[key]) continue
    const other = members
      .flatMap(membersOf)
      .find((each: Authenticator & Limited) => each[kNeverMeets]?.includes(key))
    if (other) wrongMark(neverMet(place, key, nameOf.get(other) ?? 'custom'))
  }
  return {
    mode,
    registration,
    authenticator,
    members,
    name,
    names,
    nameFor(request: FastifyRequest): string {
      const asked = stateOf(request)?.asked ?? null
      return asked === null || names.length === 1 ? name : (nameOf.get(asked) ?? 'custom')
    },
    // An anonymous request has no scopes and roles, also where credentials are optional.
    allowsAnonymous:
      mode !== true || (needs === null && declaredProperty(authenticator, 'optional') === true),
    readsBasic: members.some(readsBasic),
    setChallenges: challengesOf(registration, challengeSchemes(authenticator), needed.scope),
    needs,
  }
}

const neverMet = (place: string, key: string, name: string): string =>
  `${place}: found key "${key}" on a route that accepts "${name}", whose users can never meet it. Name other authenticators in "use", such as use: 'jwt', or leave "${key}" out.`

export function namedAuthenticator(
  authenticators: Registration['authenticators'],
  name: string,
  place: string,
): Authenticator {
  const authenticator = authenticators.get(name)
  if (authenticator !== undefined) return authenticator
  const known = [...authenticators.keys()]
  const meant = didYouMean(name, known)
  return wrongMark(
    `${place}: use names ${JSON.stringify(name)}, which is not an authenticator here.${meant} Known: ${known.join(', ') || 'none'}. "jwt" needs a userService and a key of jwt.signingMethod, "basic" a userService, "configBasic" the option "basic", "apiKey" the option "apiKeys"; others come from the options "authenticators" and "issuers".`,
  )
}

function missing(place: string): never {
  wrongMark(
    `${place} is marked, but there is no authenticator for its requests. Set "userService" and "jwt" (is its secret set?), or "basic", or "authenticator"; for HTTP Basic against the userService, set authenticator: 'basic'. If there are several "issuers", name those that are accepted in "use" or "authenticator".`,
  )
}
