import type { FastifyInstance } from 'fastify'

export default async function stats(app: FastifyInstance) {
  app.get('/stats', () => app.authn.stats())
}
