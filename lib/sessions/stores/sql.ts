import { wrongOption } from '../../errors.js'
import { defaults } from '../../options/resolve.js'
import type {
  FoundSession,
  NewSession,
  SessionChoice,
  SessionEnd,
  SessionStore,
  SessionStoreFactory,
  SessionWatcher,
  StoredSession,
  StoreTime,
  Swap,
  Swapped,
} from '../../../types/sessions.js'
import { EndFeed, type EndPage } from './end-feed.js'
import { StoreClock } from './patience.js'
import { SqlDatabase, type Row, type SqlQuery } from './sql-database.js'
import { checkSqlPrefix } from './sql-schema.js'
import { sqlStatements, type SqlStatements } from './sql-statements.js'
import { fromColumn, toColumn } from './sql-text.js'
import { SqlUpkeep } from './sql-upkeep.js'

/**
 * Keeps sessions in PostgreSQL 13 or later, in tables that `npx fastify-authn sessions schema` prints.
 *
 * @param options - `query`: runs one statement, as `pool.query` of `pg` and `db.query` of PGlite do; every call may get
 * another connection. `prefix`: what the names of the tables begin with, default `fastify_authn`: at most 40 characters
 * of a-z, 0-9 and _, the first of them no digit
 * @throws ERR_AUTH_OPTION for a prefix that does not fit, or where `query` is no function
 *
 * @example
 * sqlSessions({ query: (text, params) => pool.query(text, params) })
 */
export function sqlSessions(options: {
  readonly query: SqlQuery
  readonly prefix?: string | undefined
}): SessionStoreFactory {
  const { query, prefix = defaults.sqlSessions.prefix } = options
  if (typeof query !== 'function') {
    wrongOption(
      `sqlSessions({ query }): found ${query === null ? 'null' : typeof query}, expected a function: (text, params) => pool.query(text, params).`,
    )
  }
  const statements = sqlStatements(checkSqlPrefix(prefix))
  return {
    prefix,
    isLocal: false,
    open: (name) => new SqlSessions(new SqlDatabase(query), statements, toColumn(name)),
  }
}

class SqlSessions implements SessionStore {
  readonly #database: SqlDatabase
  readonly #sql: SqlStatements
  /** The name of the registration, which is in every row. */
  readonly #name: string
  readonly #upkeep: SqlUpkeep
  readonly #clock = new StoreClock()
  readonly #feed = new EndFeed('PostgreSQL', (cursor) => this.#ends(cursor))

  constructor(database: SqlDatabase, statements: SqlStatements, name: string) {
    this.#database = database
    this.#sql = statements
    this.#name = name
    this.#upkeep = new SqlUpkeep(database, statements)
  }

  async create(session: NewSession): Promise<StoreTime> {
    const { handle, sid, sub, current, address, userAgent, data, lifetime, idle } = session
    const texts = [sid, sub].map(toColumn)
    const about = [address, userAgent, data].map(toColumn)
    const all = [this.#name, handle, ...texts, current, ...about, lifetime, idle]
    const row = await this.#database.row(this.#sql.create, [...all, this.#clock.deadline()])
    return { now: Number(row.now) }
  }

  async find(handle: string): Promise<FoundSession> {
    const row = await this.#database.row(this.#sql.find, [this.#name, handle])
    this.#clock.heard(Number(row.now))
    return { session: row.sid === null ? null : sessionOf(row), now: Number(row.now) }
  }

  async swap(swap: Swap): Promise<Swapped> {
    const { handle, presented, next, sealed, grace, idle, deadline, keepEnd } = swap
    const [row] = await this.#database.rows(
      this.#sql.swap,
      [this.#name, handle, presented, next, sealed, grace, idle, deadline, keepEnd],
      this.#clock.patienceUntil(deadline),
    )
    const outcome = (row?.outcome ?? 'unknown') as Swapped['outcome']
    if (row === undefined || outcome === 'unknown' || outcome === 'late')
      return { outcome } as Swapped
    if (outcome === 'swapped') this.#upkeep.swapped(grace)
    const known = { outcome, session: sessionOf(row), now: Number(row.now) }
    return (outcome === 'repeated' ? { ...known, sealed: row.sealed } : known) as Swapped
  }

  async end(which: SessionChoice, keepEnd: number): Promise<SessionEnd[]> {
    const [statement, text] =
      'sid' in which ? [this.#sql.endSid, which.sid] : [this.#sql.endSub, which.sub]
    const rows = await this.#database.rows(statement, [this.#name, toColumn(text), keepEnd])
    return rows.map(endOf)
  }

  async list(sub: string): Promise<StoredSession[]> {
    return (await this.#database.rows(this.#sql.list, [this.#name, toColumn(sub)])).map(sessionOf)
  }

  async watch(watcher: SessionWatcher): Promise<void> {
    this.#feed.start(watcher)
  }

  async close(): Promise<void> {
    this.#feed.stop()
  }

  async #ends(before: string | null): Promise<EndPage> {
    const rows = await this.#database.patiently(this.#sql.ends, [this.#name, before ?? '0'])
    void this.#upkeep.run()
    const { cursor, now } = rows[0] as Row
    this.#clock.heard(Number(now))
    return {
      ends: rows.filter(({ sid }) => sid !== null).map(endOf),
      now: Number(now),
      // Numbers of transactions that go back are those of another server: all of its ends are asked for.
      cursor: BigInt(String(cursor)) < BigInt(before ?? '0') ? '0' : String(cursor),
    }
  }
}

function sessionOf(row: Row): StoredSession {
  const text = (name: string): string => fromColumn(row[name] as string)
  return {
    sid: text('sid'),
    sub: text('sub'),
    created: Number(row.created),
    lastUsed: Number(row.last_used),
    endsAt: Number(row.ends_at),
    address: text('address'),
    userAgent: text('user_agent'),
    data: text('data'),
  }
}

function endOf(row: Row): SessionEnd {
  return { sid: fromColumn(row.sid as string), until: Number(row.until) }
}
