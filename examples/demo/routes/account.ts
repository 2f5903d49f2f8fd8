import type { FastifyInstance } from 'fastify'
import type { Notes } from '../notes.js'

/** What people see of themselves: the same user, proved in three ways. */
export function accountRoutes(notes: Notes) {
  return async (app: FastifyInstance) => {
    // A token of POST /login. The password hash is not in `request.user`: it can be sent as it is.
    app.get('/me', { config: { auth: true } }, (request) => request.user)

    // Name and password with every request, against the database.
    app.get('/account', { config: { auth: { use: 'basic' } } }, (request) => request.user)

    // Either: the scheme of the header decides. `request.user` is never null on marks that require one.
    app.get('/export', { config: { auth: { use: ['jwt', 'basic'] } } }, async (request, reply) => {
      const own = await notes.ownedBy(request.user.id)
      void reply.type('text/plain; charset=utf-8')
      return own.map(({ title, text }) => `# ${title}\n\n${text}\n`).join('\n')
    })
  }
}
