// Look-ups of API keys in each store, what a million keys cost, and requests without the cache: see README.md.
import { createHash, randomInt } from 'node:crypto'
import Fastify from 'fastify'
import { redisApiKeys, sqlApiKeys } from '../lib/api-keys/index.js'
import { apiKeysSchema } from '../lib/api-keys/stores/sql.js'
import { authn, type ApiKeyStore } from '../lib/index.js'
import { findProgram } from '../test/helpers/programs.js'
import { measureGrowth, openPool, openRedis, sizeOf } from './sessions/growth.js'
import { numberFlags } from './support/flags.js'
import { median, printTable } from './support/report.js'

const flags = numberFlags({ keys: 1_000_000, seconds: 2, rounds: 7, once: 32 })
const prefix = 'bench'
const idOf = (index: number): string => `key${String(index).padStart(13, '0')}`

function finds(store: ApiKeyStore, count: number): () => Promise<void> {
  return async () => {
    const id = idOf(randomInt(count))
    if ((await store.find(id))?.id !== id) throw new Error(`${id} was not found`)
  }
}

await measureGrowth(
  {
    async Redis(count, endings) {
      const { client, used } = await openRedis(endings)
      const before = await used()
      const store = redisApiKeys(client, { prefix }).open('bench')
      for (let index = 0; index < count; index += 500) {
        const some = Array.from({ length: Math.min(500, count - index) }, (_, at) => index + at)
        await Promise.all(some.map((each) => store.create(keyOf(each), 100)))
      }
      return { work: finds(store, count), bytes: ((await used()) - before) / count }
    },

    async PostgreSQL(count, endings) {
      const pool = await openPool(endings, apiKeysSchema(prefix))
      const query = (text: string, params: unknown[]) => pool.query(text, params)
      await pool.query(
        `INSERT INTO bench_api_keys
         SELECT 'bench', 'key' || lpad(i::text, 13, '0'), rtrim(encode(sha256(i::text::bytea), 'base64'), '='),
           'user ' || i, 'string', 'nightly job', 'notes:read', now(), now() + interval '90 days'
         FROM generate_series(0, $1::int - 1) i`,
        [count],
      )
      await pool.query('VACUUM (ANALYZE) bench_api_keys')
      const bytes = (await sizeOf(pool, 'bench_api_keys')) / count
      return { work: finds(sqlApiKeys({ query, prefix }).open('bench'), count), bytes }
    },
  },
  { ...flags, records: 'keys', workName: 'find', many: flags.keys },
)
if (findProgram('Redis') !== null) await measureCache()

function keyOf(index: number) {
  const digest = createHash('sha256').update(String(index)).digest('base64url')
  const about = { owner: `user ${index}`, ownerType: 'string', name: 'nightly job' } as const
  const [now, scopes] = [Date.now() / 1000, ['notes:read']]
  const times = { createdAt: now, expiresAt: now + 7_776_000, lastUsedAt: null, revokedAt: null }
  return { id: idOf(index), digest, ...about, scopes, ...times, replacedBy: null }
}

/** Processor time of this process for a request without HTTP, in turn. */
async function measureCache(): Promise<void> {
  const endings: (() => unknown)[] = []
  const { client } = await openRedis(endings)
  const kinds = { cached: {}, 'cache: false': { cache: false as const } }
  const apps = Object.entries(kinds).map(async ([name, cache]) => {
    const app = Fastify()
    await app.register(authn, {
      userService: { findByUsername: (name) => ({ name }) },
      apiKeys: { prefix, store: redisApiKeys(client, { prefix: name.slice(0, 5) }), ...cache },
    })
    app.get('/', { config: { auth: { use: 'apiKey' } } }, ({ user }) => user)
    await app.ready()
    const about = { owner: 'alice', name: 'job', scopes: [], expiresAt: null }
    const issued = await app.authn.apiKeys.issue(about)
    const headers = { authorization: `Bearer ${issued.key}` }
    return { name, times: [] as number[], ask: () => app.inject({ url: '/', headers }) }
  })
  const both = await Promise.all(apps)
  for (let round = 0; round <= flags.rounds * 4; round++) {
    for (const { ask, times } of both) {
      const before = process.cpuUsage()
      for (let count = 0; count < 1000; count++) {
        if ((await ask()).statusCode !== 200) throw new Error('a good key was rejected')
      }
      const { user, system } = process.cpuUsage(before)
      if (round > 0) times.push((user + system) / 1000)
    }
  }
  const rows = both.map(({ name, times }) => [name, median(times).toFixed(0)])
  printTable([['Redis', 'µs of processor time for inject()'], ...rows])
  for (const end of endings.toReversed()) await end()
}
