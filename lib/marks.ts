import { AuthnUsageError } from './errors.js'
import type { AuthMode } from '../types/marks.js'

/** A mark in its long form. */
export interface ParsedMark {
  readonly mode: AuthMode
  /** Names of authenticators; null: those of the scope. */
  readonly use: readonly string[] | null
}

const modes: ReadonlySet<unknown> = new Set<AuthMode>([true, false, 'optional', 'try'])

/**
 * Reads a mark.
 *
 * @param place - where it stands, for the error
 * @throws ERR_AUTH_MARK for anything that is no mark
 */
export function parseMark(mark: unknown, place: string): ParsedMark {
  if (modes.has(mark)) return { mode: mark as AuthMode, use: null }
  if (typeof mark !== 'object' || mark === null || Array.isArray(mark)) {
    return markError(place, describe(mark), "true, false, 'optional', 'try' or { mode, use }")
  }
  const { mode = true, use, ...rest } = mark as { mode?: unknown; use?: unknown }
  const unknown = Object.keys(rest)
  if (unknown.length > 0) {
    markError(place, `the unknown key ${JSON.stringify(unknown[0])}`, '{ mode, use }')
  }
  if (Object.keys(mark).length === 0) markError(place, 'an empty object', '{ mode, use }')
  if (!modes.has(mode)) {
    markError(place, `mode ${describe(mode)}`, "mode true, false, 'optional' or 'try'")
  }
  const names: unknown[] | null = use === undefined ? null : [use].flat()
  if (names?.length === 0 || names?.some((name) => typeof name !== 'string' || name === '')) {
    markError(place, `use ${describe(use)}`, 'use to be a name or a non-empty array of names')
  }
  return { mode: mode as AuthMode, use: names as string[] | null }
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
  throw new AuthnUsageError('ERR_AUTH_MARK', `${place}: found ${found}, expected ${expected}.`)
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
