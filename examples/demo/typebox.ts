import type { Static, TSchema } from '@sinclair/typebox'
import type { FastifyTypeProvider } from 'fastify'

/** Gives `request.body` and `request.params` the types of their TypeBox schemas. */
export interface TypeBoxProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}
