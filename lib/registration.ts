import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from './errors.js'
import { parseMark } from './marks.js'
import { kRegistration, kStandIn } from './symbols.js'
import type { CheckCredentials } from './credentials.js'
import type { Translator } from './i18n.js'
import type { ResolvedOptions } from './options.js'
import type { Authenticator } from '../types/authenticator.js'
import type { JwtServiceLike } from '../types/jwt.js'
import type { AuthMode } from '../types/marks.js'
import type { UserService } from '../types/user-service.js'

/** What a route does with its requests: a mark, resolved in a registration. */
export interface Plan {
  readonly mode: AuthMode
  readonly authenticator: Authenticator
  /** Its name, for logs and events; of several, all names. */
  readonly name: string
  /** The same as a list. */
  readonly names: readonly string[]
  /** Whether a request without credentials passes as nobody. */
  readonly nobodyPasses: boolean
}

/** One registration of the plugin: what the guard, the authenticators and the login route share. */
export interface Registration {
  readonly options: ResolvedOptions
  readonly jwtService: JwtServiceLike | null
  readonly translator: Translator
  /** Names of the fields of users that hold password hashes. */
  readonly hiddenFields: Set<string>
  readonly authenticators: ReadonlyMap<string, Authenticator>
  /** The authenticator of marks without `use`. */
  readonly standard: Authenticator | undefined
  /** The check of credentials against a user service, for Basic or for login. */
  credentialCheck(
    userService: UserService,
    passwordField: string,
    use: 'basic' | 'login',
  ): CheckCredentials
  /** Calls `init` of an authenticator, once. */
  initialize(authenticator: Authenticator): Promise<void>
  /** The plan of a mark that was resolved before: most are while the app boots. */
  knownPlan(mark: unknown): Plan | undefined
  /**
   * @param place - where the mark stands, for the error
   * @throws ERR_AUTH_MARK
   */
  plan(mark: unknown, place: string): Plan
}

/**
 * The seam of the test kit: what it puts in place of the authenticator of every plan in its app. Nothing
 * of the core sets one, and none is asked for while requests are served: a plan is made once.
 */
export type StandIn = (authenticator: Authenticator) => Authenticator

/** A scope with the registration that is nearest to it. */
export interface Scope {
  readonly [kRegistration]?: Registration
  readonly [kStandIn]?: StandIn
}

/** The nearest registration of a scope, if any. */
export function registrationOf(server: FastifyInstance): Registration | undefined {
  return (server as Scope)[kRegistration]
}

/**
 * Resolves marks, each one once.
 *
 * @param scope - where to look for a {@link StandIn}, when a plan is made: the kit may come after us
 */
export function createPlanner(
  authenticators: ReadonlyMap<string, Authenticator>,
  standard: Authenticator | undefined,
  combine: (...members: Authenticator[]) => Authenticator,
  scope: object = {},
): Pick<Registration, 'knownPlan' | 'plan'> {
  const plans = new Map<unknown, Plan>()

  function resolve(mark: unknown, place: string): Plan {
    const { mode, use } = parseMark(mark, place)
    const members = use?.map((name) => named(name, place)) ?? [standard ?? missing(place)]
    const [first = missing(place)] = members
    const judge = members.length === 1 ? first : combine(...members)
    const authenticator = (scope as Scope)[kStandIn]?.(judge) ?? judge
    const nobodyPasses = mode !== true || authenticator.optional === true
    const names = members.map(nameOf)
    return { mode, authenticator, name: names.join('|'), names, nobodyPasses }
  }

  function nameOf(authenticator: Authenticator): string {
    const found = [...authenticators].find(([, known]) => known === authenticator)
    return found?.[0] ?? 'custom'
  }

  function named(name: string, place: string): Authenticator {
    const authenticator = authenticators.get(name)
    if (authenticator !== undefined) return authenticator
    const known = [...authenticators.keys()].join(', ') || 'none'
    throw new AuthnUsageError(
      'ERR_AUTH_MARK',
      `${place}: use names ${JSON.stringify(name)}, which is no authenticator here. Known: ${known}. "jwt" is there when there are a userService and a key of jwt.signingMethod, "basic" when there is a userService, "configBasic" when there is "basic"; others come from the option "authenticators".`,
    )
  }

  return {
    knownPlan: (mark) => plans.get(mark),
    plan(mark, place) {
      const plan = plans.get(mark) ?? resolve(mark, place)
      plans.set(mark, plan)
      return plan
    },
  }
}

function missing(place: string): never {
  throw new AuthnUsageError(
    'ERR_AUTH_MARK',
    `${place} is marked, but there is no authenticator that could judge its requests. Give the plugin a "userService" with "jwt" (is its secret set?), or "basic", or an "authenticator".`,
  )
}
