import type { FastifyInstance } from 'fastify'
import type { Notes } from '../notes.js'

/** Routes for everybody; two of them like to know who asks. */
export function publicRoutes(notes: Notes) {
  return async (app: FastifyInstance) => {
    // Open, and said so: see `requireMarks` in app.ts.
    app.get('/', { config: { auth: false } }, (request, reply) => {
      const isPerson = request.headers.accept?.includes('text/html') === true
      return isPerson
        ? reply.redirect('/app/')
        : { name: 'fastify-authn demo', login: 'POST /login' }
    })

    // Optional: anonymous requests pass, but a token that is sent has to be valid.
    app.get('/greeting', { config: { auth: 'optional' } }, (request) => ({
      greeting: `Hello, ${request.user?.name ?? 'stranger'}!`,
    }))

    // Try: a token that is expired or broken does not keep a reader out either.
    app.get('/feed', { config: { auth: 'try' } }, async (request) => ({
      reader: request.user?.name ?? null,
      notes: await notes.published(),
    }))
  }
}
