import { inTime } from './patience.js'

/** What a statement has given. */
export interface SqlResult {
  /** Its rows, by the names of their columns. */
  readonly rows: readonly unknown[]
}

/** What stands for `$1`, `$2` … in a statement. */
export type SqlParams = (string | number | null)[]

/**
 * Runs one statement of PostgreSQL, on any connection.
 *
 * @param text - the statement, with `$1`, `$2` … for its parameters
 * @param params - texts, numbers and null
 */
export type SqlQuery = (text: string, params: SqlParams) => PromiseLike<SqlResult>

export type Row = Readonly<Record<string, unknown>>

/**
 * Codes of a statement that has changed nothing and may be run again: two transactions were in each other's way. With
 * the usual isolation level, READ COMMITTED, it does not happen.
 */
const repeatable = new Set(['40001', '40P01'])
const attempts = 3

/** The database of the app. */
export class SqlDatabase {
  readonly #query: SqlQuery

  constructor(query: SqlQuery) {
    this.#query = query
  }

  async rows(text: string, params: SqlParams, milliseconds?: number): Promise<readonly Row[]> {
    return inTime('PostgreSQL', () => this.patiently(text, params), milliseconds)
  }

  /** Waits for the answer without a limit, for callers that must not ask again before. */
  async patiently(text: string, params: SqlParams): Promise<readonly Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return rowsOf(await this.#query(text, params))
      } catch (error) {
        const code = (error as { code?: unknown } | null)?.code
        if (attempt === attempts || !repeatable.has(String(code))) throw explained(error)
      }
    }
  }

  /** The row of a statement that always returns one. */
  async row(text: string, params: SqlParams): Promise<Row> {
    const [row] = await this.rows(text, params)
    if (row === undefined) throw new Error('PostgreSQL: a statement has returned no row')
    return row
  }
}

function rowsOf(result: unknown): readonly Row[] {
  const rows = (result as { rows?: unknown } | null | undefined)?.rows
  if (Array.isArray(rows)) return rows as Row[]
  throw new TypeError(
    'sqlSessions({ query }): what query(text, params) resolves to has no array "rows"',
  )
}

/** 42P01 is a table that is not there. */
function explained(error: unknown): unknown {
  if ((error as { code?: unknown } | null)?.code !== '42P01') return error
  return new Error(
    'PostgreSQL: the tables of the sessions are not there. `npx fastify-authn sessions schema` prints what makes them.',
    { cause: error },
  )
}
