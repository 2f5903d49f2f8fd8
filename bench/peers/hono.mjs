// Hono on Node with its JWT middleware.
import { serve as listen } from '@hono/node-server'
import { Hono } from 'hono'
import { jwt } from 'hono/jwt'
import { findUser, serve, settings, user0 } from './serve.mjs'

const app = new Hono()

async function loadUser(context, next) {
  const user = await findUser(context.get('jwtPayload').sub)
  if (user === undefined) return context.json({ error: 'Unauthorized' }, 401)
  context.set('user', user)
  await next()
}

app.get('/open', async (context) => context.json({ name: user0.name }))
app.get(
  '/protected',
  jwt({ secret: settings.key.secret, alg: settings.key.algorithm }),
  loadUser,
  async (context) => context.json({ name: context.get('user').name }),
)
listen({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => serve(port))
