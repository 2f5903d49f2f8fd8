import { Redis } from 'ioredis'
import type { Pool } from 'pg'
import { postgresServer } from '../../test/helpers/postgres-server.js'
import { findProgram } from '../../test/helpers/programs.js'
import { redisServer } from '../../test/helpers/redis-server.js'
import { describeMachine } from '../support/machine.js'
import { judge, median, printTable, type Target } from '../support/report.js'

/** A store with a given number of records in it. */
export interface Filled {
  /** What is measured, of a record that is picked at random. */
  readonly work: () => Promise<void>
  /** What a record takes, in bytes. */
  readonly bytes: number
}

type Endings = (() => unknown)[]
type Open = (count: number, endings: Endings) => Promise<Filled>
type Kind = 'memory' | 'Redis' | 'PostgreSQL'

interface Measured {
  /** What is in the stores, and what `work` is, such as `sessions` and `a refresh`. */
  readonly records: string
  readonly workName: string
  readonly many: number
  readonly seconds: number
  readonly rounds: number
  readonly once: number
}

const few = 1000

/** A Redis with nothing in it, and the bytes that it uses. */
export async function openRedis(endings: Endings) {
  const teardown = (end: () => Promise<void>): void => void endings.push(end)
  const { port } = await redisServer({ teardown }, { persistent: 'everysec' })
  const client = new Redis(port, '127.0.0.1')
  endings.push(() => client.disconnect())
  const used = async (): Promise<number> =>
    Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
  return { client, used }
}

/** A PostgreSQL with nothing but these tables. */
export async function openPool(endings: Endings, schema: string): Promise<Pool> {
  const teardown = (end: () => Promise<void>): void => void endings.push(end)
  const pool = (await postgresServer({ teardown }, { durable: true })).pool({ max: 10 })
  await pool.query(schema)
  return pool
}

/** Bytes of a table and its indexes. */
export async function sizeOf(pool: Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `SELECT pg_total_relation_size('${table}') AS bytes`,
  )
  return Number(rows[0]?.bytes)
}

/** Measures each kind of store with few and with many records, prints what was found, and judges it. */
export async function measureGrowth(
  kinds: Partial<Record<Kind, Open>>,
  options: Measured,
): Promise<void> {
  const { records, rounds, seconds, once } = options
  console.log(`${rounds} rounds of ${seconds} s; ${describeMachine()}\n`)
  const rows = [['store', records, 'bytes each', `a second, ${once} at once`, 'ms for one']]
  const targets: Target[] = []
  for (const kind of Object.keys(kinds) as Kind[]) {
    if (kind !== 'memory' && findProgram(kind) === null) {
      console.log(`${kind} is left out: it is not installed\n`)
      continue
    }
    const endings: Endings = []
    try {
      await measure(kind, (count) => (kinds[kind] as Open)(count, endings), options, rows, targets)
    } finally {
      for (const end of endings.toReversed()) await end()
    }
  }
  printTable(rows)
  judge(targets)
}

/** Both sizes by turns, so that a slow moment of the machine counts for both. One server for each: see README.md. */
async function measure(
  kind: Kind,
  open: (count: number) => Promise<Filled>,
  { workName, records, many, seconds, rounds, once }: Measured,
  rows: string[][],
  targets: Target[],
): Promise<void> {
  const sizes = [few, many]
  const stores: (Filled & { rates: number[]; times: number[] })[] = []
  for (const count of sizes) stores.push({ ...(await open(count)), rates: [], times: [] })
  const growths: number[] = []
  // The first round is not counted: it warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { work, rates, times } of stores) {
      const rate = await perSecond(work, seconds, once)
      const time = await milliseconds(work, seconds / 2)
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
  // In memory a step takes a few microseconds of the hundreds that a whole refresh takes. That more records miss the
  // caches of the processor shows in the quotient only.
  const inMemory = kind === 'memory'
  targets.push({
    name: `${kind}: ${inMemory ? 'ms' : 'time'} of ${workName} at ${many} ${records}${inMemory ? '' : `, against ${few}`}`,
    found: median(inMemory ? (stores.at(-1)?.times ?? []) : growths),
    bound: inMemory ? 0.05 : 1.5,
    kind: 'most',
  })
}

/** How many there were in a second, with so many at once. */
async function perSecond(work: Filled['work'], seconds: number, atOnce: number): Promise<number> {
  const start = performance.now()
  let done = 0
  const worker = async (): Promise<void> => {
    while (performance.now() - start < seconds * 1000) {
      await work()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return done / ((performance.now() - start) / 1000)
}

/** The median of the milliseconds that one takes, one after the other. */
async function milliseconds(work: Filled['work'], seconds: number): Promise<number> {
  const start = performance.now()
  const times: number[] = []
  while (performance.now() - start < seconds * 1000) {
    const before = performance.now()
    await work()
    times.push(performance.now() - before)
  }
  return median(times)
}
