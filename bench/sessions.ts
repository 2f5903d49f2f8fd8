// Refreshes a second against each store of sessions, and what a million sessions cost: see README.md.
import { randomInt } from 'node:crypto'
import { memorySessions, redisSessions, sqlSessions } from '../lib/sessions/index.js'
import { sqlSchema } from '../lib/sessions/stores/sql-schema.js'
import { digest, fill, fillTable, tokenOf } from './sessions/fill.js'
import { measureGrowth, openPool, openRedis, sizeOf } from './sessions/growth.js'
import { numberFlags } from './support/flags.js'
import type { SessionStore } from '../types/sessions.js'

const flags = numberFlags({ sessions: 1_000_000, seconds: 2, rounds: 7, once: 32 })
const prefix = 'bench'

await measureGrowth(
  {
    async memory(count) {
      const store = memorySessions().open('bench')
      const before = process.memoryUsage()
      await fill(store, count)
      const after = process.memoryUsage()
      return { work: refreshes(store, count), bytes: (after.heapUsed - before.heapUsed) / count }
    },

    async Redis(count, endings) {
      const { client, used } = await openRedis(endings)
      const before = await used()
      const store = redisSessions(client, { prefix }).open('bench')
      await fill(store, count)
      return { work: refreshes(store, count), bytes: ((await used()) - before) / count }
    },

    async PostgreSQL(count, endings) {
      const pool = await openPool(endings, sqlSchema(prefix))
      const query = (text: string, params: unknown[]) => pool.query(text, params)
      const store = sqlSessions({ query, prefix }).open('bench')
      await fillTable(pool, prefix, count)
      // What is over is deleted meanwhile, as in an app.
      store.watch({ revoked() {}, caughtUp() {}, lost: (error) => console.error(error) })
      endings.push(() => store.close())
      const bytes = (await sizeOf(pool, `${prefix}_sessions`)) / count
      return { work: refreshes(store, count), bytes }
    },
  },
  { ...flags, records: 'sessions', workName: 'a refresh', many: flags.sessions },
)

/** What a refresh asks of a store, over sessions that are picked at random. */
function refreshes(store: SessionStore, count: number): () => Promise<void> {
  const generations = new Uint32Array(count)
  const busy = new Set<number>()
  return async () => {
    let index = randomInt(count)
    while (busy.has(index)) index = randomInt(count)
    busy.add(index)
    const generation = generations[index] ?? 0
    const handle = digest(`handle ${index}`)
    const { session, now } = await store.find(handle)
    const swapped = await store.swap({
      handle,
      presented: tokenOf(index, generation),
      next: tokenOf(index, generation + 1),
      sealed: 's'.repeat(120),
      grace: 10,
      idle: 1_209_600,
      deadline: now + 5,
      revocationTtl: 600,
    })
    if (session === null || swapped.outcome !== 'swapped') {
      throw new Error(`session ${index}: ${swapped.outcome}`)
    }
    generations[index] = generation + 1
    busy.delete(index)
  }
}
