import type { FastifyRequest } from 'fastify'
import { markOf } from '../app/routes.js'
import { propertyOf } from '../common/objects.js'
import { channels } from '../events.js'
import { ownMark } from '../marks/inherit.js'
import { registrationOf } from '../registration.js'
import { newSimulate, simulateOf, type ActingInjection } from './acting.js'
import { hasTestKit } from './plugin.js'
import type { Needs } from '../marks/plan.js'
import type { SuccessEvent } from '../../types/events.js'
import type { AuthUser } from '../../types/user-service.js'

/** What is known of a route of the plugin from a request that it has let in. */
export interface Watched extends Needs {
  readonly user: AuthUser
  /** Whether the app itself says which scopes a user has. */
  readonly hasScopesOf: boolean
  readonly hasRolesOf: boolean
  /** The cookie of an access token; null where the plugin reads none. */
  readonly cookie: string | null
  /** Whether `actingAs` works there. */
  readonly canAct: boolean
}

/**
 * Sends a request to a route, and learns what its mark asks for.
 *
 * @param send - sends it by `app.inject` with this `simulate`, by which it is recognised
 * @returns null where no guard of this package let it in
 */
export async function watch(
  send: (simulate: ActingInjection['simulate']) => Promise<unknown>,
): Promise<Watched | null> {
  const simulate = newSimulate()
  let watched: Watched | null = null
  const listener = ({ request, user }: SuccessEvent): void => {
    if (simulateOf(request) === simulate) watched = watchedOf(request, user)
  }
  channels.success.subscribe(listener)
  try {
    await send(simulate)
  } finally {
    channels.success.unsubscribe(listener)
  }
  return watched
}

function watchedOf(request: FastifyRequest, user: AuthUser): Watched {
  const { server, routeOptions } = request
  const registration = registrationOf(server)
  // The automatic HEAD route of a GET that a hook has marked has no mark in its own config.
  const mark = markOf(ownMark(routeOptions.config), server) ?? true
  const { scope = null, role = null } = registration?.plan(mark, '').needs ?? {}
  const access = registration?.options.access ?? {}
  return {
    user,
    scope,
    role,
    hasScopesOf: propertyOf(access, 'scopesOf') !== undefined,
    hasRolesOf: propertyOf(access, 'rolesOf') !== undefined,
    cookie: registration?.cookies?.nameFor(request) ?? null,
    canAct: hasTestKit(server),
  }
}
