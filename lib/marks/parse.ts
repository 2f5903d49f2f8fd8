import { wrongMark } from '../errors.js'
import { ownProperty } from '../common/objects.js'
import { parseNeed } from './access.js'
import type { AuthMode, NeededNames } from '../../types/marks.js'

/** A mark in its long form. */
export interface ParsedMark {
  readonly mode: AuthMode
  /** Names of authenticators; null for the authenticator of the scope. */
  readonly use: readonly string[] | null
  /** Null: none is asked for. */
  readonly scope: NeededNames | null
  readonly role: NeededNames | null
}

const known: ReadonlySet<string> = new Set(['mode', 'use', 'scope', 'role'])
const longForm = '{ mode, use, scope, role }'

const modes: ReadonlySet<unknown> = new Set<AuthMode>([true, false, 'optional', 'try'])

/**
 * Reads a mark.
 *
 * @param place - where it stands, for the error
 * @throws ERR_AUTH_MARK for a value that is not a mark
 */
export function parseMark(mark: unknown, place: string): ParsedMark {
  if (modes.has(mark)) return { mode: mark as AuthMode, use: null, scope: null, role: null }
  if (typeof mark !== 'object' || mark === null || Array.isArray(mark)) {
    return markError(place, describe(mark), `true, false, 'optional', 'try' or ${longForm}`)
  }
  const unknown = Object.keys(mark).find((key) => !known.has(key))
  if (unknown !== undefined) {
    markError(place, `the unknown key ${JSON.stringify(unknown)}`, longForm)
  }
  if (Object.keys(mark).length === 0) markError(place, 'an empty object', longForm)
  const given = ownProperty(mark, 'mode')
  const mode = given === undefined ? true : given
  const use = ownProperty(mark, 'use')
  if (!modes.has(mode)) {
    markError(place, `mode ${describe(mode)}`, "mode true, false, 'optional' or 'try'")
  }
  const names: unknown[] | null = use === undefined ? null : [use].flat()
  if (names?.length === 0 || names?.some((name) => typeof name !== 'string' || name === '')) {
    markError(place, `use ${describe(use)}`, 'use to be a name or a non-empty array of names')
  }
  const scope = parseNeed(mark, 'scope', place)
  const role = parseNeed(mark, 'role', place)
  if (mode !== true && (scope !== null || role !== null)) {
    const found = `mode ${JSON.stringify(mode)} beside ${scope === null ? 'role' : 'scope'}`
    markError(place, found, 'mode true, or none: whoever has a scope or a role is somebody')
  }
  return { mode: mode as AuthMode, use: names as string[] | null, scope, role }
}

function describe(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value)
    : value === null
      ? 'null'
      : typeof value === 'object'
        ? 'an object that does not fit'
        : typeof value
}

function markError(place: string, found: string, expected: string): never {
  wrongMark(`${place}: found ${found}, expected ${expected}.`)
}

/** Whether a value is a mark. */
export function isMark(value: unknown): boolean {
  try {
    parseMark(value, '')
    return true
  } catch {
    return false
  }
}
