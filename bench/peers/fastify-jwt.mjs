// @fastify/jwt in three ways: as its README uses it, the same through @fastify/auth, and as fast as it can
// be used correctly: a callback hook around the synchronous verifier.
import auth from '@fastify/auth'
import jwt from '@fastify/jwt'
import Fastify from 'fastify'
import { findUser, serve, settings, user0 } from './serve.mjs'

const { key, style, cache = false } = settings

const app = Fastify()
await app.register(jwt, {
  secret: key.secret ?? { private: key.private, public: key.public },
  sign: { algorithm: key.algorithm },
  verify: { algorithms: [key.algorithm], cache },
})
await app.register(auth)

function refuse(reply) {
  return reply.code(401).send({ error: 'Unauthorized' })
}

async function documented(request, reply) {
  try {
    await request.jwtVerify()
  } catch (error) {
    return reply.send(error)
  }
  request.user = await findUser(request.user.sub)
  if (request.user === undefined) return refuse(reply)
}

async function forAuth(request) {
  await request.jwtVerify()
  request.user = await findUser(request.user.sub)
  if (request.user === undefined) throw new Error('Unauthorized')
}

function synchronous(request, reply, done) {
  const { authorization } = request.headers
  if (!authorization?.startsWith('Bearer ')) return void refuse(reply)
  let claims
  try {
    claims = app.jwt.verify(authorization.slice(7))
  } catch {
    return void refuse(reply)
  }
  findUser(claims.sub).then((user) => {
    if (user === undefined) return void refuse(reply)
    request.user = user
    done()
  }, done)
}

const hooks = { documented, auth: app.auth([forAuth]), synchronous }
app.get('/open', async () => ({ name: user0.name }))
app.get('/protected', { onRequest: hooks[style] }, async (request) => ({ name: request.user.name }))
await app.listen({ host: '127.0.0.1', port: 0 })
serve(app.server.address().port)
