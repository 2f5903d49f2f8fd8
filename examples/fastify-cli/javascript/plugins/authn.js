const fp = require('fastify-plugin')
const { authn, hashPassword } = require('fastify-authn')

// Wrapped, so that it is there for the routes too and not for this file alone.
module.exports = fp(async function authentication(fastify) {
  const password = await hashPassword('wonderland-1865')
  const alice = { id: 1, username: 'alice', password }
  await fastify.register(authn, {
    userService: { findByUsername: (username) => (username === 'alice' ? alice : null) },
    jwt: { secret: process.env.AUTH_JWT_SECRET },
  })
})
