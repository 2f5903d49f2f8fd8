import {
  openSql,
  type Row,
  type RowsOf,
  type SqlOptions,
  type SqlParams,
} from '../../stores/sql.js'
import type {
  FoundSession,
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
    void upkeep()
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
      const [{ now, ...session }] = (await run('find', handle)) as [Row]
      return { session: session.sid === null ? null : session, now: Number(now) } as FoundSession
    },
    async swap({ handle, presented, next, sealed, grace, idle, deadline, revocationTtl }) {
      const values = [handle, presented, next, sealed, grace, idle, deadline, revocationTtl]
      const [row] = await run('swap', ...values)
      const { outcome = 'unknown', now, sealed: successor, ...session } = row ?? {}
      if (outcome === 'unknown' || outcome === 'late') return { outcome }
      const sealedNext = outcome === 'repeated' ? { sealed: successor } : {}
      return { outcome, session, now: Number(now), ...sealedNext } as unknown as Swapped
    },
    async revoke(which, revocationTtl) {
      const [statement, value] =
        'sid' in which ? (['revokeSid', which.sid] as const) : (['revokeSub', which.sub] as const)
      return revocationsOf(await run(statement, value, revocationTtl))
    },
    list: async (sub) => (await run('list', sub)) as unknown as readonly StoredSession[],
    watch: (watcher) => poller.start(watcher),
    close: async () => poller.stop(),
  }
}

const revocationsOf = (rows: readonly Row[]): Revocation[] =>
  rows.map(({ sid, until }) => ({ sid, until }) as Revocation)

/** The most rows that one statement deletes, so that it does not lock them for long. */
const batch = 500

/** Milliseconds between two statements that delete what has expired. A connection may be dead, so there is no waiting. */
const pauses = { clear: 5000, sweep: 30_000, forget: 30_000 } as const

/** Makes a function that deletes what is due. It never rejects: the next call, or another process, repeats what failed. */
function sqlUpkeep(rows: RowsOf, statements: SqlStatements): () => Promise<void> {
  const next = { clear: 0, sweep: 0, forget: 0 }
  return async () => {
    for (const what of ['clear', 'sweep', 'forget'] as const) {
      const now = performance.now()
      if (now < next[what]) continue
      next[what] = now + pauses[what]
      // The poll for revocations reports a failing store.
      const [row] = await rows(statements[what], [batch]).catch(() => [])
      if (Number(row?.count) === batch) next[what] = now
    }
  }
}
