import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/pglite'
import { bigserial, pgTable, text } from 'drizzle-orm/pg-core'
import Fastify from 'fastify'
import authn, { configFromEnv, hashPassword } from 'fastify-authn'
import { createApp, members } from './drizzle.js'
import { as, credentials } from './users.js'

const client = new PGlite()
after(() => client.close())
const db = drizzle({ client })
await client.exec(`
  CREATE TABLE members (id serial PRIMARY KEY, name text NOT NULL, password_hash text NOT NULL,
    roles text[] NOT NULL DEFAULT '{}');
  CREATE UNIQUE INDEX members_name ON members (lower(name));
  CREATE TABLE large (id bigserial PRIMARY KEY, name text NOT NULL);
  INSERT INTO large (name) VALUES ('alice');
`)
const weak = await hashPassword(credentials.password, { cost: 4 })
await db.insert(members).values([
  { name: 'Alice', passwordHash: weak, roles: ['editor'] },
  { name: 'bob', passwordHash: weak },
])

test('Drizzle: login by any spelling, no hash, roles, a stronger hash', async (t) => {
  const app = await createApp(db)
  t.after(() => app.close())
  const payload = { ...credentials, username: 'ALICE' }
  const login = await app.inject({ method: 'POST', url: '/login', payload })
  const { token } = login.json<{ token: string }>()
  assert.equal(app.jwtService.verify(token).sub, 'Alice')
  const headers = { authorization: `Bearer ${token}` }
  const me = await app.inject({ url: '/me', headers })
  assert.deepEqual(me.json(), { id: 1, name: 'Alice', roles: ['editor'] })
  assert.equal((await app.inject({ url: '/desk', headers })).statusCode, 200)
  assert.equal((await app.inject({ url: '/desk', headers: as('bob', app) })).statusCode, 403)
  assert.equal((await app.inject({ url: '/me', headers: as('carol', app) })).statusCode, 401)

  const [alice] = await db
    .select()
    .from(members)
    .where(sql`id = 1`)
  assert.match(alice?.passwordHash ?? '', /^\$2b\$10\$/)
  const again = await app.inject({ method: 'POST', url: '/login', payload })
  assert.equal(again.statusCode, 200)
  await assert.rejects(db.insert(members).values({ name: 'ALICE', passwordHash: weak }))
})

const large = pgTable('large', {
  id: bigserial({ mode: 'bigint' }).primaryKey(),
  name: text().notNull(),
})

test('Drizzle: rows instead of one row, and ids of type bigint, are errors', async (t) => {
  const statusOf = async (found: (name: string) => unknown) => {
    const app = Fastify()
    t.after(() => app.close())
    const userService = { findByUsername: (name: string | number) => found(String(name)) as never }
    await app.register(authn, { ...configFromEnv(), userService, login: false })
    app.get('/me', { config: { auth: true } }, (request) => request.user)
    await app.ready()
    return (await app.inject({ url: '/me', headers: as('alice', app) })).statusCode
  }
  assert.equal(await statusOf(() => db.select().from(members)), 500)
  assert.equal(
    await statusOf(() =>
      db
        .select()
        .from(large)
        .then(([first]) => first),
    ),
    500,
  )
  const fields = { id: sql<string>`id::text`, name: large.name }
  assert.equal(
    await statusOf(() =>
      db
        .select(fields)
        .from(large)
        .then(([first]) => first),
    ),
    200,
  )
})
