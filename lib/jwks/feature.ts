import type { FastifyInstance } from 'fastify'
import { sendPublic } from '../http/public-document.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { JwtService } from '../tokens/service.js'

interface Published {
  readonly scope: FastifyInstance
  /** The service of the last registration in the scope. */
  service: JwtService
}

/** The services whose keys are published, by the root of the app and by the path. */
const published = new WeakMap<FastifyInstance, Map<string, Published>>()

/**
 * The option `jwt.publish`: a public route with the public keys (RFC 7517 §5). It belongs to the root, since clients
 * look for it at a fixed path (RFC 8615), whatever the prefix of the registration. It is in no API document.
 */
export function create({ app, root, jwtService }: FeatureContext): Feature {
  return {
    name: 'jwks',
    routes() {
      const path = String(jwtService.publish)
      const services = published.get(root) ?? new Map<string, Published>()
      published.set(root, services)
      const present = services.get(path)
      if (present?.scope === app) present.service = jwtService
      if (present?.service === jwtService) return []
      const entry = { scope: app, service: jwtService }
      services.set(path, entry)
      return [
        {
          kind: 'key set',
          method: 'GET',
          path,
          scope: root,
          option: 'jwt.publish',
          ifTaken: "Choose another path: jwt: { publish: '/keys.json' }",
          work(request, reply) {
            const text = JSON.stringify(entry.service.jwks())
            return sendPublic(request, reply, 'application/jwk-set+json', text)
          },
        },
      ]
    },
  }
}
