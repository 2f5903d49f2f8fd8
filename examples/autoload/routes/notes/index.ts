import type { FastifyInstance } from 'fastify'

// No mark: closed, like everything in the app. The folder gives the prefix /notes.
export default async function notes(app: FastifyInstance) {
  app.get('/', (request) => ({ notes: [], of: request.user?.username }))
  app.get('/public', { config: { auth: false } }, () => ({ notes: [] }))
}
