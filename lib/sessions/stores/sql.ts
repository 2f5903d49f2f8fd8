import {
  openSql,
  type Row,
  type RowsOf,
  type SqlOptions,
  type SqlParams,
} from '../../stores/sql.js'
import type {
  Revocation,
  SessionStore,
  SessionStoreFactory,
  StoredSession,
  Swapped,
} from '../../../types/sessions.js'
import { revocationPoller } from './revocation-poller.js'
import { sqlStatements, type SqlStatements } from './sql-statements.js'

/**
 * Keeps sessions in PostgreSQL 13 or later, in tables that `npx fastify-authn sessions schema` prints.
 *
 * @param options - `query`: runs one statement, as `pool.query` of `pg` and `db.query` of PGlite do, on any connection.
 * `prefix`: the name of the app, with which the names of the tables begin: at most 40 characters of a-z, 0-9 and _, the
 * first of them no digit. Apps that use the same database need different ones, or alice of the one could refresh as
 * alice of the other
 * @throws ERR_AUTH_OPTION if the prefix is missing or does not fit, or if `query` is no function
 *
 * @example
 * sqlSessions({ query: (text, params) => pool.query(text, params), prefix: 'shop' })
 */
export function sqlSessions(options: SqlOptions): SessionStoreFactory {
  const { prefix, rows, help } = openSql(options, { factory: 'sqlSessions', command: 'sessions' })
  const statements = sqlStatements(prefix)
  return {
    prefix,
    isLocal: false,
    help,
    open: (name) => storeOver(rows, statements, name),
  }
}

/** @param name - of the registration */
function storeOver(rows: RowsOf, statements: SqlStatements, name: string): SessionStore {
  const run = (statement: keyof SqlStatements, ...params: SqlParams): Promise<readonly Row[]> =>
    rows(statements[statement], [name, ...params])
  const upkeep = sqlUpkeep(rows, statements)
  const poller = revocationPoller(async (since) => {
    const found = await run('revocations', since ?? '0')
    void upkeep.run()
    const { cursor, now } = found[0] as Row
    const revocations = revocationsOf(found.filter(({ sid }) => sid !== null))
    return { revocations, now: Number(now), cursor: String(cursor) }
  })
  return {
    async create({ handle, sid, sub, current, address, userAgent, data, lifetime, idle, ...most }) {
      const texts = [handle, sid, sub, current, address, userAgent, data]
      const [row] = await run('create', ...texts, lifetime, idle, most.revocationTtl)
      const trimmed = await run('trim', sub, 0, most.maxPerUser)
      return { now: Number(row?.now), revoked: revocationsOf(trimmed) }
    },
    async find(handle) {
      const [row] = (await run('find', handle)) as [Row]
      return { session: row.sid === null ? null : sessionOf(row), now: Number(row.now) }
    },
    async swap({ handle, presented, next, sealed, grace, idle, deadline, revocationTtl }) {
      const values = [handle, presented, next, sealed, grace, idle, deadline, revocationTtl]
      const [row] = await run('swap', ...values)
      const { outcome = 'unknown', now, sealed: successor } = row ?? {}
      if (row === undefined || outcome === 'unknown' || outcome === 'late')
        return { outcome } as Swapped
      if (outcome === 'swapped') upkeep.swapped(grace)
      const sealedNext = outcome === 'repeated' ? { sealed: successor } : {}
      return { outcome, session: sessionOf(row), now: Number(now), ...sealedNext } as Swapped
    },
    async revoke(which, revocationTtl) {
      const [statement, value] =
        'sid' in which ? (['revokeSid', which.sid] as const) : (['revokeSub', which.sub] as const)
      return revocationsOf(await run(statement, value, revocationTtl))
    },
    list: async (sub) => (await run('list', sub)).map(sessionOf),
    watch: (watcher) => poller.start(watcher),
    close: async () => poller.stop(),
  }
}

function sessionOf(row: Row): StoredSession {
  const { sid, sub, created, lastUsed, endsAt, address, userAgent, data } =
    row as unknown as StoredSession
  return { sid, sub, created, lastUsed, endsAt, address, userAgent, data }
}

const revocationsOf = (rows: readonly Row[]): Revocation[] =>
  rows.map(({ sid, until }) => ({ sid, until }) as Revocation)

/** The most rows that one statement deletes, so that it does not lock them for long. */
const batch = 500
/** Milliseconds between two searches for sessions and revocations that have expired. */
const pause = 30_000

/** Milliseconds after which a round is given up: its connection may be dead. */
const longest = 5000

/** Deletes expired rows: in small batches, at most one of each kind for each call of `run`. */
function sqlUpkeep(rows: RowsOf, statements: SqlStatements) {
  let nextRound = 0
  let clearUntil = 0
  let busyUntil = 0
  const remove = async (what: 'clear' | 'sweep' | 'forget'): Promise<number> =>
    Number((await rows(statements[what], [batch]))[0]?.count)
  return {
    /** To be called after a swap, whose sealed successor has to be deleted when the grace has passed. */
    swapped(graceSeconds: number): void {
      clearUntil = performance.now() + (graceSeconds + 2) * 1000
    },
    /** Does what is due. It never rejects: the next call, or another process, repeats what has failed. */
    async run(): Promise<void> {
      const now = performance.now()
      const isRound = now >= nextRound
      if (now < busyUntil || (!isRound && now >= clearUntil)) return
      busyUntil = now + longest
      try {
        const counts = [await remove('clear')]
        if (isRound) counts.push(await remove('sweep'), await remove('forget'))
        if (isRound) nextRound = counts.includes(batch) ? now : now + pause
      } catch {
        // The poll for revocations reports a failing store.
      }
      busyUntil = 0
    },
  }
}
