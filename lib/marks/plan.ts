import { kit } from '../common/kit.js'
import { wrongMark } from '../errors.js'
import { propertyOf } from '../common/objects.js'
import { parseMark } from './parse.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthMode, NeededNames } from '../../types/marks.js'

/** How the requests of a route are authenticated: a mark, with the authenticators that it names. */
export interface Plan {
  readonly mode: AuthMode
  readonly authenticator: Authenticator
  /** Those that the mark names, also where the test kit judges in their place. */
  readonly members: readonly Authenticator[]
  /** The name of the authenticator, for logs and events; several names are joined by `|`. */
  readonly name: string
  /** The same names as a list. */
  readonly names: readonly string[]
  /** Whether a request without credentials may pass, with `request.user` null. */
  readonly nobodyPasses: boolean
  /** What the user has to be allowed; null for nothing. */
  readonly needs: Needs | null
}

/** The scopes and roles that a mark asks for, at least one of the two. */
export interface Needs {
  readonly scope: NeededNames | null
  readonly role: NeededNames | null
}

/**
 * @param scope - the scope of the registration: the test kit may replace authenticators there
 * @returns a function that makes the plan of a mark, once for each mark; it throws ERR_AUTH_MARK
 */
export function createPlanner(
  authenticators: ReadonlyMap<string, Authenticator>,
  standard: Authenticator | undefined,
  combine: (...members: Authenticator[]) => Authenticator,
  scope: object = {},
): (mark: unknown, place: string) => Plan {
  const plans = new Map<unknown, Plan>()
  // A copy, and plans that are frozen: anybody can get the registration by its symbol, and the map and the plans with it.
  const known = new Map(authenticators)

  function resolve(mark: unknown, place: string): Plan {
    const { mode, use, ...needed } = parseMark(mark, place)
    const members = use?.map((name) => named(name, place)) ?? [standard ?? missing(place)]
    const [first = missing(place)] = members
    const judge = members.length === 1 ? first : Object.freeze(combine(...members))
    const authenticator = kit.standIn?.(judge, scope) ?? judge
    const needs = needed.scope === null && needed.role === null ? null : needed
    // Nobody has scopes or roles, also where credentials are optional.
    const nobodyPasses =
      mode !== true || (needs === null && propertyOf(authenticator, 'optional') === true)
    const names = members.map(nameOf)
    return Object.freeze({
      mode,
      authenticator,
      members,
      name: names.join('|'),
      names,
      nobodyPasses,
      needs,
    })
  }

  function nameOf(authenticator: Authenticator): string {
    const found = [...known].find(([, other]) => other === authenticator)
    return found?.[0] ?? 'custom'
  }

  function named(name: string, place: string): Authenticator {
    const authenticator = known.get(name)
    if (authenticator !== undefined) return authenticator
    const others = [...known.keys()].join(', ') || 'none'
    return wrongMark(
      `${place}: use names ${JSON.stringify(name)}, which is no authenticator here. Known: ${others}. "jwt" is there when there are a userService and a key of jwt.signingMethod, "basic" when there is a userService, "configBasic" when there is "basic"; others come from the options "authenticators" and "issuers".`,
    )
  }

  return (mark, place) => {
    const plan = plans.get(mark) ?? resolve(mark, place)
    plans.set(mark, plan)
    return plan
  }
}

function missing(place: string): never {
  wrongMark(
    `${place} is marked, but there is no authenticator that could judge its requests. Give the plugin a "userService" with "jwt" (is its secret set?), or "basic", or an "authenticator"; HTTP Basic against the userService is authenticator: 'basic'. Of several "issuers", name those that are meant in "use" or "authenticator".`,
  )
}
