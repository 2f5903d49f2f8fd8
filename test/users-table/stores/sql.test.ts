// program: sql
// Columns of the app, values as different drivers parse them, and what the statements cost.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../../examples/demo/embedded.js'
import { github } from '../../../lib/providers/index.js'
import { sqlUsers } from '../../../lib/users-table/index.js'
import { usersSchema } from '../../../lib/users-table/stores/sql-schema.js'
import { newPassword } from '../../helpers/accounts.js'
import { answerOf } from '../../helpers/client.js'
import { postgresServer } from '../../helpers/postgres-server.js'
import { unlessFound } from '../../helpers/programs.js'
import { root } from '../../helpers/project.js'
import { usersApp } from '../../helpers/users-app.js'
import type { SqlQuery } from '../../../lib/stores/sql.js'

const skip = unlessFound('PostgreSQL')
const newUser = () => ({ id: randomUUID(), email: null, password: null, name: null, roles: [] })

async function database(t: Test, more = '') {
  const db = await openEmbedded()
  t.teardown(() => (db.closed ? undefined : db.close()))
  await db.exec(`${usersSchema('shop')}\n${more}`)
  const query: SqlQuery = (text, params) => db.query(text, params)
  return { db, query }
}

t.test('columns of the app have any name and type', async (t) => {
  const names = ['plan', 'we ird', 'a"b', 'select', 'ümlaut', "o'clock", 'Plan']
  const quoted = names.map((name) => `"${name.replaceAll('"', '""')}" text`)
  const typed =
    'age int, score numeric(5,2), ok boolean default true, tags text[], about jsonb, born timestamptz, twice int generated always as (age * 2) stored'
  const add = [...quoted, ...typed.split(', ')].map((each) => `ADD ${each}`).join(', ')
  const { query, db } = await database(
    t,
    `ALTER TABLE shop_users ${add.replaceAll('(5,2)', '(5, 2)')}`,
  )
  const store = sqlUsers({ query, prefix: 'shop' })
  const { app, lines } = await usersApp(t, { store })
  const { users } = app.authn
  const columns: Record<string, unknown> = Object.fromEntries(
    names.map((name) => [name, `'; drop table shop_users; -- ${name}`]),
  )
  const values = {
    age: 7,
    score: '1.50',
    tags: ['a,b', '"'],
    about: { a: [1, null] },
    born: '2026-01-01T00:00:00Z',
  }
  const made = await users.create({ email: 'dora@example.com', ...columns, ...values }, null)
  const wanted = {
    ...columns,
    age: 7,
    twice: 14,
    ok: true,
    tags: values.tags,
    about: values.about,
    born: new Date(values.born),
  }
  t.match(await users.find(String(made?.id)), wanted, 'what is left out has its default')
  t.equal(await users.update(String(made?.id), { 'a"b': 'x', age: null, about: null }, null), true)
  t.match(await users.find(String(made?.id)), {
    ...wanted,
    'a"b': 'x',
    age: null,
    twice: null,
    about: null,
  })
  await t.rejects(users.update(String(made?.id), { twice: 1 }, null), { code: 'ERR_AUTH_USERS' })
  await t.rejects(users.update(String(made?.id), { age: 'a secret' }, null), {
    code: 'ERR_AUTH_USERS',
  })
  t.notOk(lines.some((line) => line.includes('a secret')))

  await db.exec('CREATE TABLE orders (owner uuid REFERENCES shop_users)')
  await db.query('INSERT INTO orders VALUES ($1)', [made?.id])
  await t.rejects(users.remove(String(made?.id), null), { code: 'ERR_AUTH_USERS' })
  t.ok(await users.find(String(made?.id)), 'a table of the app forbids it')
})

