import { inspect } from 'node:util'
import { needsText } from '../marks/access.js'
import type { AuthnRoute } from '../../types/routes.js'

/**
 * The routes as a table with aligned columns, without the HEAD routes that Fastify added: they follow their GET routes.
 * @param allMethods - a route with all these methods is printed as `ALL`
 */
export function printTable(rows: readonly AuthnRoute[], allMethods: readonly string[]): string {
  const printed = rows.filter(({ isAutomaticHead }) => !isAutomaticHead)
  const several = new Set(printed.map(({ registration }) => registration)).size > 1
  const lines = printed.map((row) => [
    allMethods.every((method) => row.methods.includes(method)) ? 'ALL' : row.methods.join(', '),
    withoutControlCharacters(`${row.url} ${constraintsText(row.constraints)}`.trim()),
    typeof row.mode === 'string' ? row.mode : row.mode ? 'required' : 'open',
    withoutControlCharacters(needsText(row)) || '-',
    row.authenticators.join(', ') || '-',
    `${row.source} ${row.sourcePrefix ?? ''}`.trim() + (row.isLogin ? ' (login)' : ''),
    ...(several ? [row.registration] : []),
  ])
  const registration = several ? ['REGISTRATION'] : []
  return align([
    ['METHOD', 'URL', 'ACCESS', 'NEEDS', 'AUTHENTICATORS', 'MARK', ...registration],
    ...lines,
  ])
}

export function constraintsText(constraints: AuthnRoute['constraints']): string {
  if (Object.keys(constraints).length === 0) return ''
  return inspect(constraints, { breakLength: Infinity, sorted: true, depth: 4 })
}

/** Escapes characters that would break the table or the terminal. */
export function withoutControlCharacters(text: string): string {
  if (/^[ -~]*$/.test(text)) return text
  // V8 would collect all these characters when it loads a package with this expression as a literal.
  const unprintable = new RegExp(String.raw`\p{C}`, 'gu')
  return text.replaceAll(unprintable, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`)
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
