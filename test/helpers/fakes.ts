import type { FastifyInstance, FastifyRequest } from 'fastify'
import { setRegistration } from '../../lib/request/registration.js'
import type { Registration } from '../../lib/feature.js'

/** Of a request, what an authenticator may look at. */
export function requestWith(headers: Record<string, string>, server: object = {}): FastifyRequest {
  return { headers, server } as FastifyRequest
}

/** Of a Fastify instance, what says which registration of the plugin is nearest. */
export function serverWith(registration: Partial<Registration>): FastifyInstance {
  const app = {} as FastifyInstance
  setRegistration({ ...registration, app } as Registration)
  return app
}
