// Hooks that are typed as hooks of any route leave the user of a marked route as it is.
import Fastify, {
  type FastifyReply,
  type FastifyRequest,
  type FastifyTypeProvider,
  type preHandlerAsyncHookHandler,
  type preHandlerHookHandler,
} from 'fastify'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AuthenticatedHandler, AuthenticatedRequest, AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'

const app = Fastify()
const known = exactly<AuthUser>()

const named: preHandlerHookHandler = (request, _reply, done) => {
  exactly<AuthUser | null>()(request.user)
  done()
}
const promised: preHandlerAsyncHookHandler = async (request) => {
  exactly<AuthUser | null>()(request.user)
}
async function log(request: FastifyRequest): Promise<void> {
  request.log.info(request.url)
}
async function limit(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('x-limit', '1')
}

for (const preHandler of [named, promised, log, limit]) {
  app.get('/', { config: { auth: true }, preHandler }, ({ user }) => known(user))
}
app.get('/', { config: { auth: true }, preHandler: [named, promised, log, limit] }, ({ user }) =>
  known(user),
)
app.get('/', { config: { auth: true }, onRequest: log, onSend: limit }, ({ user }) => known(user))
app.route({
  method: 'GET',
  url: '/',
  config: { auth: true },
  preHandler: [named, limit],
  handler: (request) => request.user.id,
})
app.get('/', { config: { auth: 'optional' }, preHandler: log }, ({ user }) =>
  exactly<AuthUser | null>()(user),
)

// The same with type providers.

const withZod = Fastify().withTypeProvider<ZodTypeProvider>()
const zodSchema = { body: z.object({ text: z.string() }) }
withZod.post(
  '/',
  { schema: zodSchema, config: { auth: true }, preHandler: [named, promised, log] },
  (request) => {
    known(request.user)
    return request.body.text
  },
)
interface TypeBoxTypeProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}
const withTypeBox = Fastify().withTypeProvider<TypeBoxTypeProvider>()
const body = Type.Object({ text: Type.String() })
withTypeBox.route({
  method: 'POST',
  url: '/',
  schema: { body },
  config: { auth: true },
  preHandler: [named, log],
  onSend: limit,
  handler: (request) => {
    known(request.user)
    return request.body.text
  },
})

// Handlers of other files, in apps with a type provider.

async function whoever(request: AuthenticatedRequest): Promise<string> {
  return request.user.name
}
const anybody: AuthenticatedHandler = async (request) => request.user.name
withZod.get('/', { config: { auth: true } }, whoever)
withTypeBox.get('/', { config: { auth: true } }, (request) => whoever(request))
app.get('/', { config: { auth: true }, preHandler: log }, anybody)
