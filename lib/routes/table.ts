import { inspect } from 'node:util'
import type { AuthnRoute } from '../../types/routes.js'

const access = new Map<AuthnRoute['mode'], string>([
  [true, 'required'],
  ['optional', 'optional'],
  ['try', 'try'],
  [false, 'open'],
])

/**
 * The routes as a table with aligned columns, for people and for snapshots. A HEAD route that Fastify made is shown
 * in brackets beside its GET, as long as the same holds for both.
 *
 * @param rows - in the order in which they are printed
 * @param allMethods - methods that are printed as `ALL` where a route has them all
 */
export function printTable(rows: readonly AuthnRoute[], allMethods: readonly string[]): string {
  const several = new Set(rows.map(({ registration }) => registration)).size > 1
  const places = new Set(rows.filter(isHeadable).map(keyOf))
  const heads = new Set(rows.filter(({ isAutomaticHead }) => isAutomaticHead).map(keyOf))
  const lines = rows
    .filter((row) => !(row.isAutomaticHead && places.has(keyOf(row))))
    .map((row) => [
      methodsText(row, allMethods, heads.has(keyOf(row))),
      visible(`${row.url} ${constraintsText(row.constraints)}`.trim()),
      access.get(row.mode) as string,
      row.authenticators.join(', ') || '-',
      markText(row),
      ...(several ? [row.registration] : []),
    ])
  const heading = ['METHOD', 'URL', 'ACCESS', 'AUTHENTICATORS', 'MARK']
  return align([several ? [...heading, 'REGISTRATION'] : heading, ...lines])
}

/** What has to be the same for two routes to share a line. */
function keyOf(row: AuthnRoute): string {
  const { url, constraints, mode, authenticators, source, sourcePrefix, registration } = row
  const parts = [url, constraintsText(constraints), mode, source, sourcePrefix, registration]
  return JSON.stringify([...parts, ...authenticators])
}

function isHeadable({ methods, isAutomaticHead }: AuthnRoute): boolean {
  return methods.includes('GET') && !isAutomaticHead
}

function methodsText(row: AuthnRoute, all: readonly string[], hasHead: boolean): string {
  const { methods, isAutomaticHead } = row
  if (isAutomaticHead) return '(HEAD)'
  const list = all.every((method) => methods.includes(method)) ? 'ALL' : methods.join(', ')
  return hasHead && isHeadable(row) ? `${list} (HEAD)` : list
}

function markText({ source, sourcePrefix, isLogin }: AuthnRoute): string {
  const text = `${source} ${sourcePrefix ?? ''}`.trim()
  return isLogin ? `${text} (login)` : text
}

/** Constraints on one line, the same whatever their order; empty for none. */
export function constraintsText(constraints: AuthnRoute['constraints']): string {
  if (Object.keys(constraints).length === 0) return ''
  return inspect(constraints, { breakLength: Infinity, sorted: true, depth: 4 })
}

/** A text without what would break a table, or a terminal. */
export function visible(text: string): string {
  return text.replaceAll(/\p{C}/gu, (found) => `\\u{${Number(found.codePointAt(0)).toString(16)}}`)
}

function align(table: readonly (readonly string[])[]): string {
  const [heading = []] = table
  const widths = heading.map((_, at) =>
    table.reduce((width, row) => Math.max(width, String(row[at]).length), 0),
  )
  return table
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] as number)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
