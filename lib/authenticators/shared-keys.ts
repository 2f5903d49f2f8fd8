import { wrongOption } from '../errors.js'
import type { FastifyBaseLogger } from 'fastify'
import type { Registration, TokenUse } from '../registration.js'

/**
 * Two registrations with one key accept the tokens of each other: where their users differ, alice of the one
 * would be alice of the other. Within one registration, an authenticator with users of its own is intended.
 *
 * @throws ERR_AUTH_OPTION
 */
export function checkSharedKeys(registrations: readonly (readonly TokenUse[])[]): void {
  for (const [index, uses] of registrations.entries()) {
    const others = registrations.slice(index + 1).flat()
    for (const one of uses) {
      const other = others.find((each) => isOpenTo(one, each))
      if (other !== undefined) refuse(one, other)
    }
  }
}

function refuse({ method, prefix }: TokenUse, other: TokenUse): never {
  const [place, otherPlace] = [prefix, other.prefix].map((each) => JSON.stringify(each || '/'))
  wrongOption(
    `option "jwt": the registrations in the scopes ${place} and ${otherPlace} verify ${method} with one key, but have different user services, so that each takes the tokens of the other. Give each an "audience" of its own, as in jwt: { ...configFromEnv().jwt, audience: 'admin' }, or both one and the same "userService".`,
  )
}

/**
 * Warns where tokens of sessions are accepted by a registration that does not hear of the ends of those sessions.
 *
 * @param own - the registration that is new
 * @param all - all registrations of the app
 */
export function warnUnjudged(
  own: Registration,
  all: readonly (Registration | undefined)[],
  log: FastifyBaseLogger,
): void {
  const isUnjudged = (from: Registration, by: Registration): boolean =>
    from.sessions !== null &&
    by.sessions !== from.sessions &&
    from.tokenUses.some((one) => by.tokenUses.some((other) => acceptsSame(one, other)))
  const found = all.some(
    (each) => each !== undefined && (isUnjudged(own, each) || isUnjudged(each, own)),
  )
  if (!found) return
  log.warn(
    'fastify-authn: two registrations verify with one key, and one of them does not know which sessions of the other are ended, so that it goes on taking their tokens until they are over. Give each an "audience" of its own, or use one registration for both.',
  )
}

function isOpenTo(one: TokenUse, other: TokenUse): boolean {
  return acceptsSame(one, other) && !isSameService(one.userService, other.userService)
}

function acceptsSame(one: TokenUse, other: TokenUse): boolean {
  return (
    one.method === other.method &&
    one.key() === other.key() &&
    !areDistinct(one.audience, other.audience) &&
    [...one.typ].some((typ) => other.typ.has(typ)) &&
    !areDistinct(one.issuer && [one.issuer], other.issuer && [other.issuer])
  )
}

/** Whether both sides name what they expect, and nothing that the other one expects too. */
function areDistinct(
  one: readonly string[] | '' | undefined,
  other: readonly string[] | '' | undefined,
): boolean {
  if (!one || !other) return false
  return !one.some((name) => other.includes(name))
}

/** One object; or two plain ones with the same members, which options that are written twice give. */
function isSameService(one: object, other: object): boolean {
  if (one === other) return true
  const [mine, theirs] = [one, other].map((each) => Object.entries(each))
  return (
    [one, other].every((each) => Object.getPrototypeOf(each) === Object.prototype) &&
    mine?.length === theirs?.length &&
    mine?.every(([name, value]) => (other as Record<string, unknown>)[name] === value) === true
  )
}
