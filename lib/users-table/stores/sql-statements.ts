import type { SqlParams } from '../../stores/sql.js'

/** A name of a column. It is one that the table has, and may contain anything. */
const quoted = (name: string): string => `"${columnOf(name).replaceAll('"', '""')}"`

const columnOf = (name: string): string => (name === 'secondFactor' ? 'second_factor' : name)

/**
 * Each statement is a transaction of its own, on any connection of a pool. All parameters are text or null, whose types
 * are stated: so drivers do not convert them, each in its own way. Rows are given as JSON, which PostgreSQL converts by
 * the types of the table.
 * @param prefix - of the tables, checked
 */
export function sqlStatements(prefix: string) {
  const users = `${prefix}_users`
  const identities = `${prefix}_identities`
  const passkeys = `${prefix}_passkeys`
  const record = (param: string): string =>
    `jsonb_populate_record(NULL::${users}, ${param}::text::jsonb) r`
  const id = '$1::text::uuid'
  const insert = (names: readonly string[], from: string): string => {
    const columns = names.map(quoted)
    return `INSERT INTO ${users} (${columns.join()}) SELECT ${columns.map((each) => `r.${each}`).join()} FROM ${from}`
  }
  /**
   * Locks the user, and then what it has: rows that were deleted while this statement has waited are skipped, although its
   * snapshot shows them. $2 is {@link WaysIn} as JSON, or null.
   * @param mine - the condition for the row that is removed
   */
  const removal = (table: string, mine: string): string => `
WITH owner AS MATERIALIZED (SELECT id, password FROM ${users} WHERE id = ${id} FOR UPDATE),
ids AS MATERIALIZED (
  SELECT i.issuer, i.subject FROM owner o JOIN ${identities} i ON i.user_id = o.id ORDER BY 1, 2 FOR UPDATE OF i
), keys AS MATERIALIZED (
  SELECT p.id FROM owner o JOIN ${passkeys} p ON p.user_id = o.id ORDER BY 1 FOR UPDATE OF p
), ways AS MATERIALIZED (SELECT $2::text::jsonb AS w), decided AS MATERIALIZED (
  SELECT CASE WHEN NOT EXISTS (SELECT FROM ${table === identities ? 'ids' : 'keys'} WHERE ${mine}) THEN 'unknown'
    WHEN jsonb_typeof(w) = 'null' OR (w->'password' = 'true' AND EXISTS (SELECT FROM owner WHERE password IS NOT NULL))
      OR (w->'passkeys' = 'true' AND EXISTS (SELECT FROM keys${table === passkeys ? ` WHERE NOT (${mine})` : ''}))
      OR EXISTS (SELECT FROM ids WHERE issuer IN (SELECT jsonb_array_elements_text(w->'issuers'))${table === identities ? ` AND NOT (${mine})` : ''})
    THEN 'removed' ELSE 'last' END AS result FROM ways
), gone AS (
  DELETE FROM ${table} USING decided WHERE result = 'removed' AND user_id = ${id} AND ${mine}
)
SELECT result FROM decided`

  return {
    columns: `
SELECT attname AS name FROM pg_attribute WHERE attrelid = '${users}'::regclass AND attnum > 0 AND NOT attisdropped
  AND attgenerated = '' AND attname NOT IN ('id', 'email', 'password', 'name', 'roles', 'second_factor', 'disabled_at', 'created_at')`,
    find: `SELECT * FROM ${users} WHERE id = $1`,
    findByEmail: `SELECT * FROM ${users} WHERE email = $1::text`,
    findByIdentity: `
SELECT u.* FROM ${identities} i JOIN ${users} u ON u.id = i.user_id WHERE i.issuer = $1::text AND i.subject = $2::text`,
    create: (names: readonly string[]) =>
      `${insert(names, record('$1'))} ON CONFLICT (email) DO NOTHING RETURNING *`,
    /** Where the address or the id is taken at the same moment, an error undoes the statement, the identity too. */
    createWith: (names: readonly string[]) => `
WITH linked AS (
  INSERT INTO ${identities} (issuer, subject, provider, user_id)
  SELECT $2::text, $3::text, $4::text, r.id FROM ${record('$1')}
  WHERE NOT EXISTS (SELECT FROM ${users} u WHERE u.email = r.email OR u.id = r.id)
  ON CONFLICT DO NOTHING RETURNING user_id
)
${insert(names, `linked, ${record('$1')}`)} RETURNING *`,
    update: (names: readonly string[]) => {
      const columns = names.map((name) => `${quoted(name)} = r.${quoted(name)}`)
      const set = columns.length > 0 ? columns.join() : 'id = u.id'
      return `UPDATE ${users} u SET ${set} FROM ${record('$2')} WHERE u.id = ${id} RETURNING u.id`
    },
    swap(after: readonly string[], before: readonly string[]) {
      const set = after.map((name, at) => `${quoted(name)} = $${at + 2}::text`)
      const isSame = before.map(
        (name, at) => `AND ${quoted(name)} IS NOT DISTINCT FROM $${at + 2 + after.length}::text`,
      )
      const email = after.indexOf('email') + 2
      const isFree = after.includes('email')
        ? ` AND NOT EXISTS (SELECT FROM ${users} o WHERE o.email = $${email}::text AND o.id <> ${id})`
        : ''
      return `UPDATE ${users} SET ${set.join()} WHERE id = ${id} ${isSame.join(' ')}${isFree} RETURNING id`
    },
    setDisabled: (isDisabled: boolean) => `
WITH found AS MATERIALIZED (SELECT id, disabled_at FROM ${users} WHERE id = ${id} FOR UPDATE), changed AS (
  UPDATE ${users} u SET disabled_at = ${isDisabled ? 'now()' : 'NULL'} FROM found
  WHERE u.id = found.id AND found.disabled_at IS ${isDisabled ? '' : 'NOT'} NULL RETURNING u.id
)
SELECT EXISTS (SELECT FROM changed) AS changed FROM found`,
    remove: `DELETE FROM ${users} WHERE id = ${id} RETURNING id`,
    /** `time` and `id` are those of the last user of the page before; `after` is its address. */
    list(
      {
        time,
        id: last,
        email,
        after,
        role,
      }: Record<'time' | 'id' | 'email' | 'after' | 'role', string | undefined>,
      disabled: boolean | undefined,
      limit: number,
    ) {
      const params: SqlParams = []
      const param = (value: string): string => `$${params.push(value)}::text`
      const conditions = [
        ...(time && last
          ? [`(created_at, id) < (${param(time)}::timestamptz, ${param(last)}::uuid)`]
          : []),
        // In the collation "C" of the column, this is the last text with that beginning.
        ...(email === undefined
          ? []
          : [`email >= ${param(email)} AND email <= ${param(`${email}\u{10ffff}`)}`]),
        ...(after === undefined ? [] : [`email > ${param(after)}`]),
        ...(disabled === undefined ? [] : [`num_nulls(disabled_at) = ${disabled ? 0 : 1}`]),
        ...(role === undefined ? [] : [`${param(role)} = ANY (roles)`]),
      ]
      const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
      const order = email === undefined ? 'created_at DESC, id DESC' : 'email'
      const text = `
SELECT *, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS fastify_authn_cursor FROM ${users}
${where} ORDER BY ${order} LIMIT ${limit}`
      return { text, params }
    },
    identities: `
SELECT provider, issuer, subject, created FROM ${identities} WHERE user_id = ${id} ORDER BY created, issuer, subject`,
    link: `
WITH made AS (
  INSERT INTO ${identities} (user_id, issuer, subject, provider)
  SELECT id, $2::text, $3::text, $4::text FROM ${users} WHERE id = ${id} FOR KEY SHARE
  ON CONFLICT DO NOTHING RETURNING 1
)
SELECT 1 FROM made UNION ALL
SELECT 1 FROM ${identities} WHERE issuer = $2::text AND subject = $3::text AND user_id = ${id}`,
    unlink: removal(identities, 'issuer = $3::text AND subject = $4::text'),
    passkeys: `SELECT data::text AS data FROM ${passkeys} WHERE user_id = ${id} ORDER BY created, id`,
    addPasskey: `
INSERT INTO ${passkeys} (user_id, id, data) SELECT id, $2::text, $3::text::jsonb FROM ${users} WHERE id = ${id} FOR KEY SHARE
ON CONFLICT DO NOTHING RETURNING 1`,
    swapPasskey: `
UPDATE ${passkeys} SET data = $3::text::jsonb WHERE user_id = ${id} AND id = $2::text AND data = $4::text::jsonb RETURNING 1`,
    removePasskey: removal(passkeys, 'id = $3::text'),
  }
}
