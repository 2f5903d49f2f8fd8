module.exports = async function root(fastify) {
  fastify.get('/', async () => ({ root: true }))
}