t.test('what a driver parses in another way, or not at all, is read', async (t) => {
  const { query, db } = await database(t)
  // PostgreSQL quotes what it has to.
  const listed = (each: unknown) => (each === 'admin' ? each : JSON.stringify(each))
  let isNumber = false
  const text = (value: unknown): unknown => {
    if (value instanceof Date && isNumber) return value.getTime()
    if (value instanceof Date) return value.toISOString().replace('T', ' ').replace('Z', '+00')
    if (Array.isArray(value)) return `{${value.map(listed).join()}}`
    return typeof value === 'boolean' ? String(value).slice(0, 1) : value
  }
  const bare: SqlQuery = async (...given) => {
    const { rows } = await query(...given)
    const all = rows as Record<string, unknown>[]
    return {
      rows: all.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, text(value)])),
      ),
    }
  }
  const [parsed, unparsed] = [query, bare].map((each) =>
    sqlUsers({ query: each, prefix: 'shop' }).open(),
  )
  const roles = ['admin', 'two words', 'a,b', '"', '\\', '{}', '']
  const { id } = newUser()
  await parsed?.create(
    { ...newUser(), id, roles, columns: {} },
    { provider: 'corp', issuer: 'x', subject: id },
  )
  t.equal(await unparsed?.setDisabled(id, true), true)
  t.equal(await unparsed?.setDisabled(id, true), false)
  t.strictSame(await unparsed?.find(id), await parsed?.find(id))
  t.match(await unparsed?.find(id), { roles, disabledAt: Date, createdAt: Date })
  isNumber = true
  t.strictSame(await unparsed?.find(id), await parsed?.find(id), 'milliseconds')
  isNumber = false
  t.strictSame(await unparsed?.identities(id), await parsed?.identities(id))
  for (const time of [
    '9999-99-99T99:99:99.999999Z',
    '0000-01-01T00:00:00.000000Z',
    '2026-02-30T00:00:00.000000Z',
  ])
    await t.rejects(async () => parsed?.list({ limit: 1, after: `${time}.${id}` }), RangeError)
  const time = '2026-01-01T00:00:00.000000Z'
  await t.rejects(
    async () => parsed?.list({ limit: 1, after: `${time}.${'-'.repeat(36)}` }),
    RangeError,
  )
  const [older, newer] = [await unparsed?.list({ limit: 1 }), await parsed?.list({ limit: 1 })]
  t.strictSame(older, newer)
  await db.exec('DELETE FROM shop_users')
  t.equal(await unparsed?.setDisabled(id, true), null)
})

t.test('what another statement takes at the same moment is no error, and others are', async (t) => {
  const { query } = await database(t)
  const other = sqlUsers({ query, prefix: 'shop' }).open()
  let between: (() => Promise<unknown>) | null = null
  const racing: SqlQuery = async (text, params) => {
    const work = /INSERT|UPDATE/.test(text) ? between : null
    if (work === null) return query(text, params)
    between = null
    await work()
    throw new Error('rejected')
  }
  const store = sqlUsers({ query: racing, prefix: 'shop' }).open()
  const identity = { provider: 'corp', issuer: 'x', subject: '1' }
  const user = () => ({ ...newUser(), email: 'dora@example.com', columns: {} })
  between = () => other.create(user(), null)
  t.equal(await store.create(user(), null), null)
  between = () => other.create({ ...user(), email: null }, identity)
  t.equal(await store.create({ ...user(), email: null }, identity), null)
  const nothing = async () => undefined
  between = nothing
  await t.rejects(
    store.create({ ...user(), email: null }, { ...identity, subject: '2' }),
    /rejected/,
  )
  const { id, email } = { ...(await other.create({ ...user(), email: 'old@example.com' }, null)) }
  for (const after of [
    { email: 'dora@example.com' },
    { email: 'new@example.com' },
    { password: 'x' },
  ]) {
    between = nothing
    const swapped = store.swap(String(id), after, { email: email ?? null })
    if (after.email === 'dora@example.com') t.equal(await swapped, false)
    else await t.rejects(swapped, /rejected/)
  }
  const dateless: SqlQuery = async () => ({ rows: [{ id }] })
  await t.rejects(sqlUsers({ query: dateless, prefix: 'shop' }).open().find(String(id)), TypeError)
})

