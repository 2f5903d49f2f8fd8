import type { FastifyInstance, FastifyRequest } from 'fastify'
import { routeOf } from '../app/routes.js'
import { membersOf } from '../authenticators/any-of.js'
import { tokensOf } from '../authenticators/jwt.js'
import { channels } from '../events.js'
import { registrationOf } from '../request/registration.js'
import { stateOf } from '../request/state.js'
import { newSimulate, simulateOf, type ActingInjection } from './acting.js'
import { hasTestKit, testingOf } from './plugin.js'
import type { Registration } from '../feature.js'
import type { CookiesTesting } from '../cookies/feature.js'
import type { Needs } from '../marks/access.js'
import type { RequestApiKey } from '../../types/api-keys.js'
import type { RejectionEvent, SuccessEvent } from '../../types/events.js'
import type { AuthUser } from '../../types/user-service.js'

/** The facts about a route of the plugin that a request to it shows. */
export interface Watched extends Needs {
  readonly request: FastifyRequest
  /** The code and the reason of a request that was rejected; null for one that was let in. */
  readonly rejection: string | null
  /** The user of the request; empty if it was rejected. */
  readonly user: AuthUser
  /** Whether scopes come from elsewhere than the usual claims. */
  readonly hasScopesOf: boolean
  /** Whether `aud` of a token of our own keys is not checked. */
  readonly isAnyAudience: boolean
  /** The cookie of an access token; null where the plugin reads none. */
  readonly cookie: string | null
  readonly canAct: boolean
  readonly names: readonly string[]
  /** The scope whose API keys the route takes; null where it takes none. */
  readonly keyApp: FastifyInstance | null
  readonly apiKey: RequestApiKey | undefined
}

const outcomes = ['success', 'failure', 'throttled', 'overloaded'] as const

/**
 * Sends a request to a route, and learns what its mark asks for.
 * @param send - sends it by `app.inject` with this `simulate`, by which it is recognised
 * @returns null where no guard of this package let it in, or rejected it
 */
export async function watchRequest(
  send: (simulate: ActingInjection['simulate']) => Promise<unknown>,
): Promise<Watched | null> {
  const simulate = newSimulate()
  let watched: Watched | null = null
  const listener = (event: SuccessEvent | RejectionEvent): void => {
    if (simulateOf(event.request) === simulate) watched = watchedOf(event)
  }
  for (const name of outcomes) channels[name].subscribe(listener)
  try {
    await send(simulate)
  } finally {
    for (const name of outcomes) channels[name].unsubscribe(listener)
  }
  return watched
}

function watchedOf(event: SuccessEvent | RejectionEvent): Watched {
  const { request, user = {} } = event
  const { server, routeOptions } = request
  const registration = registrationOf(server)
  const { needs, names = [], members = [] } = routeOf(routeOptions.config)?.policy ?? {}
  const { scope = null, role = null, mfa = false, fresh = null } = needs ?? {}
  const mapped = stateOf(request)?.grants?.scopes
  return {
    request,
    rejection: 'code' in event ? [event.code, event.reason ?? []].flat().join(': ') : null,
    user,
    scope,
    role,
    mfa,
    fresh,
    hasScopesOf: (registration?.options.access?.scopesOf ?? mapped) !== undefined,
    isAnyAudience: members
      .flatMap(membersOf)
      .some((each) => tokensOf(each, registration as Registration)?.audience === false),
    cookie: testingOf<CookiesTesting>(server, 'cookies')?.cookieName(request) ?? null,
    canAct: hasTestKit(server),
    names,
    keyApp: names.includes('apiKey') && server.authn.features.includes('apiKeys') ? server : null,
    apiKey: request.extra.apiKey,
  }
}
