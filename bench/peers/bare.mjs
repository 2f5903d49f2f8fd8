// Fastify without any authentication.
import Fastify from 'fastify'
import { serve, user0 } from './serve.mjs'

const app = Fastify()
app.get('/open', async () => ({ name: user0.name }))
await app.listen({ host: '127.0.0.1', port: 0 })
serve(app.server.address().port)
