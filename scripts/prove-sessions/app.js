// An app with sessions, as scripts/prove-sessions.js starts several of: tells its parent its port, and ends with it.
// Asked to, it dies between a swap in the store and the answer to the client.
import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import authn from 'fastify-authn'
import { redisSessions, sqlSessions } from 'fastify-authn/sessions'
import { Redis } from 'ioredis'
import { Pool } from 'pg'

const prefix = 'prove'
const { STORE_KIND, STORE_URL, SECRET } = process.env
const quietly = (client) => client.on('error', () => undefined)

const stores = {
  Redis: () =>
    redisSessions(quietly(new Redis(STORE_URL, { retryStrategy: () => 50 })), { prefix }),
  PostgreSQL() {
    const pool = quietly(new Pool({ connectionString: STORE_URL, connectionTimeoutMillis: 1000 }))
    return sqlSessions({ query: (text, params) => pool.query(text, params), prefix })
  },
}

let diesAfterSwap = false
process.on('message', (message) => {
  diesAfterSwap = true
  process.send(message)
})
process.on('disconnect', () => process.exit())

/** A store that ends the process where it is told to. */
function mortal(factory) {
  const open = (name) => {
    const store = factory.open(name)
    const { swap } = store
    store.swap = async (given) => {
      const swapped = await swap.call(store, given)
      if (diesAfterSwap) process.kill(process.pid, 'SIGKILL')
      return swapped
    }
    return store
  }
  return { ...factory, open }
}

const app = Fastify({ forceCloseConnections: true })
const password = await bcrypt.hash('wonderland', 4)
await app.register(authn, {
  userService: { findByUsername: (name) => ({ name, password }) },
  jwt: { secret: SECRET },
  hashing: { cost: 4 },
  throttle: false,
  sessions: { store: mortal(stores[STORE_KIND]()) },
})
app.get('/me', { config: { auth: true } }, (request) => ({ name: request.user.name }))
await app.listen({ host: '127.0.0.1', port: 0 })
process.send(app.server.address().port)
