// fastify-type-provider-zod: one route has its user from the mark, and its body from the schema.
import Fastify from 'fastify'
import {
  serializerCompiler,
  validatorCompiler,
  type FastifyPluginAsyncZod,
  type FastifyPluginCallbackZod,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod'
import { z } from 'zod'
import authn, { type AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'
import type { Row } from './user.js'

const app = Fastify().withTypeProvider<ZodTypeProvider>()
app.setValidatorCompiler(validatorCompiler)
app.setSerializerCompiler(serializerCompiler)

declare const find: (name: string | number) => Promise<(Row & { team: string }) | undefined>
app.register(authn, {
  userService: { findByUsername: async (username) => find(username) },
  jwt: { secret: 'secret' },
  passwordField: 'password',
  login: { tokenFunc: (_request, user) => user.team },
})

const schema = {
  body: z.object({ text: z.string() }),
  querystring: z.object({ page: z.coerce.number().optional() }),
  response: { 200: z.object({ id: z.number() }) },
}

app.post('/', { schema, config: { auth: true } }, async (request) => {
  exactly<string>()(request.body.text)
  exactly<number | undefined>()(request.query.page)
  exactly<AuthUser>()(request.user)
  return { id: request.user.id }
})
app.post('/', { schema, config: { auth: 'try' } }, async (request) => {
  exactly<AuthUser | null>()(request.user)
  return { id: request.user?.id ?? 0 }
})
app.post('/', {
  schema,
  // @ts-expect-error -- the request may be anonymous
  handler: async (request) => ({ id: request.user.id }),
})

const notes: FastifyPluginAsyncZod<{ limit: number }> = async (scope, { limit }) => {
  scope.get(
    '/',
    { schema: { querystring: schema.querystring }, config: { auth: true } },
    (request) => Math.min(request.user.id, request.query.page ?? limit),
  )
}
const tags: FastifyPluginCallbackZod = (scope, _options, done) => {
  scope.get('/:id', {
    schema: { params: z.object({ id: z.string() }) },
    config: { auth: true },
    handler: (request) => `${request.params.id} of ${request.user.name}`,
  })
  done()
}
app.register(notes, { limit: 5, prefix: '/notes', auth: true })
app.register(tags, { auth: 'optional' })
