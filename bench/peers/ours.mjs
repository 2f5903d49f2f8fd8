// fastify-authn as its README uses it.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import Fastify from 'fastify'
import authn from '../../dist/esm/lib/index.js'
import { findUser, serve, settings, user0 } from './serve.mjs'

if (settings.context) await import('../../dist/esm/lib/request/context.js')

const issuers = settings.issuer && { corp: await openIssuer(settings.issuer) }

const app = Fastify()
await app.register(authn, {
  userService: { findByUsername: findUser },
  ...settings.authn,
  ...(issuers && { issuers }),
  ...(settings.apiKey && { apiKeys: { prefix: 'acme', store: storeOf(settings.apiKey) } }),
})
app.get('/open', async () => ({ name: user0.name }))
app.get('/protected', { config: { auth: settings.mark ?? true } }, async (request) => ({
  name: request.user?.name ?? user0.name,
}))
for (let route = 0; route < (settings.routes ?? 0); route += 1) {
  app.get(`/marked/${route}`, { config: { auth: true } }, async (request) => ({
    name: request.user.name,
  }))
}
await app.listen({ host: '127.0.0.1', port: 0 })
serve(app.server.address().port)

/** The options of an issuer whose key set is served here, on a port of its own. */
async function openIssuer({ jwk, ...options }) {
  const server = createServer((_request, response) => response.end(JSON.stringify({ keys: [jwk] })))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const jwksUri = `http://127.0.0.1:${server.address().port}/`
  return { ...options, jwksUri, user: ({ sub }) => findUser(sub) }
}

/** A store of one key, of user0. */
function storeOf(key) {
  const digest = createHash('sha256').update(key).digest('base64url')
  const about = {
    id: key.slice(5, 21),
    digest,
    owner: user0.name,
    ownerType: 'string',
    name: 'job',
  }
  const [now, never] = [Date.now() / 1000, { expiresAt: null, revokedAt: null, replacedBy: null }]
  const stored = { ...about, scopes: [], createdAt: now, lastUsedAt: now, ...never }
  const open = () => ({ find: async () => stored, touch: async () => undefined })
  return { prefix: 'bench', isLocal: true, open }
}
