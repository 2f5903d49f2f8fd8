// Fastify without any authentication.
import Fastify from 'fastify'
import { serve, settings, user0 } from './serve.mjs'

const started = performance.now()
const app = Fastify()
app.get('/open', async () => ({ name: user0.name }))
for (let route = 0; route < (settings.routes ?? 0); route += 1) {
  app.get(`/marked/${route}`, async () => ({ name: user0.name }))
}
await app.listen({ host: '127.0.0.1', port: 0 })
const bootTime = performance.now() - started
serve(app.server.address().port, { bootTime: () => bootTime })
