import { wrongOption } from '../errors/errors.js'
import { membersOf } from './any-of.js'
import { tokensOf } from './jwt.js'
import type { Registration, RoutePolicy } from '../feature.js'
import type { ResolvedRules } from '../options/resolve-jwt.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { UserService } from '../../types/user-service.js'

type AcceptedTokens = NonNullable<ReturnType<typeof tokensOf>>

/** Rejects registrations that accept each other's tokens, while alice of one is not alice of the other. */
export function checkSharedKeys(registrations: readonly Registration[]): void {
  for (const [index, one] of registrations.entries()) {
    const isConfused = (each: Registration): boolean =>
      acceptSameTokens(one, each) &&
      !isSameService(one.options.userService, each.options.userService)
    const other = registrations.slice(index + 1).find(isConfused)
    if (other === undefined) continue
    const [place, otherPlace] = [one, other].map(({ app }) => JSON.stringify(app.prefix || '/'))
    wrongOption(
      `option "jwt": the registrations in the scopes ${place} and ${otherPlace} verify with the same key but have different user services, so each accepts the tokens of the other. Give each its own "audience", as in jwt: { ...configFromEnv().jwt, audience: 'admin' }, or both the same "userService".`,
    )
  }
}

/** Whether two registrations have a key in common, and no audiences or issuers that keep their tokens apart. */
export function acceptSameTokens(
  { jwtService: one }: Registration,
  { jwtService: other }: Registration,
): boolean {
  return haveSameKeys(one.fingerprints(), other.fingerprints()) && haveSameClaims(one, other)
}

/** Rejects authenticators of routes that accept each other's tokens, while they ask different user services. */
export function checkSharedTokens(policies: readonly RoutePolicy[]): void {
  const found: { policy: RoutePolicy; authenticator: Authenticator; tokens: AcceptedTokens }[] = []
  for (const policy of policies) {
    for (const authenticator of policy.members.flatMap(membersOf)) {
      const { registration } = policy
      const isSame = (each: (typeof found)[number]): boolean =>
        each.authenticator === authenticator && each.policy.registration === registration
      const tokens = found.some(isSame) ? undefined : tokensOf(authenticator, registration)
      if (tokens === undefined) continue
      const other = found.find((each) => areConfused(each.tokens, tokens))
      if (other !== undefined) {
        wrongOption(
          `option "authenticators": "${other.policy.name}" and "${policy.name}" verify with the same key but have different user services, so alice of one would pass as alice of the other. Give each its own "audience", "claimName" or "typ", as in jwtAuthenticator({ userService, audience: 'admin' }); or both the same "userService", and require a role in the marks.`,
        )
      }
      found.push({ policy, authenticator, tokens })
    }
  }
}

function areConfused(one: AcceptedTokens, other: AcceptedTokens): boolean {
  return (
    !isSameService(one.userService, other.userService) &&
    one.claimName === other.claimName &&
    [...one.typ].some((typ) => other.typ.has(typ)) &&
    one.signingMethod === other.signingMethod &&
    haveSameKeys(one.keys(), other.keys()) &&
    haveSameClaims(one, other)
  )
}

function haveSameKeys(one: readonly string[], other: readonly string[]): boolean {
  return one.some((key) => other.includes(key))
}

type Claims = Pick<ResolvedRules, 'audience' | 'issuer'>

function haveSameClaims(one: Claims, other: Claims): boolean {
  const audiences = other.audience
  return (
    !(one.audience && audiences && !one.audience.some((name) => audiences.includes(name))) &&
    !(one.issuer && other.issuer && one.issuer !== other.issuer)
  )
}

/** Options that are written twice are the same service. Two instances of classes may each find their own users. */
export function isSameService(one?: UserService, other?: UserService): boolean {
  if (one === undefined || other === undefined || one === other) return true
  const [mine, theirs] = [Object.entries(one), new Map<string, unknown>(Object.entries(other))]
  return (
    mine.length === theirs.size &&
    Object.hasOwn(one, 'findByUsername') &&
    mine.every(([name, value]) => theirs.get(name) === value)
  )
}
