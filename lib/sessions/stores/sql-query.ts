import { wrongOption } from '../../errors.js'

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

/** What to write. */
export const sqlExample =
  "sqlSessions({ query: (text, params) => pool.query(text, params), prefix: 'shop' })"

/**
 * Runs statements with the function of the app.
 *
 * @param prefix - of the tables
 */
export function rowsWith(query: SqlQuery, prefix: string): RowsOf {
  return async (text, params) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const result = (await query(text, params)) as Partial<SqlResult> | undefined
        if (Array.isArray(result?.rows)) return result.rows as Row[]
        return wrongOption(
          `sqlSessions({ query }): query(text, params) returned no array "rows". Expected: ${sqlExample}.`,
        )
      } catch (error) {
        const code = String((error as { code?: unknown } | null)?.code)
        if (code === '42P01') throw missingTables(error, prefix)
        if (error instanceof TypeError && usesThis(query)) wrongOption(lostObject, error)
        if (attempt === attempts || !repeatable.has(code)) throw error
      }
    }
  }
}

function missingTables(cause: unknown, prefix: string): Error {
  return new Error(`PostgreSQL: the tables of the sessions are missing. ${schemaCommand(prefix)}`, {
    cause,
  })
}

export const schemaCommand = (prefix: string): string =>
  `The SQL that creates its tables: npx fastify-authn sessions schema --prefix ${prefix}`

const lostObject = `sqlSessions({ query }): found a method such as pool.query, which loses its object when it is passed alone. Expected: ${sqlExample}.`

/** Whether a function is no arrow function, is not bound, and has `this` in its source. */
function usesThis(query: SqlQuery): boolean {
  const source = Function.prototype.toString.call(query)
  return !/^(?:async\s*)?(?:\(|[\w$]+\s*=>)/.test(source) && /\bthis\b/.test(source)
}
