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
  UserRevocation,
} from '../../../types/sessions.js'
import { wrongOption } from '../../errors/errors.js'
import { sqlStateOf } from '../../stores/sql-errors.js'
import { revocationPoller } from './revocation-poller.js'
import { sqlStatements } from './sql-statements.js'
import { sqlUpkeep } from './sql-upkeep.js'

/**
 * Keeps sessions in PostgreSQL 13 or later, in tables that `npx fastify-authn sessions schema` prints.
 * @param options - `query`: runs one statement, as `pool.query` of `pg` and `db.query` of PGlite do, on any connection.
 * `prefix`: the name of the app, with which the names of the tables begin: at most 40 characters of a-z, 0-9 and _, the
 * first of them no digit. Apps that use the same database need different ones, or alice of the one could refresh as
 * alice of the other
 * @throws ERR_AUTH_OPTION if the prefix is missing or does not fit, or if `query` is no function
 * @example
 * sqlSessions({ query: (text, params) => pool.query(text, params), prefix: 'shop' })
 */
export function sqlSessions(options: SqlOptions): SessionStoreFactory {
  const { prefix, rows, help } = openSql(options, { factory: 'sqlSessions', command: 'sessions' })
  return { prefix, isLocal: false, once: true, help, open: (name) => storeOver(rows, prefix, name) }
}

function storeOver(rows: RowsOf, prefix: string, name: string): SessionStore {
  const statements = sqlStatements(prefix)
  const run = (statement: keyof typeof statements, ...params: SqlParams): Promise<readonly Row[]> =>
    rows(statements[statement], [name, ...params])
  let usesOnce = false
  const upkeep = sqlUpkeep(rows, prefix, () => usesOnce)
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
      const values = [...texts, lifetime, idle, most.revocationTtl]
      const [row] = await (most.once > 0
        ? run('createOnce', ...values, most.once)
        : run('create', ...values))
      if (row === undefined) return null
      const trimmed = await run('trim', sub, 0, most.maxPerUser)
      const [userRevocation = null] = await run('userRevocation', sub)
      return {
        now: Number(row.now),
        revoked: revocationsOf(trimmed),
        userRevocation: userRevocation as UserRevocation | null,
      }
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
    async revoke(which, revocationTtl, by = '') {
      if ('sub' in which) await run('revokeUser', which.sub, by)
      const [statement, value] =
        'sid' in which ? (['revokeSid', which.sid] as const) : (['revokeSub', which.sub] as const)
      return revocationsOf(await run(statement, value, revocationTtl))
    },
    list: async (sub) => (await run('list', sub)) as unknown as readonly StoredSession[],
    watch: (watcher) => poller.start(watcher),
    close: async () => poller.stop(),
    async requireOnce() {
      usesOnce = true
      await run('probeOnce').catch((error: unknown) => {
        // Others are logged: a database may come later than the app.
        if (sqlStateOf(error) !== '42P01') return
        wrongOption(
          `sqlSessions: the table ${prefix}_used is missing, which logins by e-mail need. Run what this command prints, which adds what is missing: npx fastify-authn sessions schema --prefix ${prefix}`,
        )
      })
    },
  }
}

const revocationsOf = (rows: readonly Row[]): Revocation[] =>
  rows.map(({ sid, until }) => ({ sid, until }) as Revocation)
