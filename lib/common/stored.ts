import { EventEmitter } from 'node:events'
import { faultOf } from '../errors/errors.js'
import type { FaultCode } from '../../types/errors.js'

/** Members of what drivers and ORMs return that count changed rows. Cassandra says in `[applied]` whether there is one. */
const counts =
  /^(?:row_?[cC]ount|affected_?[rR]ows|rows_?[aA]ffected|nModified|num(?:Affected|Deleted|InsertedOrUpdated)Rows|numberOfRecordsUpdated|\[applied\])$/
/** MongoDB and Kysely return several of these, of which one is enough. */
const anyOf = /^(?:(?:insert|modifi|upsert|delet)edCount|insertedId|num(?:Updat|Chang)edRows)$/
/** Counts and lists of rows, whose names a column of the app may have too. */
const shared = /^(?:count|changes|affected|rows|recordset)$/
/** Members that no row of the app has, and that say nothing themselves. */
const marks =
  /^(?:raw|command|acknowledged|ok|success|error|statusText|lastErrorObject|rowLength|insertId|last(?:ID|InsertId|InsertRow[iI]d))$/

/** What a function of the app has returned that stores something. @throws AuthenticationFault if that does not say whether */
export function isStored(result: unknown, code: FaultCode, name: string): boolean {
  const said = readResult(result)
  if (said !== undefined) return said
  const members = typeof result === 'object' ? Object.keys(Object(result) as object) : []
  const text = `${name}() returned ${typeof result} [${members.slice(0, 8).join()}], which does not say plainly whether it was stored. Return true or false, the number of changed rows (rowCount of pg, count of Prisma, affectedRows of mysql2, modifiedCount of MongoDB), or the stored row, undefined for none.`
  throw faultOf(code, new TypeError(text))
}

/** The error where a function returned that it has stored something, and what is read then is something else. */
export function notFound(code: FaultCode, name: string, reader: string): Error {
  const text = `${reader}() does not find what ${name}() was to store. ${name} has to store, to compare with "before" if it gets it (null too, in SQL by "is not distinct from"), and to return whether it did. ${reader} has to see the last write: no cache, and no replica that is behind.`
  return faultOf(code, new TypeError(text))
}

/** @returns undefined for a result that does not say it, or whose parts say different things */
function readResult(result: unknown): boolean | undefined {
  if (typeof result === 'boolean' || !result) return Boolean(result)
  if (typeof result === 'number' || typeof result === 'bigint') return result > 0 || undefined
  const isOther = [Error, EventEmitter, Uint8Array].some((kind) => result instanceof kind)
  if (typeof result !== 'object' || isOther) return undefined
  if (result instanceof Map || result instanceof Set) return result.size > 0
  const votes = Array.isArray(result) ? votesOfList(result) : votesOf({ ...result })
  return votes.every((vote) => vote === votes[0]) ? votes[0] : undefined
}

const isGiven = (value: unknown): boolean => value !== null && value !== undefined

/** What a function in SQL returns for a no, as drivers spell it: also '0', the byte of a BIT, and a list of such. */
const isNothing = (value: unknown): boolean =>
  Array.isArray(value) || value instanceof Uint8Array
    ? (value as unknown[]).every(isNothing)
    : !value || (typeof value === 'string' && Number(value) === 0)

/** An array of postgres.js has a count of its own. In TypeORM it follows the list of rows, of which an UPDATE has none. */
function votesOfList(list: readonly unknown[] & { readonly count?: unknown }) {
  if (list.length === 0 && !Object.hasOwn(list, 'count')) return [false]
  const isCounted = Array.isArray(list[0]) && list[0].length === 0 && typeof list[1] === 'number'
  return [...list.slice(Number(isCounted)), list.count].filter(isGiven).map(readResult)
}

function votesOf(object: { readonly rows?: readonly unknown[]; readonly rowsAffected?: unknown }) {
  // libsql does not count the rows of RETURNING.
  if (object.rowsAffected === 0 && object.rows?.[0]) return [readResult(object.rows)]
  const valuesOf = (kind: RegExp, isOf = true): unknown[] =>
    Object.entries(object).flatMap(([name, value]) => (kind.test(name) === isOf ? [value] : []))
  const lists = valuesOf(shared).filter(Array.isArray)
  const counted = [...valuesOf(counts), ...valuesOf(shared).filter((each) => !Array.isArray(each))]
  const votes = counted.filter(isGiven).map(readResult)
  const ofAny = valuesOf(anyOf)
  if (ofAny.length > 0) votes.push(!ofAny.every(isNothing))
  if (valuesOf(/^(?:acknowledged|ok|success)$/).some(isNothing)) votes.push(undefined)
  for (const list of lists)
    if (list.length > 0 || counted.length + votes.length === 0) votes.push(readResult(list))
  const columns = valuesOf(shared, false)
  const isRow = columns.length > 0 && ![counts, anyOf, marks].some((kind) => valuesOf(kind).length)
  return isRow ? [...votes, !columns.every(isNothing) || undefined] : votes
}
