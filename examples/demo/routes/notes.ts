import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { TypeBoxProvider } from '../typebox.js'
import type { Notes } from '../notes.js'

// PostgreSQL stores no NUL, and its integers end at 2^31 - 1: what it would refuse is a 400, not a 500.
const text = (maxLength: number, minLength = 0) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\u0000]*$' })
const params = Type.Object({ id: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }) })
export const body = Type.Object({
  title: text(200, 1),
  text: text(10_000),
  published: Type.Boolean({ default: false }),
})

/**
 * The notes of the user who asks, and of no other: a protected group with an open route in it.
 *
 * @param use - what is accepted: tokens of people, who may do both, and API keys, which may do what their scopes say
 * @param editing - what is accepted of editors. Not Basic in the page: the browser would ask for a password by itself
 */
export function noteRoutes(notes: Notes, use: readonly string[], editing: readonly string[]) {
  // The group is marked already, in app.ts. A route that reads `request.user` has a mark of its own, because
  // the type of `request.user` comes from the mark on the route: with it, it is never null.
  const reading = { auth: { use, scope: 'notes:read' } } as const
  const writing = { auth: { use, scope: 'notes:write' } } as const
  return async (server: FastifyInstance) => {
    const app = server.withTypeProvider<TypeBoxProvider>()

    // The open route: a mark on a route wins over the mark of its group.
    app.get('/published', { config: { auth: false } }, () => notes.published())

    // For editors: other users get a 403. The role is that of the user in the database.
    app.delete(
      '/published/:id',
      { config: { auth: { use: editing, role: 'editor' } }, schema: { params } },
      async (request, reply) => {
        const withdrawn = await notes.withdraw(request.params.id)
        return withdrawn ? reply.code(204).send() : reply.code(404).send(noSuchNote)
      },
    )

    app.get('/', { config: reading }, (request) => notes.ownedBy(request.user.id))

    app.post('/', { config: writing, schema: { body } }, async (request, reply) => {
      const id = await notes.create(request.user.id, request.body)
      void reply.code(201).header('location', `/notes/${id}`)
      return { id, owner: request.user.name, ...request.body }
    })

    app.get('/:id', { config: reading, schema: { params } }, async (request, reply) => {
      const note = await notes.find(request.user.id, request.params.id)
      return note ?? notFound(reply)
    })

    app.put('/:id', { config: writing, schema: { params, body } }, async (request, reply) => {
      const { id } = request.params
      const replaced = await notes.replace(request.user.id, id, request.body)
      return replaced ? { id, owner: request.user.name, ...request.body } : notFound(reply)
    })

    app.delete('/:id', { config: writing, schema: { params } }, async (request, reply) => {
      const removed = await notes.remove(request.user.id, request.params.id)
      return removed ? reply.code(204).send() : notFound(reply)
    })
  }
}

const noSuchNote = { error: 'There is no such note.' }

/** The same answer for a note of another user: it must not tell that there is such a note. */
function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error: 'You have no such note.' })
}
