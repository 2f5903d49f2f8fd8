import { faultOf } from '../errors/errors.js'
import type { FaultCode } from '../../types/errors.js'

/** Members of what drivers and ORMs return that count changed rows. Cassandra says in `[applied]` whether there is one. */
const counts =
  /^(?:rowCount|affected_?[rR]ows|rows_?[aA]ffected|nModified|num(?:Affected|Deleted|InsertedOrUpdated|Updated)Rows|numberOfRecordsUpdated|\[applied\])$/
/** MongoDB returns several of these, of which one is enough. */
const mongoCounts = /^(?:(?:inserted|modified|upserted|deleted)Count|insertedId)$/
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
  if (typeof result !== 'object' || result instanceof Error) return undefined
  if (result instanceof Map || result instanceof Set) return result.size > 0
  const votes = Array.isArray(result) ? votesOfList(result) : votesOf({ ...result })
  return votes.every((vote) => vote === votes[0]) ? votes[0] : undefined
}

const isGiven = (value: unknown): boolean => value !== null && value !== undefined

/** An array of postgres.js has a count of its own. */
const votesOfList = (list: readonly unknown[] & { readonly count?: unknown }) =>
  list.length === 0 && !Object.hasOwn(list, 'count')
    ? [false]
    : [...list, list.count].filter(isGiven).map(readResult)

function votesOf(object: object) {
  const valuesOf = (kind: RegExp, isOf = true): unknown[] =>
    Object.entries(object).flatMap(([name, value]) => (kind.test(name) === isOf ? [value] : []))
  const lists = valuesOf(shared).filter(Array.isArray)
  const counted = [...valuesOf(counts), ...valuesOf(shared).filter((each) => !Array.isArray(each))]
  const votes = counted.filter(isGiven).map(readResult)
  const ofMongo = valuesOf(mongoCounts)
  if (ofMongo.length > 0) votes.push(ofMongo.some((count) => isGiven(count) && count !== 0))
  for (const list of lists)
    if (list.length > 0 || counted.length + votes.length === 0) votes.push(readResult(list))
  const columns = valuesOf(shared, false)
  const isAnswer = [counts, mongoCounts, marks].some((kind) => valuesOf(kind).length > 0)
  if (isAnswer || columns.length === 0) return votes
  // A row of `select store(…)` holds a result itself.
  return [...votes, columns.some((value) => value !== false && value !== 0) || undefined]
}
