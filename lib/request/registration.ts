import type { FastifyInstance, FastifyRequest } from 'fastify'
import { twoCopies, wrongOption } from '../errors/errors.js'
import type { Registration } from '../feature.js'

const kRegistration = Symbol('fastify-authn.registration')

export function setRegistration(registration: Registration): void {
  Object.assign(registration.app, { [kRegistration]: registration })
}

export function registrationOf(server: FastifyInstance): Registration | undefined {
  return (server as { [kRegistration]?: Registration })[kRegistration]
}

/** @throws ERR_AUTH_OPTION where `init` of an authenticator gets a scope without a registration */
export function requireRegistration(name: string, app: FastifyInstance): Registration {
  const problem = `${name}: found a scope without the plugin in init(app).`
  return registrationOf(app) ?? wrongOption(`${problem}${registeredByOther(app)}`)
}

/** The remedy where a scope, or one around it, has a registration of another copy of the package; else empty. */
export function registeredByOther(server: object | null): string {
  if (server === null) return ''
  const { description } = kRegistration
  const keys = Object.getOwnPropertySymbols(server).filter((key) => key !== kRegistration)
  if (keys.some((key) => key.description === description)) return ` ${twoCopies}`
  return registeredByOther(Object.getPrototypeOf(server) as object | null)
}

/** The state of a built-in authenticator: apps and scopes that share it have users and keys of their own. */
export function perRegistration<State>(
  name: string,
  create: (registration: Registration) => State,
): { init: (app: FastifyInstance) => void; of: (request: FastifyRequest) => State } {
  const states = new WeakMap<Registration, State>()
  return {
    init(app) {
      const registration = requireRegistration(name, app)
      states.set(registration, create(registration))
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
