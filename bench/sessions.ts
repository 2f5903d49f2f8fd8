// Refreshes a second against each store of sessions, and what a million sessions cost: see README.md.
import { Redis } from 'ioredis'
import { memorySessions, redisSessions, sqlSessions } from '../lib/sessions/index.js'
import { sqlSchema } from '../lib/sessions/stores/sql-schema.js'
import { postgresServer } from '../test/helpers/postgres-server.js'
import { findProgram } from '../test/helpers/programs.js'
import { redisServer } from '../test/helpers/redis-server.js'
import { fill, fillTable } from './sessions/fill.js'
import { Refreshes } from './sessions/refreshes.js'
import { numberFlags } from './support/flags.js'
import { describeMachine } from './support/machine.js'
import { judge, median, printTable, type Target } from './support/report.js'
import type { SessionStore } from '../types/sessions.js'

const flags = numberFlags({ sessions: 1_000_000, seconds: 2, rounds: 7, once: 32 })
const few = 1000

/** A store, with a given number of sessions in it. */
interface Filled {
  readonly store: SessionStore
  /** What a session takes, in bytes. */
  readonly bytes: number
}

type Endings = (() => unknown)[]
type Open = (count: number, endings: Endings) => Promise<Filled>

const kinds: Readonly<Record<string, () => Open | null>> = {
  memory: () => async (count) => {
    const store = memorySessions().open('bench')
    const before = process.memoryUsage()
    await fill(store, count)
    const after = process.memoryUsage()
    return { store, bytes: (after.heapUsed - before.heapUsed) / count }
  },

  // One server for each size: both in one would be in each other's way.
  Redis: () =>
    findProgram('Redis') === null
      ? null
      : async (count, endings) => {
          const teardown = (end: () => Promise<void>): void => void endings.push(end)
          const { port } = await redisServer({ teardown }, { persistent: 'everysec' })
          const client = new Redis(port, '127.0.0.1')
          endings.push(() => client.disconnect())
          const used = async (): Promise<number> =>
            Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
          const before = await used()
          const store = redisSessions(client, { prefix: 'bench' }).open('bench')
          await fill(store, count)
          return { store, bytes: ((await used()) - before) / count }
        },

  PostgreSQL: () =>
    findProgram('PostgreSQL') === null
      ? null
      : async (count, endings) => {
          const teardown = (end: () => Promise<void>): void => void endings.push(end)
          const pool = (await postgresServer({ teardown }, { durable: true })).pool({ max: 10 })
          await pool.query(sqlSchema('bench'))
          const query = (text: string, params: unknown[]) => pool.query(text, params)
          const store = sqlSessions({ query, prefix: 'bench' }).open('bench')
          await fillTable(pool, 'bench', count)
          // What is over is deleted meanwhile, as in an app.
          store.watch({ revoked() {}, caughtUp() {}, lost: (error) => console.error(error) })
          endings.push(() => store.close())
          const { rows } = await pool.query<{ bytes: string }>(
            "SELECT pg_total_relation_size('bench_sessions') AS bytes",
          )
          return { store, bytes: Number(rows[0]?.bytes) / count }
        },
}

const rows = [['store', 'sessions', 'bytes each', `a second, ${flags.once} at once`, 'ms for one']]
const targets: Target[] = []
console.log(`${flags.rounds} rounds of ${flags.seconds} s; ${describeMachine()}\n`)
for (const [kind, find] of Object.entries(kinds)) {
  const open = find()
  if (open === null) {
    console.log(`${kind} is left out: it is not installed\n`)
    continue
  }
  const endings: Endings = []
  try {
    await measure(kind, (count) => open(count, endings))
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}
printTable(rows)
judge(targets)

/** Both sizes by turns, so that a slow moment of the machine counts for both. */
async function measure(kind: string, open: (count: number) => Promise<Filled>): Promise<void> {
  const sizes = [few, flags.sessions]
  const stores: { refreshes: Refreshes; bytes: number; rates: number[]; times: number[] }[] = []
  for (const count of sizes) {
    const { store, bytes } = await open(count)
    stores.push({ refreshes: new Refreshes(store, count), bytes, rates: [], times: [] })
  }
  const growths: number[] = []
  // The first round is not counted: it warms up.
  for (let round = 0; round <= flags.rounds; round += 1) {
    for (const { refreshes, rates, times } of stores) {
      const rate = await refreshes.perSecond(flags.seconds, flags.once)
      const time = await refreshes.milliseconds(flags.seconds / 2)
      if (round === 0) continue
      rates.push(rate)
      times.push(time)
    }
    const [small, large] = stores.map(({ times }) => times.at(-1) ?? NaN) as [number, number]
    if (round > 0) growths.push(large / small)
  }
  for (const [index, { bytes, rates, times }] of stores.entries()) {
    const cells = [bytes.toFixed(0), median(rates).toFixed(0), median(times).toFixed(3)]
    rows.push([kind, String(sizes[index]), ...cells])
  }
  const growth = {
    name: `${kind}: time of a refresh at ${flags.sessions} sessions, against ${few}`,
    found: median(growths),
    bound: 1.5,
    kind: 'most',
  } as const
  // In memory a step takes a few microseconds of the hundreds that a whole refresh takes. That more sessions miss the
  // caches of the processor shows in this quotient only.
  const time = {
    name: `${kind}: ms of a refresh at ${flags.sessions} sessions`,
    found: median(stores.at(-1)?.times ?? []),
    bound: 0.05,
    kind: 'most',
  } as const
  targets.push(kind === 'memory' ? time : growth)
}
