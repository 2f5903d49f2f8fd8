import type { Needs } from '../marks/plan.js'
import type { NeededNames } from '../../types/marks.js'

/**
 * The lists of scopes, any of which is enough: for `all` one list with all names, for `any` one list for each name.
 * New arrays for each call, because YAML writes an array that occurs twice as an alias.
 */
export function scopeLists(scope: NeededNames | null): string[][] {
  if (scope === null) return [[]]
  const names = [...new Set('all' in scope ? scope.all : scope.any)]
  return 'all' in scope ? [names] : names.map((name) => [name])
}

/** Such as "one of the scopes `a` or `b`, and the role `editor`"; empty where nothing is needed. */
export function needsInWords({ scope, role }: Needs): string {
  const parts = [inWords('scope', scope), inWords('role', role)]
  return parts.filter((text) => text !== null).join(', and ')
}

function inWords(what: string, need: NeededNames | null): string | null {
  if (need === null) return null
  const isEach = 'all' in need
  const names = [...new Set(isEach ? need.all : need.any)].map(asCode)
  if (names.length === 1) return `the ${what} ${names[0]}`
  const rest = names.slice(0, -1).join(', ')
  return isEach
    ? `the ${what}s ${rest} and ${names.at(-1)}`
    : `one of the ${what}s ${rest} or ${names.at(-1)}`
}

/** A code span of CommonMark (section 6.1) that shows exactly this text: a name is no Markdown and no HTML. */
function asCode(name: string): string {
  const runs = name.match(/`+/g) ?? []
  const fence = '`'.repeat(Math.max(0, ...runs.map(({ length }) => length)) + 1)
  const pad = /^[` ]|[` ]$/.test(name) ? ' ' : ''
  return `${fence}${pad}${name}${pad}${fence}`
}
