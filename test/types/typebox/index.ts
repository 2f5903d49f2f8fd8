// @fastify/type-provider-typebox: one route has its user from the mark, and its body from the schema.
import Fastify, { type FastifyRequest } from 'fastify'
import {
  TypeBoxValidatorCompiler,
  type FastifyPluginAsyncTypebox,
  type FastifyPluginCallbackTypebox,
  type TypeBoxTypeProvider,
} from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import authn, { type AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'
import '../app/user.js'

const app = Fastify().withTypeProvider<TypeBoxTypeProvider>()
app.setValidatorCompiler(TypeBoxValidatorCompiler)

app.register(authn)

const schema = {
  body: Type.Object({ text: Type.String() }),
  querystring: Type.Object({ page: Type.Optional(Type.Integer()) }),
  response: { 200: Type.Object({ id: Type.Number() }) },
}

app.post('/', { schema, config: { auth: true } }, async (request) => {
  exactly<string>()(request.body.text)
  exactly<number | undefined>()(request.query.page)
  exactly<AuthUser>()(request.user)
  // @ts-expect-error -- not in the schema
  exactly<unknown>()(request.body.title)
  return { id: request.user.id }
})
app.route({
  method: 'POST',
  url: '/',
  schema,
  config: { auth: { use: ['jwt', 'basic'] } },
  preHandler: [
    async (request) => {
      exactly<AuthUser>()(request.user)
      exactly<string>()(request.body.text)
    },
  ],
  handler: async (request) => {
    exactly<number | undefined>()(request.query.page)
    return { id: request.user.id }
  },
})
app.post('/', { schema: { body: schema.body } }, (request, reply) =>
  app.authn.sessions.begin(request.body.text, request, reply),
)
app.get('/:id', {
  schema: { params: Type.Object({ id: Type.Integer() }) },
  config: { auth: true },
  handler: (request) => request.user.id + request.params.id,
})

// Plugins of the provider's own types, with and without a mark of their own.

const notes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.put('/', { schema, config: { auth: true } }, async (request) => {
    exactly<string>()(request.body.text)
    return { id: request.user.id }
  })
  // @ts-expect-error -- the request may be anonymous
  scope.put('/open', { schema }, async (request) => ({ id: request.user.id }))
}
const tags: FastifyPluginCallbackTypebox<{ limit: number }> = (scope, { limit }, done) => {
  scope.get(
    '/',
    { schema: { querystring: schema.querystring }, config: { auth: true } },
    (request) => request.user.id + (request.query.page ?? limit),
  )
  done()
}
app.register(notes, { prefix: '/notes', auth: true })
app.register(tags, { limit: 5, auth: 'try' })

// A handler that stands elsewhere.

type Post = Pick<FastifyRequest<{ Body: { text: string } }>, 'body' | 'user'>
const shout = (request: Post): string => `${request.user?.name}: ${request.body.text}`
app.post('/shout', { schema: { body: schema.body } }, (request) => shout(request))
