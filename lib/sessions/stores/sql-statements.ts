const seconds = (time: string): string => `extract(epoch FROM ${time})::float8`
const after = (time: string, value: string): string =>
  `${time} + make_interval(secs => ${value}::float8)`

const columns = (row: string, lastUsed = `${row}.last_used_at`): string => `
  ${row}.sid, ${row}.sub, ${row}.address, ${row}.user_agent AS "userAgent", ${row}.data, ${seconds(lastUsed)} AS "lastUsed",
  ${seconds(`${row}.created_at`)} AS created, ${seconds(`${row}.ends_at`)} AS "endsAt"`

/**
 * Each statement is a transaction of its own, on any connection of a pool. It reads the clock of the server once, after
 * it has locked a row, since it may have waited for the lock; PostgreSQL then reads the row again ("Read Committed
 * Isolation Level"). Statements that lock several sessions do so in one order, or skip locked rows, so that there are
 * no deadlocks. Those that find rows by several handles name them in an array, for which the index is used also while
 * the table has no statistics.
 * @param prefix - of the tables, checked
 */
export function sqlStatements(prefix: string) {
  const sessions = `${prefix}_sessions`
  const graces = `${prefix}_graces`
  const revocations = `${prefix}_revocations`
  const users = `${prefix}_user_revocations`
  const used = `${prefix}_used`

  /** $1 is the registration, $2 the value in the condition, $3 the seconds that revocations are kept at least. */
  const revoke = (condition: string): string => `
WITH found AS MATERIALIZED (
  SELECT handle, sid, expires_at, revocation_ttl FROM ${sessions}
  WHERE registration = $1 AND ${condition}
  ORDER BY handle FOR UPDATE
), timed AS MATERIALIZED (
  SELECT found.*, clock_timestamp() AS now FROM found
), alive AS MATERIALIZED (
  SELECT handle, sid, ${after('now', 'greatest($3::float8, revocation_ttl)')} AS until FROM timed WHERE now < expires_at
), gone AS (
  DELETE FROM ${sessions}
  WHERE registration = $1 AND handle = ANY (ARRAY(SELECT handle FROM alive))
), reported AS (
  INSERT INTO ${revocations} (registration, sid, until) SELECT $1, sid, until FROM alive
)
SELECT sid, ${seconds('until')} AS until FROM alive`

  /** @param more - the end of the list of tables, and a condition */
  const create = (more: string, condition: string): string => `
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), times AS (
  SELECT now, ${after('now', '$9')} AS ends_at,
    least(${after('now', '$9')}, ${after('now', '$10')}) AS expires_at FROM clock
)${more}
INSERT INTO ${sessions} (registration, handle, sid, sub, current_token, address, user_agent, data,
  created_at, last_used_at, ends_at, expires_at, sweep_at, revocation_ttl)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, now, now, ends_at, expires_at, expires_at, $11 FROM times ${condition}
RETURNING ${seconds('created_at')} AS now`

  return {
    create: create('', ''),

    /** Returns no row where the `sid` was used. Of several at the same time, the later ones wait for the first. */
    createOnce: create(
      `, first AS (
  INSERT INTO ${used} (registration, sid, until) SELECT $1, $3, ${after('now', '$12')} FROM clock
  ON CONFLICT DO NOTHING RETURNING 1
)`,
      'WHERE EXISTS (SELECT FROM first)',
    ),

    /** Fails where the tables are of an earlier version. */
    probeOnce: `SELECT FROM ${used} WHERE registration = $1 LIMIT 0`,

    /**
     * Revokes the oldest sessions of a user beyond the newest $4. It is a statement of its own, after that of `create`,
     * so that the last of several at the same time sees all of them.
     */
    trim: revoke(`handle = ANY (ARRAY(
    SELECT handle FROM ${sessions}
    WHERE registration = $1 AND sub = $2 AND clock_timestamp() < expires_at
    ORDER BY created_at DESC, handle OFFSET $4::int
  ))`),

    find: `
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT ${seconds('clock.now')} AS now, ${columns('s')}
FROM clock LEFT JOIN ${sessions} s
  ON s.registration = $1 AND s.handle = $2 AND clock.now < s.expires_at`,

    /**
     * The first one to lock the row swaps. The others find its token as the previous one, because PostgreSQL reads a
     * row again after waiting for its lock. Only `found` reads the table, so that the rest sees the same row.
     */
    swap: `
WITH found AS MATERIALIZED (
  SELECT * FROM ${sessions} WHERE registration = $1 AND handle = $2 FOR UPDATE
), timed AS MATERIALIZED (
  SELECT found.*, clock_timestamp() AS now FROM found
), decided AS MATERIALIZED (
  SELECT timed.*, CASE
    WHEN now >= to_timestamp($8::float8) THEN 'late'
    WHEN now >= expires_at THEN 'unknown'
    WHEN current_token = $3 THEN 'swapped'
    WHEN previous_token = $3 AND now < grace_until THEN 'repeated'
    ELSE 'reused' END AS outcome
  FROM timed
), swapped AS (
  UPDATE ${sessions} s SET current_token = $4, previous_token = $3, last_used_at = j.now,
    sealed = $5, grace_until = ${after('j.now', '$6')},
    expires_at = least(j.ends_at, ${after('j.now', '$7')}),
    revocation_ttl = greatest(j.revocation_ttl, $9::float8)
  FROM decided j WHERE j.outcome = 'swapped' AND s.registration = $1 AND s.handle = j.handle
), repeated AS (
  UPDATE ${sessions} s SET revocation_ttl = $9 FROM decided j
  WHERE j.outcome = 'repeated' AND j.revocation_ttl < $9::float8
    AND s.registration = $1 AND s.handle = j.handle
), graced AS (
  INSERT INTO ${graces} (until, registration, handle)
  SELECT ${after('now', '$6')}, $1, handle FROM decided WHERE outcome = 'swapped'
), gone AS (
  DELETE FROM ${sessions} s USING decided j
  WHERE j.outcome = 'reused' AND s.registration = $1 AND s.handle = j.handle
), reported AS (
  INSERT INTO ${revocations} (registration, sid, until)
  SELECT $1, sid, ${after('now', 'greatest($9::float8, revocation_ttl)')}
  FROM decided WHERE outcome = 'reused'
)
SELECT j.outcome, ${seconds('j.now')} AS now,
  ${columns('j', `CASE j.outcome WHEN 'swapped' THEN j.now ELSE j.last_used_at END`)},
  CASE j.outcome WHEN 'repeated' THEN j.sealed END AS sealed
FROM decided j`,

    /** Committed before the sessions are revoked: a `create` that does not see it has stored a session that they see. */
    revokeUser: `
INSERT INTO ${users} AS u (registration, sub, revoked_at, revoked_by) VALUES ($1, $2, clock_timestamp(), $3)
ON CONFLICT (registration, sub) DO UPDATE
SET revoked_at = excluded.revoked_at, revoked_by = excluded.revoked_by WHERE u.revoked_at < excluded.revoked_at`,

    /** A statement of its own, after that of `create`: see `revokeUser`. */
    userRevocation: `
SELECT ${seconds('revoked_at')} AS at, revoked_by AS by FROM ${users} WHERE registration = $1 AND sub = $2`,

    revokeSid: revoke('sid = $2'),
    revokeSub: revoke('sub = $2'),

    list: `
SELECT ${columns('s')} FROM ${sessions} s
WHERE registration = $1 AND sub = $2 AND clock_timestamp() < expires_at
ORDER BY created_at DESC, handle`,

    /**
     * Revocations that a process cannot have seen yet. Those that its last snapshot did not show were written by
     * transactions that had not committed then, and their numbers are at least the `xmin` of that snapshot.
     */
    revocations: `
WITH mark AS MATERIALIZED (
  SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xmin, clock_timestamp() AS now
)
SELECT mark.xmin::text AS cursor, ${seconds('mark.now')} AS now, e.sid, ${seconds('e.until')} AS until
FROM mark LEFT JOIN ${revocations} e
  ON e.registration = $1 AND e.written_by >= $2::text::xid8 AND e.until > mark.now`,
  }
}
