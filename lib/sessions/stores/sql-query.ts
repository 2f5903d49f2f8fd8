/** The result of a statement. */
export interface SqlResult {
  /** Its rows, by the names of their columns. */
  readonly rows: readonly unknown[]
}

/** The values of `$1`, `$2` … in a statement. */
export type SqlParams = (string | number | null)[]

/**
 * Runs one statement of PostgreSQL, on any connection.
 *
 * @param text - the statement, with `$1`, `$2` … for its parameters
 */
export type SqlQuery = (text: string, params: SqlParams) => PromiseLike<SqlResult>

export type Row = Readonly<Record<string, unknown>>
export type RowsOf = (text: string, params: SqlParams) => Promise<readonly Row[]>

/**
 * Codes of a statement that conflicted with another transaction, has changed nothing, and may be run again. This does
 * not happen with the usual isolation level, READ COMMITTED.
 */
const repeatable = new Set(['40001', '40P01'])
const attempts = 3

/** Runs statements with the function of the app. */
export function rowsWith(query: SqlQuery): RowsOf {
  return async (text, params) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const result = (await query(text, params)) as Partial<SqlResult> | undefined
        if (Array.isArray(result?.rows)) return result.rows as Row[]
        throw new TypeError('sqlSessions({ query }): query(text, params) returned no array "rows"')
      } catch (error) {
        const code = String((error as { code?: unknown } | null)?.code)
        if (code === '42P01') throw missingTables(error)
        if (attempt === attempts || !repeatable.has(code)) throw error
      }
    }
  }
}

function missingTables(cause: unknown): Error {
  return new Error(
    'PostgreSQL: the tables of the sessions are missing. Create them with the SQL of `npx fastify-authn sessions schema`.',
    { cause },
  )
}
