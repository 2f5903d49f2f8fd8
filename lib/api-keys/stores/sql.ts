import { checkSqlPrefix, rowsWith, type Row, type SqlQuery } from '../../stores/sql.js'
import { scopesIn } from '../key.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in PostgreSQL 13 or later, in a table that `npx fastify-authn api-keys schema` prints.
 *
 * @param options - `query`: runs one statement, as `pool.query` of `pg` and `db.query` of PGlite do, on any connection.
 * `prefix`: the name of the app, with which the name of the table begins: at most 40 characters of a-z, 0-9 and _, the
 * first of them no digit
 * @throws ERR_AUTH_OPTION for a prefix that does not fit, or where `query` is no function
 *
 * @example
 * sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix: 'shop' })
 */
export function sqlApiKeys(options: {
  readonly query: SqlQuery
  readonly prefix: string
}): ApiKeyStoreFactory {
  const prefix = checkSqlPrefix(options?.prefix, 'sqlApiKeys({ prefix })')
  const use = { factory: 'sqlApiKeys', schema: 'api-keys schema' }
  const rows = rowsWith(options.query, prefix, use)
  const sql = statementsOf(`${prefix}_api_keys`)
  const run = async (
    text: string,
    ...params: (string | number | null | undefined)[]
  ): Promise<readonly Row[]> =>
    rows(
      text,
      params.map((value) => value ?? null),
    )
  return {
    prefix,
    isLocal: false,
    open: (name): ApiKeyStore => ({
      create: async (key) => void (await run(sql.create, name, ...valuesOf(key))),
      async find(id) {
        const [row] = await run(sql.find, name, id)
        return row === undefined ? null : keyOf(row)
      },
      list: async (owner) => (await run(sql.list, name, owner)).map(keyOf),
      touch: async (id, at) => void (await run(sql.touch, name, id, at)),
      revoke: async (id, at, owner) => (await run(sql.revoke, name, id, at, owner)).length > 0,
      replace: async (id, next, until, owner) =>
        (await run(sql.replace, name, ...valuesOf(next), id, until, owner)).length > 0,
    }),
  }
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
  owner_type     text NOT NULL,         -- string or number: how the user service gets the owner
  name           text NOT NULL,         -- what the owner calls the key
  scopes         text NOT NULL,         -- separated by spaces
  created_at     timestamptz NOT NULL,
  expires_at     timestamptz,
  last_used_at   timestamptz,           -- without an index, so that PostgreSQL can write it in place (a HOT update)
  revoked_at     timestamptz,
  replaced_by    text,                  -- the id of its successor
  PRIMARY KEY (registration, id)
) WITH (fillfactor = 90);
CREATE INDEX IF NOT EXISTS ${table}_owner ON ${table} (registration, owner);
-- Keys are deleted 30 days after they have expired or were revoked.
CREATE INDEX IF NOT EXISTS ${table}_over ON ${table} (least(expires_at, revoked_at))
  WHERE expires_at IS NOT NULL OR revoked_at IS NOT NULL;`
}

const columns = `registration, id, digest, owner, owner_type, name, scopes, created_at, expires_at`

const row = `id, digest, owner, owner_type, name, scopes, replaced_by,
  extract(epoch FROM created_at)::float8 AS created_at, extract(epoch FROM expires_at)::float8 AS expires_at,
  extract(epoch FROM last_used_at)::float8 AS last_used_at, extract(epoch FROM revoked_at)::float8 AS revoked_at`

/** `$1` is the name of the registration. Times are seconds. */
function statementsOf(table: string) {
  const added = `$1, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, to_timestamp($8), to_timestamp($9)`
  return {
    create: `
WITH old AS MATERIALIZED (
  SELECT registration, id FROM ${table}
  WHERE (expires_at IS NOT NULL OR revoked_at IS NOT NULL)
    AND least(expires_at, revoked_at) <= to_timestamp($8) - interval '30 days'
  LIMIT 100 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM ${table} k USING old WHERE k.registration = old.registration AND k.id = old.id
)
INSERT INTO ${table} (${columns}) VALUES (${added})`,

    find: `SELECT ${row} FROM ${table} WHERE registration = $1 AND id = $2`,

    list: `SELECT ${row} FROM ${table} k WHERE registration = $1 AND owner = $2 ORDER BY k.created_at DESC, id`,

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
INSERT INTO ${table} (${columns}) SELECT ${added} FROM old RETURNING id`,
  }
}

function valuesOf(key: StoredApiKey): (string | number | null)[] {
  const { id, digest, owner, ownerType, name, scopes, createdAt, expiresAt } = key
  return [id, digest, owner, ownerType, name, scopes.join(' '), createdAt, expiresAt]
}

function keyOf(row: Row): StoredApiKey {
  const text = (column: string): string => row[column] as string
  const time = (column: string): number | null =>
    row[column] === null ? null : Number(row[column])
  return {
    id: text('id'),
    digest: text('digest'),
    owner: text('owner'),
    ownerType: row.owner_type as StoredApiKey['ownerType'],
    name: text('name'),
    scopes: scopesIn(text('scopes')),
    createdAt: Number(row.created_at),
    expiresAt: time('expires_at'),
    lastUsedAt: time('last_used_at'),
    revokedAt: time('revoked_at'),
    replacedBy: row.replaced_by as string | null,
  }
}
