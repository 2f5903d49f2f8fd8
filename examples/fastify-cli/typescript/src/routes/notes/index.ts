import type { FastifyPluginAsync } from 'fastify'

const notes: FastifyPluginAsync = async (fastify) => {
  fastify.get('/', { config: { auth: true } }, async (request) => ({
    notes: [],
    of: request.user.username,
  }))
}

export default notes
