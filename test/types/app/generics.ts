// Routes whose type arguments are written down: TypeScript infers all of them or none, so that the mark
// has to be written down too, as the second one.
import Fastify, { type FastifyPluginAsync, type RouteShorthandOptions } from 'fastify'
import type { AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'

const app = Fastify()

interface OneNote {
  Params: { id: string }
  Querystring: { draft?: boolean }
  Body: { text: string }
  Reply: { 200: { author: number }; 404: { error: string } }
}
interface Marked {
  auth: true
}

app.put<OneNote, Marked>('/:id', { config: { auth: true } }, async (request, reply) => {
  exactly<AuthUser>()(request.user)
  exactly<string>()(request.params.id)
  exactly<boolean | undefined>()(request.query.draft)
  exactly<string>()(request.body.text)
  return reply.code(200).send({ author: request.user.id })
})
app.put<OneNote, Marked>('/:id', {
  config: { auth: true },
  preHandler: [
    async (request) => {
      exactly<AuthUser>()(request.user)
      exactly<string>()(request.params.id)
    },
  ],
  handler: async (request, reply) => reply.code(200).send({ author: request.user.id }),
})
app.route<OneNote, Marked>({
  method: 'PUT',
  url: '/:id',
  config: { auth: true },
  onRequest: async (request) => exactly<AuthUser>()(request.user),
  handler: async (request, reply) => reply.code(200).send({ author: request.user.id }),
})
app.put<OneNote>('/:id', { config: { auth: true } }, async (request, reply) => {
  exactly<AuthUser | null>()(request.user)
  // @ts-expect-error -- the mark is not among the type arguments
  return reply.code(200).send({ author: request.user.id })
})
// @ts-expect-error -- the route is not marked as its type arguments say
app.put<OneNote, Marked>('/:id', { config: { auth: 'try' } }, () => 'never')

// Options that stand elsewhere keep their mark when they are not widened.

const satisfied = { config: { auth: true } } as const satisfies RouteShorthandOptions
app.get('/', satisfied, (request) => request.user.id)
const widened: RouteShorthandOptions = { config: { auth: true } }
// @ts-expect-error -- which mark it is, is not known here
app.get('/', widened, (request) => request.user.id)

const routes: FastifyPluginAsync = async (scope) => {
  scope.head('/', { config: { auth: true } }, async (request) => request.user.id)
  scope.all('/all', { config: { auth: true } }, async (request) => request.user.id)
  scope.options('/', { config: { auth: true } }, async (request) => request.user.id)
}
app.register(routes)
