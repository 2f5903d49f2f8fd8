import { ifUnset, wrongOption } from '../errors/errors.js'
import { sqlStateOf } from './sql-errors.js'

/** The result of a statement. */
export interface SqlResult {
  /** The rows, by the names of their columns. */
  readonly rows: readonly unknown[]
}

/** The values of `$1`, `$2` … in a statement. */
export type SqlParams = (string | number | null)[]

/** Runs one statement of PostgreSQL, with `$1`, `$2` … for its parameters, on any connection. */
export type SqlQuery = (text: string, params: SqlParams) => PromiseLike<SqlResult>

export type Row = Readonly<Record<string, unknown>>
export type RowsOf = <T = Row>(text: string, params: SqlParams) => Promise<T[]>

/** The options of a store in PostgreSQL. */
export interface SqlOptions {
  /** Runs one statement, as `pool.query` of `pg` does, on any connection. */
  readonly query: SqlQuery
  /** The name of the app, with which the names of the tables begin. */
  readonly prefix: string
}

/** @throws ERR_AUTH_OPTION for a prefix that is not a plain identifier, since it becomes part of the statements */
export function checkSqlPrefix(prefix: unknown, where: string, example: string): string {
  if (typeof prefix === 'string' && /^[a-z_][a-z0-9_]{0,39}$/.test(prefix)) return prefix
  return wrongOption(
    `${where}: found ${JSON.stringify(prefix)}${prefix === undefined ? ifUnset : ''}, expected the name of the app, at most 40 characters of a-z, 0-9 and _, not beginning with a digit, as in ${example}.`,
  )
}

/** Checks the options of a store, whose name and command, such as `sqlSessions` and `sessions`, are for errors. */
export function openSql(
  options: SqlOptions,
  { factory, command }: { readonly factory: string; readonly command: string },
): { readonly prefix: string; readonly rows: RowsOf; readonly help: string } {
  const example = `${factory}({ query: (text, params) => pool.query(text, params), prefix: 'shop' })`
  // A pool has `query` too, but as a method of its class.
  const isOwn = Object.hasOwn(Object(options), 'query')
  if (!isOwn || typeof options.query !== 'function') {
    wrongOption(
      `${factory}({ query, prefix }): found no function "query" in the options. Expected: ${example}.`,
    )
  }
  const { query } = options
  const prefix = checkSqlPrefix(options.prefix, `${factory}({ prefix })`, example)
  const help = `The SQL that creates its tables: npx fastify-authn ${command} schema --prefix ${prefix}`
  const rows: RowsOf = async <T>(text: string, params: SqlParams) => {
    try {
      const result = (await query(text, params)) as Partial<SqlResult> | undefined
      if (Array.isArray(result?.rows)) return result.rows as T[]
      return wrongOption(
        `${factory}({ query }): query(text, params) returned no array "rows". Expected: ${example}.`,
      )
    } catch (error) {
      const code = sqlStateOf(error)
      // A table, or the function of API keys.
      if (code === '42P01' || code === '42883') {
        const message = `PostgreSQL: the tables of the ${command} are missing. ${help}`
        throw new Error(message, { cause: error })
      }
      // Startup goes on: the object that has the method may come later than this plugin.
      if (error instanceof TypeError) {
        const hint = `A method such as pool.query loses its "this" when it is passed alone. Expected: ${example}.`
        throw new Error(`${factory}({ query }): ${error.message}. ${hint}`, { cause: error })
      }
      throw error
    }
  }
  return { prefix, rows, help }
}
