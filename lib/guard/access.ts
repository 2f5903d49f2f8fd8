import type { FastifyRequest } from 'fastify'
import { requireLevel } from './level.js'
import { testGrants } from '../common/kit.js'
import { isThenable } from '../common/objects.js'
import { rejection, rejectionOrFault } from '../errors/errors.js'
import { isGone } from '../http/disconnect.js'
import { meets, needsText, type Needs } from '../marks/access.js'
import { claimsOf, stateOf } from '../request/state.js'
import { returnedNamesOf, rolesOf, scopesOf } from '../users/granted.js'
import { withUserTimeout } from '../users/user.js'
import type { Registration } from '../feature.js'
import type { Guarded } from './decision.js'
import type { AccessOptions } from '../../types/options.js'
import type { AuthUser } from '../../types/user-service.js'

type Granted = ReadonlySet<string>

type Key = keyof typeof steps

/** The function of `access` that each member of a mark asks, and the error of a user who lacks what it needs. */
const steps = {
  scope: { source: 'scopesOf', error: 'auth.insufficient-scope' },
  role: { source: 'rolesOf', error: 'auth.forbidden' },
} as const

/**
 * Lets a user pass who has the scopes and roles that the mark needs, and then was authenticated as it needs: whoever lacks
 * a role is not asked for a code. The answer is awaited only where it is a promise:
 * awaited always, requests to a route with a role took 8 % more CPU time over HTTP.
 */
export function requireAccess(
  guarded: Guarded,
  needs: Needs,
  user: AuthUser,
  key: Key | undefined = needs.scope ? 'scope' : needs.role ? 'role' : undefined,
): void {
  if (key === undefined) return finish(guarded, needs, user)
  let granted: Granted | Promise<Granted>
  try {
    const { request, policy } = guarded
    granted = grantedTo(user, request, policy.registration, steps[key].source)
  } catch (error) {
    return guarded.onError(rejectionOrFault('ERR_AUTH_ACCESS', error))
  }
  if (!(granted instanceof Promise)) return compare(guarded, needs, user, key, granted)
  // If the client has disconnected meanwhile, the handler must not run.
  const unlessGone =
    <Value>(then: (value: Value) => void) =>
    (value: Value): void => {
      if (!isGone(guarded.request)) then(value)
    }
  granted.then(
    unlessGone((names) => compare(guarded, needs, user, key, names)),
    unlessGone((error: unknown) => guarded.onError(rejectionOrFault('ERR_AUTH_ACCESS', error))),
  )
}

/** Rejects the user, or goes on with the role after the scope. */
function compare(guarded: Guarded, needs: Needs, user: AuthUser, key: Key, granted: Granted): void {
  const need = needs[key]
  if (need !== null && !meets(need, granted)) {
    const { scope } = Object(claimsOf(guarded.request)) as { scope?: unknown }
    const isUnread = !stateOf(guarded.request)?.grants?.scopes && Array.isArray(scope)
    const cause = `needs ${needsText({ [key]: need })}${key === 'scope' && isUnread ? listed : ''}`
    return guarded.onError(rejection(steps[key].error, { cause }))
  }
  if (key === 'scope' && needs.role !== null) return requireAccess(guarded, needs, user, 'role')
  finish(guarded, needs, user)
}

function finish(guarded: Guarded, needs: Needs, user: AuthUser): void {
  try {
    requireLevel(guarded.request, needs)
  } catch (error) {
    return guarded.onError(error)
  }
  guarded.allow(user)
}

/** The scopes or roles of a user: from a test, from the app, or else from the token or from the user. */
export function grantedTo(
  user: AuthUser,
  request: FastifyRequest,
  registration: Registration,
  source: keyof AccessOptions,
): Granted | Promise<Granted> {
  const fromTest = testGrants.get(request)?.[source]
  if (fromTest !== undefined) return fromTest
  const { access, userServiceTimeout } = registration.options
  const ask = access?.[source]
  const { scopes, roles, isLimit = false } = stateOf(request)?.grants ?? {}
  const given = source === 'scopesOf' ? scopes : roles
  if (ask === undefined && given !== undefined) return given
  if (ask === undefined && source === 'scopesOf') return scopesOf(claimsOf(request))
  if (ask === undefined) {
    return rolesOf(user, (field, found) => {
      if (registration.isRoleReportDue()) request.log.warn({ field, found }, noRoles)
    })
  }
  const answer: unknown = ask.call(access, user, request)
  const option = `access.${source}`
  const accept = (names: unknown): Granted => {
    const granted = returnedNamesOf(names, option)
    if (!isLimit || given === undefined) return granted
    return new Set([...given].filter((name) => granted.has(name)))
  }
  if (!isThenable(answer)) return accept(answer)
  // Another thenable may throw, or settle twice.
  return withUserTimeout(Promise.resolve(answer), userServiceTimeout).then(accept)
}

const listed = ', and the claim "scope" is a list, which only an option such as "scopes" reads'

const noRoles =
  'A user has no roles, since a field holds neither an array nor a Set of strings ("roles") nor a string ("role"); access.rolesOf may return them'
