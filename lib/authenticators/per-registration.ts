import type { FastifyInstance, FastifyRequest } from 'fastify'
import { wrongOption } from '../errors.js'
import { registrationOf, type Registration } from '../registration.js'

/**
 * State of a built-in authenticator, one a registration: the same authenticator may be used by several
 * apps and scopes, each with its own users and keys.
 *
 * @param name - for the error
 * @param create - makes the state while the app boots
 */
export function perRegistration<State>(
  name: string,
  create: (registration: Registration, app: FastifyInstance) => State,
): { init: (app: FastifyInstance) => void; of: (request: FastifyRequest) => State } {
  const states = new WeakMap<Registration, State>()
  return {
    init(app) {
      const registration = registrationOf(app) as Registration
      states.set(registration, create(registration, app))
    },
    of(request) {
      const registration = registrationOf(request.server)
      const state = registration && states.get(registration)
      if (state !== undefined) return state
      return wrongOption(
        `${name} is used before its init(). An authenticator that wraps it has to call init(app) of what it wraps, or to spread it.`,
      )
    },
  }
}
