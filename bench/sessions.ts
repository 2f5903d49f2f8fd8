// Refreshes a second against each store of sessions, and what a million sessions cost: see README.md.
import { memorySessions, redisSessions, sqlSessions } from '../lib/sessions/index.js'
import { sqlSchema } from '../lib/sessions/stores/sql-schema.js'
import { fill, fillTable } from './sessions/fill.js'
import { measureGrowth, openPool, openRedis, sizeOf } from './sessions/growth.js'
import { refreshes } from './sessions/refreshes.js'
import { numberFlags } from './support/flags.js'

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
