import type { FastifyInstance } from 'fastify'

/** The mark of this file, which is a scope of its own. */
export const autoConfig = { auth: false }

export default async function health(app: FastifyInstance) {
  app.get('/health', () => ({ status: 'ok' }))
  // The nearest mark counts: closed in an open file.
  app.get('/health/details', { config: { auth: true } }, (request) => ({
    status: 'ok',
    asked: request.user.username,
  }))
}
