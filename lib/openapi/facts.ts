import type { FastifyInstance, RouteOptions } from 'fastify'
import type { EntryFacts, kLogin } from '../login/schema.js'
import type { Decision } from '../registration.js'
import type { Node } from './dialects.js'

/** The key under which a route's options keep where the route was declared. */
export const kFacts = Symbol('fastify-authn.route-facts')

/** The options of a route, with what we know of it. */
export type Route = RouteOptions & { [kFacts]?: RouteFacts; [kLogin]?: EntryFacts }

interface RouteFacts {
  readonly server: FastifyInstance
  readonly decisionOf: (config: object | undefined) => Decision | undefined
}

/** The argument of a `transform` of @fastify/swagger. The document is in one of two properties. */
export interface TransformInput {
  readonly schema?: Node
  readonly url: string
  readonly route: Route
  readonly openapiObject?: Node
  readonly swaggerObject?: Node
}
export type Transform = (input: TransformInput) => { schema?: Node; url?: string }
export type TransformObject = (
  input: Pick<TransformInput, 'openapiObject' | 'swaggerObject'>,
) => unknown
