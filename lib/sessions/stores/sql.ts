import { withTimeout } from '../../common/timeout.js'
import { openSql, type Row, type RowsOf, type SqlOptions } from '../../stores/sql.js'
import type {
  CreatedSession,
  FoundSession,
  NewSession,
  Revocation,
  SessionChoice,
  SessionStore,
  SessionStoreFactory,
  SessionWatcher,
  StoredSession,
  Swap,
  Swapped,
} from '../../../types/sessions.js'
import { RevocationPoller, type RevocationPage } from './revocation-poller.js'
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
    open: (name) => new SqlSessions(rows, statements, name),
  }
}

class SqlSessions implements SessionStore {
  readonly #rows: RowsOf
  readonly #sql: SqlStatements
  /** Of the registration. */
  readonly #name: string
  readonly #upkeep: ReturnType<typeof sqlUpkeep>
  readonly #poller = new RevocationPoller((cursor) => this.#revocations(cursor ?? '0'))

  constructor(rows: RowsOf, statements: SqlStatements, name: string) {
    this.#rows = rows
    this.#sql = statements
    this.#name = name
    this.#upkeep = sqlUpkeep(rows, statements)
  }

  async create(session: NewSession): Promise<CreatedSession> {
    const { handle, sid, sub, current, address, userAgent, data, lifetime, idle } = session
    const { revocationTtl, maxPerUser } = session
    const texts = [this.#name, handle, sid, sub, current, address, userAgent, data]
    const [row] = await this.#rows(this.#sql.create, [...texts, lifetime, idle, revocationTtl])
    const trimmed = await this.#rows(this.#sql.trim, [this.#name, sub, 0, maxPerUser])
    return { now: Number((row as Row).now), revoked: trimmed.map(revocationOf) }
  }

  async find(handle: string): Promise<FoundSession> {
    const [row] = (await this.#rows(this.#sql.find, [this.#name, handle])) as [Row]
    return { session: row.sid === null ? null : sessionOf(row), now: Number(row.now) }
  }

  async swap(swap: Swap): Promise<Swapped> {
    const { handle, presented, next, sealed, grace, idle, deadline, revocationTtl } = swap
    const values = [handle, presented, next, sealed, grace, idle, deadline, revocationTtl]
    const [row] = await this.#rows(this.#sql.swap, [this.#name, ...values])
    const outcome = (row?.outcome ?? 'unknown') as Swapped['outcome']
    if (row === undefined || outcome === 'unknown' || outcome === 'late') {
      return { outcome } as Swapped
    }
    if (outcome === 'swapped') this.#upkeep.swapped(grace)
    const swapped = { outcome, session: sessionOf(row), now: Number(row.now) }
    return (outcome === 'repeated' ? { ...swapped, sealed: row.sealed } : swapped) as Swapped
  }

  async revoke(which: SessionChoice, revocationTtl: number): Promise<Revocation[]> {
    const [statement, text] =
      'sid' in which ? [this.#sql.revokeSid, which.sid] : [this.#sql.revokeSub, which.sub]
    return (await this.#rows(statement, [this.#name, text, revocationTtl])).map(revocationOf)
  }

  async list(sub: string): Promise<StoredSession[]> {
    return (await this.#rows(this.#sql.list, [this.#name, sub])).map(sessionOf)
  }

  watch(watcher: SessionWatcher): void {
    this.#poller.start(watcher)
  }

  async close(): Promise<void> {
    this.#poller.stop()
  }

  async #revocations(since: string): Promise<RevocationPage> {
    const rows = await this.#rows(this.#sql.revocations, [this.#name, since])
    void this.#upkeep.run()
    const { cursor, now } = rows[0] as Row
    return {
      revocations: rows.filter(({ sid }) => sid !== null).map(revocationOf),
      now: Number(now),
      cursor: String(cursor),
    }
  }
}

function sessionOf(row: Row): StoredSession {
  return {
    sid: row.sid as string,
    sub: row.sub as string,
    created: Number(row.created),
    lastUsed: Number(row.last_used),
    endsAt: Number(row.ends_at),
    address: row.address as string,
    userAgent: row.user_agent as string,
    data: row.data as string,
  }
}

function revocationOf({ sid, until }: Row): Revocation {
  return { sid: sid as string, until: Number(until) }
}

/** The most rows that one statement deletes, so that it does not lock them for long. */
const batch = 500
/** Milliseconds between two searches for sessions and revocations that have expired. */
const pause = 30_000

/** Milliseconds after which a statement is given up: its connection may be dead. */
const longest = 5000
const late = (): Error => new Error(`no answer in ${longest} ms`)

/** Deletes expired rows: in small batches, at most one of each kind for each call of `run`. */
function sqlUpkeep(rows: RowsOf, statements: SqlStatements) {
  let nextRound = 0
  let clearUntil = 0
  let isBusy = false
  const remove = async (what: 'clear' | 'sweep' | 'forget'): Promise<number> =>
    Number((await withTimeout(rows(statements[what], [batch]), longest, late))[0]?.count)
  return {
    /** To be called after a swap, whose sealed successor has to be deleted when the grace has passed. */
    swapped(graceSeconds: number): void {
      clearUntil = performance.now() + (graceSeconds + 2) * 1000
    },
    /** Does what is due. It never rejects: the next call, or another process, repeats what has failed. */
    async run(): Promise<void> {
      const now = performance.now()
      const isRound = now >= nextRound
      if (isBusy || (!isRound && now >= clearUntil)) return
      isBusy = true
      try {
        const counts = [await remove('clear')]
        if (isRound) counts.push(await remove('sweep'), await remove('forget'))
        if (isRound) nextRound = counts.includes(batch) ? now : now + pause
      } catch {
        // The poll for revocations reports a failing store.
      } finally {
        isBusy = false
      }
    },
  }
}