t.test('an app over PostgreSQL, without its tables and with them', async (t) => {
  const { query, db } = await database(t, 'ALTER TABLE shop_users RENAME TO other')
  const { app, logIn, lines, send, mails } = await usersApp(t, {
    store: sqlUsers({ query, prefix: 'shop' }),
  })
  t.equal(answerOf(await logIn('dora@example.com')), '500 ERR_AUTH_USERS')
  t.ok(lines.some((line) => line.includes('npx fastify-authn users schema --prefix shop')))
  await db.exec('ALTER TABLE other RENAME TO shop_users')
  await send('/sign-up', { email: 'dora@example.com' })
  const [{ token = '' } = {}] = await mails()
  t.match(await send('/sign-up/finish', { token, password: newPassword }), /^200/)
  t.match(answerOf(await logIn('Dora@example.com')), /^200/)
  await db.close()
  t.equal(answerOf(await logIn('dora@example.com')), '503 ERR_AUTH_STORE_UNAVAILABLE')
  t.equal(await app.authn.users.find('no id'), null)
})

t.test('no statement of sqlUsers() reads the whole table', { skip }, async (t) => {
  const pool = (await postgresServer(t)).pool({ max: 1 })
  await pool.query(usersSchema('shop'))
  await pool.query(`INSERT INTO shop_users (id, email, created_at, disabled_at)
    SELECT gen_random_uuid(), i || '@example.com', now() - i * interval '1 second', CASE WHEN i % 100 = 0 THEN now() END
    FROM generate_series(1, 60000) i;
    INSERT INTO shop_identities (issuer, subject, provider, user_id) SELECT 'x', email, 'corp', id FROM shop_users;
    INSERT INTO shop_passkeys (id, user_id, data) SELECT email, id, '{}' FROM shop_users;
    ANALYZE`)
  const plans: string[] = []
  const query: SqlQuery = async (text, params) => {
    const { rows } = await pool.query<Record<string, string>>(`EXPLAIN ${text}`, params)
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
    return pool.query(text, params)
  }
  const store = sqlUsers({ query, prefix: 'shop' }).open()
  const user = await store.findByEmail('7@example.com')
  const id = String(user?.id)
  const ways = { password: true, passkeys: true, issuers: ['x'] }
  await store.find(id)
  await store.findByIdentity('x', '7@example.com')
  await store.swap(id, { email: 'new@example.com' }, { email: '7@example.com' })
  await store.setDisabled(id, true)
  await store.identities(id)
  await store.link(id, { provider: 'corp', issuer: 'x', subject: 'other' })
  await store.unlink(id, 'x', 'other', ways)
  await store.removePasskey(id, '7@example.com', ways)
  const { next } = await store.list({ limit: 50 })
  await store.list({ limit: 50, after: String(next), disabled: true })
  await store.list({ limit: 50, email: '5' })
  const passkey = { id: 'new', publicKey: 'x' } as never
  await store.addPasskey(id, passkey)
  await store.swapPasskey(id, passkey, passkey)
  await store.create(
    { ...newUser(), columns: {} },
    { provider: 'corp', issuer: 'x', subject: 'new' },
  )
  await store.remove(id)
  t.equal(plans.length, 16)
  for (const plan of plans) t.notMatch(plan, /Seq Scan/)
})

t.test(
  'the statement of the docs makes identities of accounts of an own login with GitHub',
  async (t) => {
    const { db, query } = await database(t, 'CREATE TABLE accounts (id uuid, github_id bigint)')
    const page = readFileSync(join(root, 'docs/guides/providers.md'), 'utf8')
    const statement = String(/`(INSERT INTO shop_identities [^`]+)`/.exec(page)?.[1])
    const store = sqlUsers({ query, prefix: 'shop' }).open()
    const user = { ...newUser(), columns: {} }
    await store.create(user, null)
    await db.query('INSERT INTO accounts VALUES ($1, 4711), (gen_random_uuid(), NULL)', [user.id])
    await db.query(statement)
    const { issuer } = github({ clientId: 'a' })
    t.match(await store.findByIdentity(issuer, '4711'), { id: user.id })
    t.match(await store.identities(user.id), [{ provider: 'github', issuer, subject: '4711' }])
  },
)
