module.exports = async function notes(fastify) {
  fastify.get('/', { config: { auth: true } }, async (request) => ({
    notes: [],
    of: request.user.username,
  }))
}
