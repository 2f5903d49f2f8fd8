// The stores of sessions, a store of one's own, and the suite for it.
import type { FastifyInstance } from 'fastify'
import { exactly } from '../exactly.js'
import type { LoginBody, Sessions } from 'fastify-authn'
import { memorySessions, redisSessions, sqlSessions } from 'fastify-authn/sessions'
import { sessionStoreSuite } from 'fastify-authn/testing'
import type { SessionStore, SessionStoreFactory, Swapped } from 'fastify-authn/sessions'

declare const pool: {
  query(text: string, params?: unknown[]): Promise<{ rows: { [column: string]: unknown }[] }>
}
declare const client: { status: string }

export const factories: SessionStoreFactory[] = [
  memorySessions({ prefix: 'shop' }),
  redisSessions(client, { prefix: 'shop' }),
  sqlSessions({ query: (text, params) => pool.query(text, params), prefix: 'shop' }),
]

// @ts-expect-error: a statement gives rows
sqlSessions({ query: async () => [], prefix: 'shop' })
// @ts-expect-error: no prefix
sqlSessions({ query: (text, params) => pool.query(text, params) })
// @ts-expect-error: a pool
sqlSessions(pool)
// @ts-expect-error: no prefix
redisSessions(client)
// @ts-expect-error: no prefix
redisSessions(client, {})
// @ts-expect-error: a URL is no client
redisSessions('redis://localhost', { prefix: 'shop' })

/** All outcomes of a swap are told apart by the type. */
export async function resultOf(store: SessionStore, swap: Parameters<SessionStore['swap']>[0]) {
  const swapped: Swapped = await store.swap(swap)
  if (swapped.outcome === 'repeated') return swapped.sealed
  if (swapped.outcome === 'swapped' || swapped.outcome === 'reused') return swapped.session.sub
  const outcome: 'late' | 'unknown' = swapped.outcome
  return outcome
}

for (const { name, run } of sessionStoreSuite(() => memorySessions())) {
  const words: string = name
  void run().then(() => words)
}

/** The handlers of typed routes may hand on what they got. */
declare const app: FastifyInstance
app.post<{ Body: { name: string }; Reply: LoginBody }>('/', async (request, reply) => {
  exactly<Sessions>()(app.authn.sessions)
  return app.authn.sessions.begin(request.body.name, request, reply)
})
app.post('/', { config: { auth: 'optional' } }, (request, reply) =>
  app.authn.sessions.begin(1, request, reply),
)
app.post('/', (request, reply) => {
  // @ts-expect-error: no reply
  void app.authn.sessions.begin('alice', request)
  // @ts-expect-error: no name
  return app.authn.sessions.begin(undefined, request, reply)
})
