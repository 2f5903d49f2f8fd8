// Routes whose type arguments are written down: the mark is known from config all the same, and may be written
// down too, as the second one.
import Fastify, {
  type FastifyReply,
  type FastifyTypeProvider,
  type RouteShorthandOptions,
} from 'fastify'
import type { AuthenticatedHandler, AuthenticatedRequest, AuthMark, AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'

const app = Fastify()
type Nullable = AuthUser | null
const known = exactly<AuthUser>()
const nullable = exactly<Nullable>()

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
  known(request.user)
  exactly<string>()(request.params.id)
  exactly<boolean | undefined>()(request.query.draft)
  exactly<string>()(request.body.text)
  return reply.code(200).send({ author: request.user.id })
})
app.put<OneNote, Marked>('/:id', {
  config: { auth: true },
  preHandler: [
    async (request) => {
      known(request.user)
      exactly<string>()(request.params.id)
    },
  ],
  handler: async (request, reply) => reply.code(200).send({ author: request.user.id }),
})
app.route<OneNote, Marked>({
  method: 'PUT',
  url: '/:id',
  config: { auth: true },
  onRequest: async ({ user }) => known(user),
  handler: async (request, reply) => reply.code(200).send({ author: request.user.id }),
})
// @ts-expect-error -- the route is not marked as its type arguments say
app.put<OneNote, Marked>('/:id', { config: { auth: 'try' } }, () => 'never')

// A mark among the type arguments marks nothing: without config the route is open.

