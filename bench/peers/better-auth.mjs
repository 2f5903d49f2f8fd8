// better-auth on Fastify, with its adapter for memory: a session by cookie, as its documentation shows it.
import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { fromNodeHeaders } from 'better-auth/node'
import Fastify from 'fastify'
import { serve, settings } from './serve.mjs'

const { key, session, user, cookieCache } = settings
const isTime = /At$/
const rowOf = (record) =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      isTime.test(name) ? new Date(value) : value,
    ]),
  )
const auth = betterAuth({
  secret: key.secret,
  baseURL: 'http://127.0.0.1',
  database: memoryAdapter({
    user: [rowOf(user)],
    session: [rowOf(session)],
    account: [],
    verification: [],
  }),
  session: { cookieCache: { enabled: cookieCache, maxAge: 86_400 } },
  telemetry: { enabled: false },
  logger: { disabled: true },
})

const app = Fastify()
app.decorateRequest('user', null)
app.get('/protected', { onRequest: protect }, async (request) => ({ name: request.user.name }))

async function protect(request, reply) {
  const found = await auth.api.getSession({ headers: fromNodeHeaders(request.headers) })
  if (found === null) return reply.code(401).send({ error: 'Unauthorized' })
  request.user = found.user
}

await app.listen({ host: '127.0.0.1', port: 0 })
serve(app.server.address().port)
