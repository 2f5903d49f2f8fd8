import { openSql, type SqlOptions, type SqlParams } from '../../stores/sql.js'
import { maxEnded } from '../key.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in PostgreSQL 13 or later, in a table that `npx fastify-authn api-keys schema` prints.
 * @param options - `query`: runs one statement, as `pool.query` of `pg` and `db.query` of PGlite do, on any connection.
 * `prefix`: the name of the app, with which the name of the table begins: at most 40 characters of a-z, 0-9 and _, the
 * first of them no digit
 * @throws ERR_AUTH_OPTION for a prefix that does not fit, or if `query` is no function
 * @example
 * sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix: 'shop' })
 */
export function sqlApiKeys(options: SqlOptions): ApiKeyStoreFactory {
  const { prefix, rows } = openSql(options, { factory: 'sqlApiKeys', command: 'api-keys' })
  const open = (name: string): ApiKeyStore =>
    storeOver(`${prefix}_api_keys`, (text, ...params) => rows(text, [name, ...params]))
  return { prefix, isLocal: false, open }
}

/** @param run - runs a statement, in which `$1` is the name of the registration */
function storeOver(
  table: string,
  run: (text: string, ...params: SqlParams) => Promise<StoredApiKey[]>,
): ApiKeyStore {
  const columns = `registration, id, digest, owner, owner_type, name, scopes, created_at, expires_at`
  const values = `$1, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, to_timestamp($8), to_timestamp($9)`
  const seconds = (column: string): string => `extract(epoch FROM ${column})::float8`
  const select = `
SELECT id, digest, owner, owner_type AS "ownerType", name, string_to_array(scopes, ' ') AS scopes,
  ${seconds('created_at')} AS "createdAt", ${seconds('expires_at')} AS "expiresAt",
  ${seconds('last_used_at')} AS "lastUsedAt", ${seconds('revoked_at')} AS "revokedAt", replaced_by AS "replacedBy"
FROM ${table} WHERE registration = $1`
  const ended = `least(expires_at, revoked_at) <= to_timestamp($8)`
  /** Locks are skipped: two calls that delete the same keys would wait for each other. */
  const tidy = `
over AS MATERIALIZED (
  SELECT registration, id FROM ${table} WHERE ${ended} - interval '30 days'
  ORDER BY least(expires_at, revoked_at) LIMIT 100 FOR UPDATE SKIP LOCKED
), spare AS MATERIALIZED (
  SELECT registration, id FROM ${table} WHERE registration = $1 AND id = ANY (ARRAY(
    SELECT id FROM ${table} WHERE registration = $1 AND owner = $4 AND ${ended}
    ORDER BY least(expires_at, revoked_at) DESC OFFSET ${maxEnded} LIMIT 100
  )) FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM ${table} k USING (TABLE over UNION TABLE spare) o WHERE k.registration = o.registration AND k.id = o.id
)`
  // One call at a time makes keys for an owner: the lock is held until its statement has ended.
  const lock = `pg_advisory_xact_lock(hashtextextended($1 || ' ' || $4, 0))`
  const valid = `CASE WHEN ${lock} IS NOT NULL THEN ${table}_valid($1, $4, to_timestamp($8)) END`
  const create = `
WITH ${tidy}
INSERT INTO ${table} (${columns}) SELECT ${values} WHERE ${valid} < $10 RETURNING id`
  const touch = `
UPDATE ${table} SET last_used_at = to_timestamp($3) WHERE registration = $1 AND id = $2
  AND (last_used_at IS NULL OR last_used_at <= to_timestamp($3) - interval '60 seconds')`
  const revoke = `
UPDATE ${table} SET revoked_at = to_timestamp($3) WHERE registration = $1 AND id = $2
  AND revoked_at IS NULL AND ($4::text IS NULL OR owner = $4) RETURNING id`
  const replace = `
WITH ${tidy}, old AS (
  UPDATE ${table} SET replaced_by = $2,
    expires_at = least(expires_at, CASE WHEN ${valid} < 2 * $13::bigint THEN to_timestamp($11) ELSE to_timestamp($8) END)
  WHERE registration = $1 AND id = $10 AND revoked_at IS NULL AND replaced_by IS NULL
    AND (expires_at IS NULL OR expires_at > to_timestamp($8)) AND ($12::text IS NULL OR owner = $12)
  RETURNING id
)
INSERT INTO ${table} (${columns}) SELECT ${values} FROM old RETURNING id`
  const isDone = async (text: string, ...params: SqlParams): Promise<boolean> =>
    (await run(text, ...params)).length > 0
  return {
    create: (key, limit) => isDone(create, ...valuesOf(key), limit),
    find: async (id) => (await run(`${select} AND id = $2`, id))[0] ?? null,
    list: (owner) => run(`${select} AND owner = $2 ORDER BY created_at DESC, id`, owner),
    touch: async (id, at) => void (await run(touch, id, at)),
    revoke: (id, at, owner) => isDone(revoke, id, at, owner),
    replace: (id, next, until, owner, limit) =>
      isDone(replace, ...valuesOf(next), id, until, owner, limit),
  }
}

/** The values of `$2` to `$9`. */
function valuesOf(key: StoredApiKey): SqlParams {
  const { id, digest, owner, ownerType, name, scopes, createdAt, expiresAt } = key
  return [id, digest, owner, ownerType, name, scopes.join(' '), createdAt, expiresAt]
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
  WHERE least(expires_at, revoked_at) IS NOT NULL;
-- Counts the valid keys of an owner. A statement that has waited for a lock does not see what was committed meanwhile,
-- but the functions that it then calls do.
CREATE OR REPLACE FUNCTION ${table}_valid(text, text, timestamptz) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT count(*) FROM ${table} WHERE registration = $1 AND owner = $2
    AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
$$;`
}
