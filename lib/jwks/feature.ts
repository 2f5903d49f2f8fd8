import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { wrongOption } from '../errors/errors.js'
import { kOwnRoute } from '../login/own-route.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { JwtService } from '../tokens/service.js'

interface Published {
  readonly scope: FastifyInstance
  /** That of the last registration in the scope. */
  service: JwtService
}

/** The services whose keys are published, by the root of the app and by the path. */
const published = new WeakMap<FastifyInstance, Map<string, Published>>()

/**
 * The option `jwt.publish`: a public route with the public keys (RFC 7517 §5). It belongs to the root, since clients
 * look for it at a fixed path (RFC 8615), whatever the prefix of the registration. It is in no API document.
 */
export function createFeature({ app, root, jwtService }: FeatureContext): Feature {
  return {
    name: 'jwks',
    routes() {
      const url = String(jwtService.publish)
      const services = published.get(root) ?? new Map<string, Published>()
      published.set(root, services)
      const present = services.get(url)
      if (present?.scope === app) present.service = jwtService
      if (present?.service === jwtService) return
      if (root.hasRoute({ method: 'GET', url })) {
        wrongOption(
          `option "jwt.publish": GET ${url} is already declared. Choose another path: jwt: { publish: '/keys.json' }`,
        )
      }
      const entry = { scope: app, service: jwtService }
      services.set(url, entry)
      root.route({
        ...({ [kOwnRoute]: undefined } as object),
        method: 'GET',
        url,
        exposeHeadRoute: true,
        config: { auth: false },
        schema: hidden,
        handler: (request, reply) => sendKeySet(request, reply, entry.service),
      })
    },
  }
}

/** What @fastify/swagger leaves out of its documents. */
const hidden: FastifySchema & { hide: true } = { hide: true }

/** Shorter than the time for which a new key is published before it signs. */
const cacheControl = 'public, max-age=300'

function sendKeySet(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  service: JwtService,
): FastifyReply {
  const body = JSON.stringify(service.jwks())
  const tag = `"${createHash('sha256').update(body).digest('base64url')}"`
  void reply.header('cache-control', cacheControl).header('etag', tag)
  const condition = headers['if-none-match']?.trim() ?? ''
  // The weak comparison of RFC 9110 §13.1.2.
  const tags: readonly string[] = condition.match(/"[^"]*"/g) ?? []
  if (condition === '*' || tags.includes(tag)) return reply.code(304).send()
  return reply.header('content-type', 'application/jwk-set+json').send(Buffer.from(body))
}
