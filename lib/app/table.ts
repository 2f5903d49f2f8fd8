import { inspect } from 'node:util'
import { needText } from '../marks/access.js'
import type { AuthnRoute } from '../../types/routes.js'

const access = new Map<AuthnRoute['mode'], string>([
  [true, 'required'],
  ['optional', 'optional'],
  ['try', 'try'],
  [false, 'open'],
])

/**
 * The routes as a table with aligned columns, for people and for snapshots. A HEAD route that Fastify added is shown
 * in brackets beside its GET route, unless they differ.
 *
 * @param rows - printed in this order
 * @param allMethods - a route with all these methods is printed as `ALL`
 */
export function printTable(rows: readonly AuthnRoute[], allMethods: readonly string[]): string {
  const several = new Set(rows.map(({ registration }) => registration)).size > 1
  const isNeedy = rows.some((row) => needsText(row) !== '')
  const places = new Set(rows.filter(isHeadable).map(keyOf))
  const heads = new Set(rows.filter(({ isAutomaticHead }) => isAutomaticHead).map(keyOf))
  const lines = rows
    .filter((row) => !(row.isAutomaticHead && places.has(keyOf(row))))
    .map((row) => [
      methodsText(row, allMethods, heads.has(keyOf(row))),
      visible(`${row.url} ${constraintsText(row.constraints)}`.trim()),
      access.get(row.mode) as string,
      ...(isNeedy ? [needsText(row) || '-'] : []),
      row.authenticators.join(', ') || '-',
      markText(row),
      ...(several ? [row.registration] : []),
    ])
  const needs = isNeedy ? ['NEEDS'] : []
  const registration = several ? ['REGISTRATION'] : []
  const heading = ['METHOD', 'URL', 'ACCESS', ...needs, 'AUTHENTICATORS', 'MARK', ...registration]
  return align([heading, ...lines])
}

/** A key that is equal for two routes that may share a line. */
function keyOf(row: AuthnRoute): string {
  const { url, constraints, mode, authenticators, source, sourcePrefix, registration } = row
  const parts = [url, constraintsText(constraints), mode, source, sourcePrefix, registration]
  return JSON.stringify([...parts, needsText(row), ...authenticators])
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

/** Such as `scope notes:read and notes:write; role editor or admin`; empty where nothing is needed. */
function needsText({ scope, role }: AuthnRoute): string {
  const parts = [scope && needText('scope', scope), role && needText('role', role)]
  return parts.flatMap((text) => (text === null ? [] : visible(text))).join('; ')
}

function markText({ source, sourcePrefix, isLogin }: AuthnRoute): string {
  const text = `${source} ${sourcePrefix ?? ''}`.trim()
  return isLogin ? `${text} (login)` : text
}

/** The constraints on one line, sorted; empty when there are none. */
export function constraintsText(constraints: AuthnRoute['constraints']): string {
  if (Object.keys(constraints).length === 0) return ''
  return inspect(constraints, { breakLength: Infinity, sorted: true, depth: 4 })
}

/** The highest number of routes that a message lists. */
const most = 20

/** Routes for the end of a message, one a line; of many, how many more there are. */
export function listOf(names: readonly string[]): string {
  const rest = names.length > most ? [`and ${names.length - most} more`] : []
  return [...names.slice(0, most), ...rest].map((line) => `\n  ${line}`).join('')
}

/** Escapes the characters of a text that would break the table or the terminal. */
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
