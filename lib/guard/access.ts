import type { FastifyRequest } from 'fastify'
import { testGrants } from '../common/kit.js'
import { isThenable } from '../common/objects.js'
import { AuthenticationFault, isAuthenticationError, refusal } from '../errors.js'
import { isGone } from '../http/disconnect.js'
import { meets, needText } from '../marks/access.js'
import { claimsOf } from '../request/state.js'
import { namesOf, rolesOf, scopesOf } from '../users/granted.js'
import { withUserTimeout } from '../users/user.js'
import type { Needs, Plan } from '../marks/plan.js'
import type { AccessOptions } from '../../types/options.js'
import type { AuthUser } from '../../types/user-service.js'

/** A request with a user, who passes or fails. */
interface Accessible {
  readonly request: FastifyRequest
  readonly plan: Plan
  enter(user: AuthUser): void
  fail(error: unknown): void
}

type Granted = ReadonlySet<string>

type Key = keyof Needs

/** How each member of a mark is judged: what says what the user has, and the refusal of who has too little. */
const steps = {
  scope: { source: 'scopesOf', refusal: 'auth.insufficient-scope' },
  role: { source: 'rolesOf', refusal: 'auth.forbidden' },
} as const

/**
 * Lets a user pass who has what the mark of the route asks for. The scope is judged first; who does not have it is
 * not asked for roles. What is granted is awaited only where it is a promise: measured over HTTP, requests to a route
 * with a role in its mark took 8 % more CPU time when it always was.
 */
export function requireAccess(attempt: Accessible, needs: Needs, user: AuthUser): void {
  judge(attempt, needs, user, needs.scope === null ? 'role' : 'scope')
}

function judge(attempt: Accessible, needs: Needs, user: AuthUser, key: Key): void {
  let granted: Granted | Promise<Granted>
  try {
    granted = grantedTo(user, attempt, steps[key].source)
  } catch (error) {
    return attempt.fail(refusalOrFault(error))
  }
  if (!(granted instanceof Promise)) return compare(attempt, needs, user, key, granted)
  // Where the client has gone away meanwhile, there is nobody to answer, and the handler must not run.
  const unlessGone =
    <Value>(then: (value: Value) => void) =>
    (value: Value): void => {
      if (!isGone(attempt.request)) then(value)
    }
  granted.then(
    unlessGone((names) => compare(attempt, needs, user, key, names)),
    unlessGone((error: unknown) => attempt.fail(refusalOrFault(error))),
  )
}

/** Refuses, or goes on with the next member of the mark, of which there is one after the scope. */
function compare(
  attempt: Accessible,
  needs: Needs,
  user: AuthUser,
  key: Key,
  granted: Granted,
): void {
  const need = needs[key]
  if (need !== null && !meets(need, granted)) {
    return attempt.fail(refusal(steps[key].refusal, { cause: `needs ${needText(key, need)}` }))
  }
  if (key === 'scope' && needs.role !== null) return judge(attempt, needs, user, 'role')
  attempt.enter(user)
}

/** What a user has: as a test or the app says, where it does, or else as the token or the user says. */
function grantedTo(
  user: AuthUser,
  { request, plan }: Accessible,
  source: keyof AccessOptions,
): Granted | Promise<Granted> {
  const ofTest = testGrants.get(request)?.[source]
  if (ofTest !== undefined) return ofTest
  const { access, userServiceTimeout } = plan.registration.options
  const ask = access?.[source]
  if (ask === undefined) return source === 'scopesOf' ? scopesOf(claimsOf(request)) : rolesOf(user)
  const answer: unknown = ask.call(access, user, request)
  const option = `access.${source}`
  if (!isThenable(answer)) return namesOf(answer, option)
  // What only looks like a promise may throw, or settle twice.
  return withUserTimeout(Promise.resolve(answer), userServiceTimeout).then((names) =>
    namesOf(names, option),
  )
}

/** A refusal, the one of a time-out too, goes out as it is; whatever else the app throws is a fault. */
function refusalOrFault(error: unknown): unknown {
  return isAuthenticationError(error) ? error : new AuthenticationFault('ERR_AUTH_ACCESS', error)
}
