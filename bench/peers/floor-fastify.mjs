// The least that a hook of Fastify has to do.
import Fastify from 'fastify'
import { userOf } from './by-hand.mjs'
import { serve, user0 } from './serve.mjs'

const app = Fastify()
app.decorateRequest('user', null)
app.get('/open', async () => ({ name: user0.name }))
app.get('/protected', { onRequest: protect }, async (request) => ({ name: request.user.name }))

function protect(request, reply, done) {
  const refuse = () => void reply.code(401).send({ error: 'Unauthorized' })
  const found = userOf(request.headers.authorization)
  if (found === undefined) return refuse()
  found.then((user) => {
    if (user === undefined) return refuse()
    request.user = user
    done()
  }, done)
}

await app.listen({ host: '127.0.0.1', port: 0 })
serve(app.server.address().port)
