import { wrongOption } from '../errors.js'

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

/** The store that runs statements, for errors. */
interface SqlUse {
  /** The function of the package that made it, such as `sqlSessions`. */
  readonly factory: string
  /** The command that prints the SQL of its tables, such as `sessions schema`. */
  readonly schema: string
}

/** @throws ERR_AUTH_OPTION for a prefix that is not a plain identifier, since it becomes part of the statements */
export function checkSqlPrefix(prefix: unknown, where: string): string {
  if (typeof prefix === 'string' && /^[a-z_][a-z0-9_]{0,39}$/.test(prefix)) return prefix
  return wrongOption(
    `${where}: found ${JSON.stringify(prefix)}, expected the name of the app: at most 40 characters of a-z, 0-9 and _, the first of them no digit.`,
  )
}

/**
 * Codes of a statement that conflicted with another transaction, has changed nothing, and may be run again. This does
 * not happen with the usual isolation level, READ COMMITTED.
 */
const repeatable = new Set(['40001', '40P01'])
const attempts = 3

/**
 * Runs statements with the function of the app.
 *
 * @param prefix - of the tables
 * @throws ERR_AUTH_OPTION where `query` is no function
 */
export function rowsWith(query: SqlQuery, prefix: string, { factory, schema }: SqlUse): RowsOf {
  const example = `${factory}({ query: (text, params) => pool.query(text, params), prefix: 'shop' })`
  if (typeof query !== 'function') {
    wrongOption(`${factory}({ query }): found ${typeof query}, expected a function: ${example}.`)
  }
  return async (text, params) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const result = (await query(text, params)) as Partial<SqlResult> | undefined
        if (Array.isArray(result?.rows)) return result.rows as Row[]
        throw new TypeError(`${factory}({ query }): query(text, params) returned no array "rows"`)
      } catch (error) {
        const code = String((error as { code?: unknown } | null)?.code)
        if (code === '42P01') {
          const hint = `npx fastify-authn ${schema} --prefix ${prefix}`
          throw new Error(`PostgreSQL: a table is missing. The SQL that creates it: ${hint}`, {
            cause: error,
          })
        }
        if (attempt === attempts || !repeatable.has(code)) throw error
      }
    }
  }
}
