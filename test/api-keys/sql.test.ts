// program: sql
import t from 'tap'
import { sqlApiKeys } from '../../lib/api-keys/index.js'
import { newKey } from '../../lib/api-keys/key.js'
import { apiKeysSchema } from '../../lib/api-keys/stores/sql.js'
import { job } from '../helpers/api-keys.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { unlessFound } from '../helpers/programs.js'

const skip = unlessFound('PostgreSQL')

t.test('no statement of sqlApiKeys() reads the whole table', { skip }, async (t) => {
  const pool = (await postgresServer(t)).pool({ max: 1 })
  await pool.query(apiKeysSchema('shop'))
  // As after an import, before PostgreSQL has looked at the table.
  await pool.query(`ALTER TABLE shop_api_keys SET (autovacuum_enabled = off);
    INSERT INTO shop_api_keys
    SELECT 'default', 'key ' || i, 'digest', 'user ' || i, 'string', 'job', '', now(), now() + interval '90 days'
    FROM generate_series(1, 60000) i`)
  const plans: string[] = []
  const query = async (text: string, params: unknown[]) => {
    const { rows } = await pool.query<Record<string, string>>(`EXPLAIN ${text}`, params)
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
    return pool.query(text, params)
  }
  const store = sqlApiKeys({ query, prefix: 'shop' }).open('default')
  const next = () => newKey('acme', job).stored
  for (const state of ['without statistics', 'with statistics']) {
    const key = next()
    await store.create(key, 100)
    await store.find(key.id)
    await store.list('alice')
    await store.touch(key.id, 1)
    await store.replace(key.id, next(), Date.now() / 1000, null, 100)
    await store.revoke(key.id, 1, null)
    t.equal(plans.length, 6)
    for (const plan of plans.splice(0)) t.notMatch(plan, /Seq Scan/, state)
    await pool.query('ANALYZE shop_api_keys')
  }
})
