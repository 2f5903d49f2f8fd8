// What drivers and ORMs resolve to, as they return it.
import { EventEmitter } from 'node:events'
import t from 'tap'
import { isStored } from '../../lib/common/stored.js'

const postgresJs = (rows: object[], count: number | null) =>
  Object.defineProperties([...rows], { count: { value: count }, command: { value: 'UPDATE' } })
const mongo = { acknowledged: true, matchedCount: 1, upsertedId: null, upsertedCount: 0 }
const pg = { command: 'UPDATE', oid: null, rows: [], fields: [], rowAsArray: false }
const mysql = { fieldCount: 0, insertId: 0, info: '', warningStatus: 0, changedRows: 0 }
const libsql = { columns: [], columnTypes: [], rows: [], lastInsertRowid: 1n }
const d1 = (changes: number) => ({ success: true, meta: { changes, duration: 1 }, results: [] })

const stored: Record<string, unknown> = {
  true: true,
  'a number': 1,
  'a bigint': 1n,
  'a row': { id: 1, email: null },
  'a map': new Map([[1, 1]]),
  'a row with columns of nothing': { name: '', admin: false, logins: 0n, tags: [], id: 1 },
  'a row of a date': { at: new Date() },
  'rows (Drizzle)': [{ id: 1 }],
  'an instance': new (class Row {
    id = 1
  })(),
  'a row with a column that counts': { id: 1, count: 3, changes: null, meta: {}, status: 'x' },
  pg: { ...pg, rowCount: 1 },
  'pg with RETURNING': { ...pg, rowCount: 1, rows: [{ id: 1 }] },
  'PGlite, with a row whose column counts': { rows: [{ id: 1, count: 2 }], affectedRows: 1 },
  Prisma: { count: 1 },
  mysql2: [{ ...mysql, affectedRows: 1 }, undefined],
  'MongoDB updateOne': { ...mongo, modifiedCount: 1 },
  'MongoDB upsert': { ...mongo, matchedCount: 0, modifiedCount: 0, upsertedCount: 1 },
  'MongoDB insertOne': { acknowledged: true, insertedId: { id: 'x' } },
  'postgres.js': postgresJs([], 1),
  'postgres.js with RETURNING': postgresJs([{ id: 1 }], 1),
  Sequelize: [1],
  'Sequelize with returning': [1, [{ id: 1 }]],
  TypeORM: { raw: [], affected: 1, generatedMaps: [] },
  'TypeORM, in SQL': [[], 1],
  Kysely: [{ numUpdatedRows: 1n, numChangedRows: 1n }],
  'Kysely, with the same value': [{ numUpdatedRows: 1n, numChangedRows: 0n }],
  'Kysely merge': [{ numChangedRows: 1n }],
  'node:sqlite': { changes: 1, lastInsertRowid: 3 },
  libsql: { ...libsql, rowsAffected: 1 },
  'libsql with RETURNING': { ...libsql, rows: [{ id: 1 }], rowsAffected: 0 },
  mssql: { recordsets: [], recordset: undefined, output: {}, rowsAffected: [1] },
  'rows of other drivers': { rows: [{ id: 1 }] },
}
const notStored: Record<string, unknown> = {
  false: false,
  0: 0,
  '0n': 0n,
  null: null,
  undefined: undefined,
  'an empty text': '',
  NaN,
  'an empty set': new Set(),
  'no rows (Drizzle)': [],
  pg: { ...pg, rowCount: 0 },
  Prisma: { count: 0 },
  'a count in SQL': [{ count: 0n }],
  mysql2: [{ ...mysql, affectedRows: 0 }, undefined],
  'MongoDB updateOne': { ...mongo, matchedCount: 0, modifiedCount: 0 },
  'MongoDB $setOnInsert of what is there': { ...mongo, modifiedCount: 0 },
  'MongoDB deleteOne': { acknowledged: true, deletedCount: 0 },
  'MongoDB of old': { ok: 1, n: 0, nModified: 0 },
  'postgres.js': postgresJs([], 0),
  Sequelize: [0],
  'Sequelize with returning': [0, []],
  TypeORM: { raw: [], affected: 0, generatedMaps: [] },
  'TypeORM, in SQL': [[], 0],
  Kysely: [{ numUpdatedRows: 0n }],
  'Kysely merge': [{ numChangedRows: 0n }],
  'a count by the name of SQL': { row_count: 0n },
  'Kysely insert': { insertId: undefined, numInsertedOrUpdatedRows: 0n },
  'node:sqlite': { changes: 0, lastInsertRowid: 3 },
  libsql: { ...libsql, rowsAffected: 0 },
  mssql: { recordsets: [], output: {}, rowsAffected: [0] },
  'no rows of other drivers': { rows: [] },
  Cassandra: { rows: [{ '[applied]': false }], rowLength: 1 },
}
const unclear: Record<string, unknown> = {
  'D1, stored': d1(1),
  'D1, not stored': d1(0),
  'a text': 'a secret',
  'a function': () => true,
  'a negative number': -1,
  'an empty object': {},
  'a response of fetch': new Response(''),
  'a promise in an array': [Promise.resolve(true)],
  'an error in an array': [Object.assign(new Error('x'), { code: '23505' }), undefined],
  'texts in an array': ['a secret'],
  'undefined in an array': [undefined],
  'pg without a count': { ...pg, command: 'BEGIN', rowCount: null },
  'pg, with the result of a function': { ...pg, rowCount: 1, rows: [{ store: false }] },
  'pg, with a count in SQL': { ...pg, rowCount: 1, rows: [{ count: '0' }] },
  'TypeORM without a count': { raw: [], affected: undefined, generatedMaps: [] },
  'TypeORM insert': { raw: [], identifiers: [{ id: 1 }], generatedMaps: [] },
  'postgres.js without a count': postgresJs([], null),
  'MongoDB that says only ok': { ok: 1, value: null, lastErrorObject: { n: 0 } },
  'MongoDB without a count': { acknowledged: true },
  'Supabase without select()': { data: null, error: null, count: null, status: 204 },
  'Sequelize findOrCreate of what is there': [{ id: 1 }, false],
  'two statements, of which one did nothing': [{ count: 1 }, { count: 0 }],
  'members that contradict each other': { count: 1, affectedRows: 0 },
  'rows, and a count of none': { rowCount: 0, rows: [{ id: 1 }] },
  'a row with a column that counts nothing': { id: 1, count: 0 },
  'an empty list of rows, and columns, of mysql2': [[], [{ name: 'id' }]],
  'libsql, with the result of a function': { ...libsql, rows: [{ f: null }], rowsAffected: 0 },
  'pg, with null of a function': { ...pg, rowCount: 1, rows: [{ store: null }] },
  'MongoDB without a write concern': { acknowledged: false, insertedId: 'x' },
  'a Buffer': Buffer.from('secret'),
  'the query of a driver without promises': Object.assign(new EventEmitter(), { sql: 'secret' }),
  ...Object.fromEntries(
    [null, undefined, false, 0, 0n, '0', '0.00', '', [], [null], Buffer.alloc(1)].flatMap(
      (value, index) =>
        ['store', 'data', 'results', 'docs'].map((name) => [
          `${name} of nothing, ${index}`,
          [{ [name]: value, second: null }],
        ]),
    ),
  ),
  'an error in a result': { error: 'taken' },
}

t.test('what was stored, what was not, and what does not say it', async (t) => {
  const read = (result: unknown) => isStored(result, 'ERR_AUTH_ACCOUNTS', 'accounts.update')
  for (const [what, result] of Object.entries(stored)) t.equal(read(result), true, what)
  for (const [what, result] of Object.entries(notStored)) t.equal(read(result), false, what)
  for (const [what, result] of Object.entries(unclear)) {
    try {
      t.fail(`${what}: ${String(read(result))}`)
    } catch (error) {
      const { code, cause } = error as { code: string; cause: Error }
      t.equal(code, 'ERR_AUTH_ACCOUNTS', what)
      t.match(cause.message, 'accounts.update()')
      t.notMatch(cause.message, 'secret')
    }
  }
})
