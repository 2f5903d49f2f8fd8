// Type providers, and servers that are not the default one.
import Fastify, { type FastifyTypeProvider } from 'fastify'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import {
  serializerCompiler,
  validatorCompiler,
  type FastifyPluginAsyncZod,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod'
import { z } from 'zod'
import authn, { type AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'

// Zod.

const withZod = Fastify().withTypeProvider<ZodTypeProvider>()
withZod.setValidatorCompiler(validatorCompiler)
withZod.setSerializerCompiler(serializerCompiler)
withZod.register(authn, { jwt: { secret: 'secret' } })
withZod.post(
  '/',
  { schema: { body: z.object({ text: z.string() }) }, config: { auth: true } },
  (request) => {
    exactly<string>()(request.body.text)
    exactly<AuthUser>()(request.user)
    // @ts-expect-error -- not in the schema
    return request.body.title
  },
)
withZod.route({
  method: 'POST',
  url: '/',
  schema: { body: z.object({ text: z.string() }) },
  config: { auth: 'try' },
  handler: (request) => {
    exactly<string>()(request.body.text)
    exactly<AuthUser | null>()(request.user)
  },
})
const zodRoutes: FastifyPluginAsyncZod = async (scope) => {
  await scope.register(authn, {})
  scope.get(
    '/',
    { schema: { querystring: z.object({ page: z.number() }) }, config: { auth: true } },
    (request) => request.user.id + request.query.page,
  )
}
withZod.register(zodRoutes, { prefix: '/zod', auth: true })
exactly<string | undefined>()(withZod.jwtService?.generateToken('alice'))

// TypeBox: the whole of its provider.

interface TypeBoxTypeProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}
const withTypeBox = Fastify().withTypeProvider<TypeBoxTypeProvider>()
withTypeBox.register(authn, {})
withTypeBox.post(
  '/',
  { schema: { body: Type.Object({ text: Type.String() }) }, config: { auth: { use: 'jwt' } } },
  (request) => {
    exactly<string>()(request.body.text)
    return request.user.id
  },
)

// HTTP/2, and the app's own logger.

const http2 = Fastify({ http2: true })
http2.register(authn, {})
http2.get('/', { config: { auth: true } }, (request) => request.user.id)
// @ts-expect-error -- nobody may be there
http2.get('/', (request) => request.user.id)

const logger = Object.assign(Fastify().log, { trail: (text: string) => text })
const logged = Fastify({ loggerInstance: logger })
logged.register(authn, {})
logged.get('/', { config: { auth: true } }, (request) => request.log.trail(`${request.user.id}`))
