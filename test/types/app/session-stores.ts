// The stores of sessions, a store of one's own, and the suite for it.
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
