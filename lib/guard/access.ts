import type { FastifyRequest } from 'fastify'
import { testGrants } from '../common/kit.js'
import { isThenable, ownOf, propertyOf } from '../common/objects.js'
import { AuthenticationFault, isAuthenticationError, refusal } from '../errors.js'
import { isGone } from '../http/disconnect.js'
import { meets } from '../marks/access.js'
import { claimsThatCount } from '../request/extra.js'
import { namesOf, rolesOf, scopesOf } from '../users/granted.js'
import { inTime } from '../users/timeout.js'
import type { Needs } from '../marks/plan.js'
import type { Registration } from '../registration.js'
import type { NeededNames } from '../../types/marks.js'
import type { AccessOptions } from '../../types/options.js'
import type { AuthUser } from '../../types/user-service.js'

/** A request with a user, who passes or fails. */
interface Accessible {
  readonly request: FastifyRequest
  readonly registration: Registration
  enter(user: AuthUser): void
  fail(error: unknown): void
}

type Granted = ReadonlySet<string>

/**
 * Lets a user pass who has what the mark of the route asks for. The scope is judged first; who does not have it is
 * not asked for roles. What the functions of the app return is awaited only where it is a promise.
 */
export function requireAccess(attempt: Accessible, { scope, role }: Needs, user: AuthUser): void {
  const refuse = (key: 'auth.insufficient-scope' | 'auth.forbidden') => (): void =>
    attempt.fail(refusal(key))
  const enter = (): void => attempt.enter(user)
  const judgeRole = (): void =>
    judge(attempt, user, 'rolesOf', role, enter, refuse('auth.forbidden'))
  judge(attempt, user, 'scopesOf', scope, judgeRole, refuse('auth.insufficient-scope'))
}

function judge(
  attempt: Accessible,
  user: AuthUser,
  source: keyof AccessOptions,
  need: NeededNames | null,
  pass: () => void,
  refuse: () => void,
): void {
  if (need === null) return pass()
  const compare = (granted: Granted): void => (meets(need, granted) ? pass() : refuse())
  let granted: Granted | Promise<Granted>
  try {
    granted = grantedTo(user, attempt, source)
  } catch (error) {
    return attempt.fail(refusalOrFault(error))
  }
  if (!(granted instanceof Promise)) return compare(granted)
  // Where the client has gone away meanwhile, there is nobody to answer, and the handler must not run.
  const unlessGone =
    <Value>(then: (value: Value) => void) =>
    (value: Value): void => {
      if (!isGone(attempt.request)) then(value)
    }
  granted.then(
    unlessGone(compare),
    unlessGone((error: unknown) => attempt.fail(refusalOrFault(error))),
  )
}

/** What a user has: as a test or the app says, where it does, or else as the token or the user says. */
function grantedTo(
  user: AuthUser,
  { request, registration: { options } }: Accessible,
  source: keyof AccessOptions,
): Granted | Promise<Granted> {
  const ofTest = testGrants.get(request)?.[source]
  if (ofTest !== undefined) return ofTest
  const access = (ownOf(options, 'access') ?? {}) as AccessOptions
  const ask = propertyOf(access, source) as AccessOptions[typeof source]
  if (ask === undefined)
    return source === 'scopesOf' ? scopesOf(claimsThatCount(request)) : rolesOf(user)
  const answer: unknown = ask.call(access, user, request)
  const option = `access.${source}`
  if (!isThenable(answer)) return namesOf(answer, option)
  // What only looks like a promise may throw, or settle twice.
  return inTime(Promise.resolve(answer), options.userServiceTimeout).then((names) =>
    namesOf(names, option),
  )
}

/** A refusal, the one of a time-out too, goes out as it is; whatever else the app throws is a fault. */
function refusalOrFault(error: unknown): unknown {
  return isAuthenticationError(error) ? error : new AuthenticationFault('ERR_AUTH_ACCESS', error)
}
