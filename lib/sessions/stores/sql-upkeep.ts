import type { RowsOf } from '../../stores/sql.js'

function upkeepStatements(prefix: string) {
  const sessions = `${prefix}_sessions`
  const graces = `${prefix}_graces`

  const drop = (table: string, key: string, condition: string): string => `
WITH due AS MATERIALIZED (
  SELECT ${key} FROM ${table} WHERE ${condition} LIMIT $1 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM due)
)
SELECT count(*)::int AS count FROM due`

  return {
    /** Deletes successors whose grace has passed. @returns how many were due */
    clear: `
WITH due AS MATERIALIZED (
  SELECT until, registration, handle FROM ${graces} WHERE until <= clock_timestamp()
  ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED
), done AS MATERIALIZED (
  SELECT registration, handle FROM ${sessions} s
  WHERE (registration, handle) IN (SELECT registration, handle FROM due)
    AND grace_until <= clock_timestamp() AND sealed IS NOT NULL
  ORDER BY handle FOR UPDATE
), cleared AS (
  UPDATE ${sessions} s SET sealed = NULL FROM done
  WHERE s.registration = done.registration AND s.handle = done.handle
), forgotten AS (
  DELETE FROM ${graces} g USING due
  WHERE g.until = due.until AND g.registration = due.registration AND g.handle = due.handle
)
SELECT count(*)::int AS count FROM due`,

    /** Deletes sessions that have expired, and looks again later at those that were used. @returns how many were due */
    sweep: `
WITH due AS MATERIALIZED (
  SELECT registration, handle, expires_at FROM ${sessions} WHERE sweep_at <= clock_timestamp()
  ORDER BY sweep_at LIMIT $1 FOR UPDATE SKIP LOCKED
), decided AS MATERIALIZED (
  SELECT due.*, expires_at <= clock_timestamp() AS has_expired FROM due
), gone AS (
  DELETE FROM ${sessions} s USING decided j
  WHERE j.has_expired AND s.registration = j.registration AND s.handle = j.handle
), later AS (
  UPDATE ${sessions} s SET sweep_at = j.expires_at FROM decided j
  WHERE NOT j.has_expired AND s.registration = j.registration AND s.handle = j.handle
)
SELECT count(*)::int AS count FROM due`,

    forget: drop(
      `${prefix}_revocations`,
      'written_by, registration, sid',
      'until <= clock_timestamp()',
    ),
    forgetUsers: drop(
      `${prefix}_user_revocations`,
      'registration, sub',
      `revoked_at < clock_timestamp() - interval '1 hour'`,
    ),
    forgetUsed: drop(`${prefix}_used`, 'registration, sid', 'until <= clock_timestamp()'),
  }
}

/** The most rows that one statement deletes, so that it does not lock them for long. */
const batch = 500

/** Milliseconds between two statements that delete what has expired. A connection may be dead, so there is no waiting. */
const pauses = {
  clear: 5000,
  sweep: 30_000,
  forget: 30_000,
  forgetUsers: 30_000,
  forgetUsed: 30_000,
} as const

/**
 * Makes a function that deletes what is due. It never rejects: the next call, or another process, repeats what failed.
 * @param usesOnce - whether there is a table for `once`
 */
export function sqlUpkeep(rows: RowsOf, prefix: string, usesOnce: () => boolean) {
  const statements = upkeepStatements(prefix)
  const next = new Map<string, number>()
  return async (): Promise<void> => {
    for (const what of Object.keys(pauses) as (keyof typeof pauses)[]) {
      // Tables of an earlier version lack that of `once`.
      if (what === 'forgetUsed' && !usesOnce()) continue
      const now = performance.now()
      if (now < (next.get(what) ?? 0)) continue
      next.set(what, now + pauses[what])
      // The poll for revocations reports a failing store.
      const [row] = await rows(statements[what], [batch]).catch(() => [])
      if (Number(row?.count) === batch) next.set(what, now)
    }
  }
}
