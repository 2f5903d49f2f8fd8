// The mark on a route decides the type of request.user.
import Fastify, { type FastifyRequest } from 'fastify'
import type { AuthMark, AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'

const app = Fastify()
const known = exactly<AuthUser>()

// No mark, and every mark under which the request may be anonymous.

app.get('/', (request) => {
  exactly<AuthUser | null>()(request.user)
  // @ts-expect-error -- the request may be anonymous
  return request.user.id
})
// @ts-expect-error -- an empty config is no mark
app.get('/', { config: {} }, (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
app.get('/', { config: { auth: 'optional' } }, (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
app.get('/', { config: { auth: 'try' } }, (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
app.get('/', { config: { auth: { mode: 'optional' } } }, (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
app.get('/', { config: { auth: { mode: 'try', use: 'jwt' } } }, (request) => request.user.id)
declare const anyMark: AuthMark
declare const aBoolean: boolean
// @ts-expect-error -- which mark it is, is not known here
app.get('/', { config: { auth: anyMark } }, (request) => request.user.id)
// @ts-expect-error -- nor here
app.get('/', { config: { auth: aBoolean } }, (request) => request.user.id)

// Every mark under which there is a user.

app.get('/', { config: { auth: true } }, (request) => {
  known(request.user)
  exactly<number>()(request.user.id)
  // @ts-expect-error -- the app's users have no such field
  return request.user.nickname
})
app.get('/', { config: { auth: { use: 'jwt' } } }, (request) => request.user.id)
app.get('/', { config: { auth: { use: ['jwt', 'basic'] } } }, (request) => request.user.id)
app.get('/', { config: { auth: { mode: true, use: 'jwt' } } }, (request) => request.user.id)
app.get('/', { config: { auth: true, rateLimit: { max: 5 } } }, (request) => request.user.id)
const shared = { auth: true } as const
app.get('/', { config: shared }, (request) => request.user.id)

// Every way to declare a route.

app.route({
  method: 'GET',
  url: '/',
  config: { auth: true },
  handler: (request) => request.user.id,
})
app.route({
  method: ['GET', 'HEAD'],
  url: '/',
  // @ts-expect-error -- the request may be anonymous
  handler: (request) => request.user.id,
})
app.get('/', { config: { auth: true }, handler: (request) => request.user.id })
app.delete('/', { config: { auth: true } }, (request, reply) => {
  void reply.code(204).send(request.user.id)
})
app.post(
  '/',
  {
    config: { auth: true },
    schema: { body: { type: 'object', properties: { text: { type: 'string' } } } },
    onRequest: (request, _reply, done) => done(request.user.id === 0 ? new Error() : undefined),
    preValidation: async (request) => known(request.user),
    preHandler: [async (request) => known(request.user)],
    preSerialization: async (request) => request.user.id,
    onSend: async (request) => `${request.user.id}`,
    errorHandler: (_error, request, reply) => void reply.send(request.user.id),
  },
  (request) => request.user.id,
)
app.get('/', {
  preHandler: async (request) => {
    // @ts-expect-error -- the request may be anonymous
    exactly<number>()(request.user.id)
  },
  handler: () => 'open',
})
app.addHook('preHandler', async (request) => {
  exactly<AuthUser | null>()(request.user)
})

// Who states the body need not state the mark.

interface NewNote {
  Body: { text: string }
}
app.post<NewNote>('/', { config: { auth: { role: { all: ['a', 'b'] } } } }, (request) => {
  known(request.user)
  return request.body.text
})

// A function that any request may be handed to.

function greet({ user }: FastifyRequest): string {
  return user === null ? 'Hello' : `Hello ${user.name}`
}
app.get('/', (request) => greet(request))
app.get('/', { config: { auth: true } }, (request) => greet(request as FastifyRequest))

// What a user may do.

app.get('/', { config: { auth: { scope: 'notes:write' } } }, (request) => request.user.id)
app.get('/', { config: { auth: { scope: { all: ['a', 'b'] } } } }, (request) => request.user.id)
app.get('/', { config: { auth: { scope: { any: ['a', 'b'] } } } }, (request) => request.user.id)
app.get('/', { config: { auth: { role: 'editor' } } }, (request) => request.user.id)
app.get(
  '/',
  { config: { auth: { mode: true, use: ['jwt'], scope: 'a', role: 'b', mfa: true, fresh: 60 } } },
  (request) => request.user.id,
)
// @ts-expect-error -- leave it out
app.get('/', { config: { auth: { mfa: false } } }, () => 'never')
// @ts-expect-error -- seconds
app.get('/', { config: { auth: { fresh: '600' } } }, () => 'never')
// @ts-expect-error -- whoever is fresh is somebody
app.get('/', { config: { auth: { mode: 'try', fresh: 60 } } }, () => 'never')
const editors = { auth: { role: { any: ['editor', 'admin'] } } } as const
app.get('/', { config: editors }, (request) => request.user.id)
const needed = 'a' as string
app.get('/', { config: { auth: { scope: needed } } }, (request) => request.user.id)
const list: [string, ...string[]] = ['a']
app.get('/', { config: { auth: { scope: { all: list } } } }, (request) => request.user.id)
declare const scopes: string[]
// @ts-expect-error -- a bare array: all of them, or one of them?
app.get('/', { config: { auth: { scope: ['a'] } } }, () => 'never')
// @ts-expect-error -- an empty list
app.get('/', { config: { auth: { scope: { all: [] } } } }, () => 'never')
// @ts-expect-error -- a list that may be empty
app.get('/', { config: { auth: { scope: { any: scopes } } } }, () => 'never')
// @ts-expect-error -- all beside any
app.get('/', { config: { auth: { scope: { all: ['a'], any: ['b'] } } } }, () => 'never')
// @ts-expect-error -- a text in place of a list
app.get('/', { config: { auth: { role: { any: 'a' } } } }, () => 'never')
// @ts-expect-error -- a variable that may not be set
app.get('/', { config: { auth: { scope: process.env['SCOPE'] } } }, () => 'never')
// @ts-expect-error -- whoever has a scope is somebody
app.get('/', { config: { auth: { mode: 'optional', scope: 'a' } } }, () => 'never')
// @ts-expect-error -- one that may be missing
app.get('/', { config: { auth: { scope: { any: ['a', process.env['SCOPE']] } } } }, () => 'never')
// @ts-expect-error -- undefined, and nothing else
app.get('/', { config: { auth: { scope: undefined } } }, () => 'never')
const misspelt = { scopes: 'a' }
// @ts-expect-error -- in a route() too
app.route({ method: 'GET', url: '/', config: { auth: misspelt }, handler: () => 'never' })

// A mark that is none does not compile.

// @ts-expect-error -- a typo
app.get('/', { config: { auth: 'ture' } }, () => 'never')
// @ts-expect-error -- null
app.get('/', { config: { auth: null } }, () => 'never')
// @ts-expect-error -- an array
app.get('/', { config: { auth: ['jwt'] } }, () => 'never')
// @ts-expect-error -- a typo in a mode
app.get('/', { config: { auth: { mode: 'ture' } } }, () => 'never')
// @ts-expect-error -- a name is a string
app.get('/', { config: { auth: { use: 5 } } }, () => 'never')
