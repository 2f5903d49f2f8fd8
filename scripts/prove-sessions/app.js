// An app with sessions, as scripts/prove-sessions.js starts several of: tells its parent its port, and ends with it.
// Asked to, it dies between a swap in the store and the answer to the client.
import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import authn from 'fastify-authn'
import { redisSessions, sqlSessions } from 'fastify-authn/sessions'
import { Redis } from 'ioredis'
import { Pool } from 'pg'

const { STORE_KIND, STORE_URL, GRACE, SECRET } = process.env
const nobodyListens = () => undefined

const stores = {
  Redis() {
    const client = new Redis(STORE_URL, { retryStrategy: () => 50 })
    client.on('error', nobodyListens)
    return redisSessions(client)
  },
  PostgreSQL() {
    const pool = new Pool({ connectionString: STORE_URL, connectionTimeoutMillis: 1000 })
    pool.on('error', nobodyListens)
    return sqlSessions({ query: (text, params) => pool.query(text, params) })
  },
}

let diesAfterSwap = false
process.on('message', (message) => {
  diesAfterSwap = message === 'die after the next swap'
  process.send(message)
})
process.on('disconnect', () => process.exit())

/** The store, which ends the process where it is told to. */
function mortal(factory) {
  return {
    ...factory,
    open(name) {
      const store = factory.open(name)
      const swap = async (given) => {
        const swapped = await store.swap(given)
        if (diesAfterSwap) process.kill(process.pid, 'SIGKILL')
        return swapped
      }
      return new Proxy(store, {
        get(target, key) {
          if (key === 'swap') return swap
          const value = target[key]
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    },
  }
}

const app = Fastify({ forceCloseConnections: true })
const alice = { name: 'alice', password: await bcrypt.hash('wonderland', 4) }
await app.register(authn, {
  userService: { findByUsername: (name) => ({ ...alice, name }) },
  jwt: { secret: SECRET },
  hashing: { cost: 4 },
  throttle: false,
  sessions: { store: mortal(stores[STORE_KIND]()), grace: Number(GRACE) },
})
app.get('/me', { config: { auth: true } }, (request) => ({ name: request.user.name }))
await app.listen({ host: '127.0.0.1', port: 0 })
process.send(app.server.address().port)
