import { openSql, type Row, type RowsOf, type SqlOptions } from '../../stores/sql.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in PostgreSQL 13 or later, in a table that `npx fastify-authn api-keys schema` prints.
 *
 * @param options - `query`: runs one statement, as `pool.query` of `pg` and `db.query` of PGlite do, on any connection.
 * `prefix`: the name of the app, with which the name of the table begins: at most 40 characters of a-z, 0-9 and _, the
 * first of them no digit
 * @throws ERR_AUTH_OPTION for a prefix that does not fit, or if `query` is no function
 *
 * @example
 * sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix: 'shop' })
 */
export function sqlApiKeys(options: SqlOptions): ApiKeyStoreFactory {
  const { prefix, rows } = openSql(options, { factory: 'sqlApiKeys', command: 'api-keys' })
  const sql = statementsOf(`${prefix}_api_keys`)
  return { prefix, isLocal: false, open: (name) => storeOver(rows, sql, name) }
}

function storeOver(rows: RowsOf, sql: ReturnType<typeof statementsOf>, name: string): ApiKeyStore {
  const run = (text: string, ...params: Parameters<RowsOf>[1]): Promise<readonly Row[]> =>
    rows(text, [name, ...params])
  return {
    create: async (key) => void (await run(sql.create, ...valuesOf(key))),
    find: async (id) => (await run(sql.find, id)).map(keyOf)[0] ?? null,
    list: async (owner) => (await run(sql.list, owner)).map(keyOf),
    touch: async (id, at) => void (await run(sql.touch, id, at)),
    revoke: async (id, at, owner) => (await run(sql.revoke, id, at, owner ?? null)).length > 0,
    replace: async (id, next, until, owner) =>
      (await run(sql.replace, ...valuesOf(next), id, until, owner ?? null)).length > 0,
  }
}

/** The values of the columns from `id` to `expires_at`. */
function valuesOf(key: StoredApiKey) {
  const { id, digest, owner, ownerType, name, scopes, createdAt, expiresAt } = key
  return [id, digest, owner, ownerType, name, scopes.join(' '), createdAt, expiresAt]
}

function keyOf(row: Row): StoredApiKey {
  const scopes = String(row.scopes).split(' ').filter(Boolean)
  return { ...row, scopes } as unknown as StoredApiKey
}

/** The table of the SQL store, for PostgreSQL 13 or later. @param prefix - checked */
export function apiKeysSchema(prefix: string): string {
  const table = `${prefix}_api_keys`
  return `-- The API keys of fastify-authn, for PostgreSQL 13 or later.
CREATE TABLE IF NOT EXISTS ${table} (
  registration   text NOT NULL,         -- the option apiKeys.name
  id             text NOT NULL,         -- the part of the key after its prefix, which is no secret
  digest         text NOT NULL,         -- SHA-256 of the key
  owner          text NOT NULL,
  owner_type     text NOT NULL,         -- string or number: how the user lookup gets the owner
  name           text NOT NULL,         -- what the owner calls the key
  scopes         text NOT NULL,         -- separated by spaces
  created_at     timestamptz NOT NULL,
  expires_at     timestamptz,
  last_used_at   timestamptz,           -- without an index, so that PostgreSQL writes it in place (a HOT update)
  revoked_at     timestamptz,
  replaced_by    text,                  -- the id of its successor
  PRIMARY KEY (registration, id)
) WITH (fillfactor = 90);
CREATE INDEX IF NOT EXISTS ${table}_owner ON ${table} (registration, owner);
-- Keys are deleted 30 days after they have expired or were revoked.
CREATE INDEX IF NOT EXISTS ${table}_over ON ${table} (least(expires_at, revoked_at))
  WHERE least(expires_at, revoked_at) IS NOT NULL;`
}

/** `$1` is the name of the registration. Times are seconds. */
function statementsOf(table: string) {
  const columns = `registration, id, digest, owner, owner_type, name, scopes, created_at, expires_at`
  const values = `$1, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, to_timestamp($8), to_timestamp($9)`
  const seconds = (column: string) => `extract(epoch FROM ${column})::float8`
  const selected = `SELECT id, digest, owner, owner_type AS "ownerType", name, scopes, replaced_by AS "replacedBy",
  ${seconds('created_at')} AS "createdAt", ${seconds('expires_at')} AS "expiresAt",
  ${seconds('last_used_at')} AS "lastUsedAt", ${seconds('revoked_at')} AS "revokedAt" FROM ${table}`
  return {
    create: `
WITH old AS MATERIALIZED (
  SELECT registration, id FROM ${table}
  WHERE least(expires_at, revoked_at) <= to_timestamp($8) - interval '30 days'
  ORDER BY least(expires_at, revoked_at) LIMIT 100 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM ${table} k USING old WHERE k.registration = old.registration AND k.id = old.id
)
INSERT INTO ${table} (${columns}) VALUES (${values})`,
    find: `${selected} WHERE registration = $1 AND id = $2`,
    list: `${selected} WHERE registration = $1 AND owner = $2 ORDER BY created_at DESC, id`,
    touch: `
UPDATE ${table} SET last_used_at = to_timestamp($3) WHERE registration = $1 AND id = $2
  AND (last_used_at IS NULL OR last_used_at <= to_timestamp($3) - interval '60 seconds')`,
    revoke: `
UPDATE ${table} SET revoked_at = to_timestamp($3) WHERE registration = $1 AND id = $2
  AND revoked_at IS NULL AND ($4::text IS NULL OR owner = $4) RETURNING id`,
    replace: `
WITH old AS (
  UPDATE ${table} SET replaced_by = $2, expires_at = least(expires_at, to_timestamp($11))
  WHERE registration = $1 AND id = $10 AND revoked_at IS NULL AND replaced_by IS NULL
    AND (expires_at IS NULL OR expires_at > to_timestamp($8)) AND ($12::text IS NULL OR owner = $12)
  RETURNING id
)
INSERT INTO ${table} (${columns}) SELECT ${values} FROM old RETURNING id`,
  }
}