// @ts-expect-error -- the request may be anonymous
app.put<OneNote, Marked>('/:id', async (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
app.put<OneNote, Marked>('/:id', {}, async (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
app.put<OneNote, Marked>('/:id', { handler: async (request) => request.user.id })
// @ts-expect-error -- the request may be anonymous
app.route<OneNote, Marked>({ method: 'PUT', url: '/', handler: async ({ user }) => user.id })

// Without the second type argument: what the mark in config says.

declare const anyMark: AuthMark
declare const aBoolean: boolean

app.get<OneNote>('/', ({ user }) => nullable(user))
app.get<OneNote>('/', {}, ({ user }) => nullable(user))
app.get<OneNote>('/', { config: { auth: 'try' } }, ({ user }) => nullable(user))
app.head<OneNote>('/', { config: { auth: anyMark } }, ({ user }) => nullable(user))
app.all<OneNote>('/', { config: { auth: aBoolean } }, ({ user }) => nullable(user))
app.put<OneNote>('/', { config: { auth: aBoolean ? true : 'try' } }, ({ user }) => nullable(user))
app.put<OneNote>('/', { config: { auth: { mode: aBoolean, use: 'jwt' } } }, ({ user }) =>
  nullable(user),
)
app.post<OneNote>('/', { config: { auth: { mode: 'optional', use: ['jwt'] } } }, ({ user }) =>
  nullable(user),
)
app.put<OneNote>('/:id', { config: { auth: 'optional' } }, async (request, reply) => {
  exactly<string>()(request.params.id)
  // @ts-expect-error -- the request may be anonymous
  return reply.code(200).send({ author: request.user.id })
})
app.options<OneNote>('/', { config: { auth: { mode: 'try' } } }, ({ user }) => nullable(user))
app.put<OneNote, { auth: 'optional' }>('/', { config: { auth: 'optional' } }, ({ user }) =>
  nullable(user),
)
app.put<OneNote, { auth: AuthMark }>('/', { config: { auth: true } }, ({ user }) => nullable(user))

app.get<OneNote>('/', { config: { auth: { use: 'jwt' } } }, ({ user }) => known(user))
app.get<OneNote>('/', { config: { auth: { scope: { all: ['a'] }, use: ['jwt'] } } }, ({ user }) =>
  known(user),
)
app.put<OneNote>('/', {
  config: { auth: { role: 'editor' } },
  preHandler: [async ({ user }) => known(user)],
  errorHandler: (_error, { user }) => known(user),
  handler: ({ user }) => known(user),
})
app.route<OneNote>({
  method: 'PUT',
  url: '/',
  config: { auth: { mode: true } },
  onRequest: async ({ user }) => known(user),
  handler: ({ user }) => known(user),
})

// The same with a type provider.

interface FromSchema extends FastifyTypeProvider {
  validator: this['schema']
}
const typed = Fastify().withTypeProvider<FromSchema>()
typed.get<OneNote>('/', { config: { auth: 'optional' } }, (request) => {
  nullable(request.user)
  exactly<string>()(request.params.id)
})
typed.get<OneNote>('/', { config: { auth: true } }, (request) => {
  known(request.user)
  exactly<string>()(request.params.id)
})

// Options that several routes share.

const marked = { config: { auth: true } } as const
const limited = { config: { auth: { use: ['jwt'] }, rateLimit: { max: 5 } }, bodyLimit: 9 } as const
const inOpen = { config: { auth: 'optional' } } as const
const unknownMark = { config: { auth: true } }
app.get<OneNote>('/', marked, ({ user }) => known(user))
app.get<OneNote>('/', { ...marked, schema: {} }, ({ user }) => known(user))
app.get<OneNote>('/', { ...limited }, ({ user }) => known(user))
app.get<OneNote>('/', { config: { ...marked.config } }, ({ user }) => known(user))
app.get<OneNote>('/', { ...marked, handler: ({ user }) => known(user) })
app.route<OneNote>({ method: 'PUT', url: '/', ...marked, handler: ({ user }) => known(user) })
app.get<OneNote>('/', { ...inOpen }, ({ user }) => nullable(user))
app.get<OneNote>('/', { ...unknownMark }, ({ user }) => nullable(user))
app.get<OneNote>('/', { ...marked, ...inOpen }, ({ user }) => nullable(user))

// Handlers that stand elsewhere.

const change: AuthenticatedHandler<OneNote> = async (request, reply) => {
  known(request.user)
  exactly<string>()(request.params.id)
  return reply.code(200).send({ author: request.user.id })
}
async function remove(request: AuthenticatedRequest<OneNote>, reply: FastifyReply): Promise<void> {
  void reply.header('x-text', request.body.text)
  await reply.send(request.user.id)
}
async function whoever(request: AuthenticatedRequest): Promise<string> {
  return request.user.name
}
app.put<OneNote>('/:id', { config: { auth: true } }, change)
app.route<OneNote>({ method: 'PUT', url: '/', config: { auth: true }, handler: change })
app.put('/:id', { config: { auth: true }, handler: change })
app.delete<OneNote>('/:id', { config: { auth: { mode: true } } }, async (request, reply) => {
  void reply.header('x-name', await whoever(request))
})
app.delete<OneNote>('/:id', { config: { auth: true } }, remove)
app.route<OneNote>({ method: 'DELETE', url: '/', config: { auth: true }, handler: remove })
app.get('/', { config: { auth: true } }, whoever)
app.get('/', { config: { auth: true, rateLimit: { max: 5 } } }, whoever)
// @ts-expect-error -- an open route
app.get('/', whoever)
// @ts-expect-error -- the request may be anonymous
app.get('/', { config: { auth: 'try' } }, whoever)
// @ts-expect-error -- the request may be anonymous
app.put<OneNote>('/:id', { config: { auth: 'optional' } }, change)
// @ts-expect-error -- the request may be anonymous
app.route<OneNote>({ method: 'PUT', url: '/', config: { auth: false }, handler: change })
// @ts-expect-error -- an open route, whatever its type arguments say
app.put<OneNote, Marked>('/:id', change)
// @ts-expect-error -- a request that may be anonymous
app.get('/', (request) => whoever(request))

// Options that stand elsewhere keep their mark when they are not widened.

const satisfied = { config: { auth: true } } as const satisfies RouteShorthandOptions
app.get('/', satisfied, (request) => request.user.id)
const widened: RouteShorthandOptions = { config: { auth: true } }
// @ts-expect-error -- which mark it is, is not known here
app.get('/', widened, (request) => request.user.id)

app.head('/', { config: { auth: true } }, ({ user }) => known(user))
app.all('/', { config: { auth: true } }, ({ user }) => known(user))
app.options('/', { config: { auth: true } }, ({ user }) => known(user))
