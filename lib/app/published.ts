import type { FastifyInstance } from 'fastify'
import { wrongOption } from '../errors.js'
import type { JwkSet, JwtServiceLike } from '../../types/jwt.js'

/** A path at which keys are published. */
export interface Published {
  /** The scope of the registration that they are of. */
  readonly scope: FastifyInstance
  service: Required<Pick<JwtServiceLike, 'jwks'>>
}

/** The part of a tree of Fastify instances that publishes keys. */
interface Publishing {
  readonly root: FastifyInstance
  readonly published: Map<string, Published>
}

/**
 * Adds the route that `jwt.publish` asks for: on the root, since others look for it at a fixed path (RFC 8615),
 * whatever the prefix of the registration.
 *
 * @throws ERR_AUTH_OPTION where the path is taken
 */
export async function publishKeys(
  app: FastifyInstance,
  { root, published }: Publishing,
  service: JwtServiceLike | null,
): Promise<void> {
  if (!isPublisher(service)) return
  const url = service.publish
  const earlier = published.get(url)
  // Registrations may share a service; and of two in one scope, the last one counts.
  if (earlier?.scope === app) earlier.service = service
  if (earlier?.service === service) return
  if (earlier !== undefined) taken(url, `the registration in the scope ${nameOf(earlier.scope)}`)
  if (root.hasRoute({ method: 'GET', url })) taken(url, 'a route of the app')
  const own: Published = { scope: app, service }
  published.set(url, own)
  const { keySetRoute } = await import('../jwt/ring/publish.js')
  root.route(keySetRoute(url, (): JwkSet => own.service.jwks()))
}

function isPublisher(
  service: JwtServiceLike | null,
): service is JwtServiceLike & { readonly publish: string; jwks(): JwkSet } {
  return service?.publish !== undefined && service.jwks !== undefined
}

function nameOf({ prefix }: FastifyInstance): string {
  return JSON.stringify(prefix || '/')
}

function taken(url: string, by: string): never {
  wrongOption(
    `option "jwt.publish": GET ${url} is taken by ${by}. Choose another path: jwt: { publish: '/keys.json' }`,
  )
}
