import * as Type from '@sinclair/typebox/type'
import { Check } from '@sinclair/typebox/value'
import { ifUnset, wrongMark } from '../errors/errors.js'
import { options, text } from '../options/check.js'
import type { AccessNeed, NeededNames } from '../../types/marks.js'

/** What a mark needs besides a user, at least one of these. */
export interface Needs {
  readonly scope: NeededNames | null
  readonly role: NeededNames | null
  readonly mfa: boolean
  /** Seconds. */
  readonly fresh: number | null
}

type Key = 'scope' | 'role'

const names = {
  // RFC 6749 section 3.3: scope-token.
  scope: text(
    'a scope of RFC 6749 section 3.3: visible ASCII without spaces, quotation marks and backslashes',
    { pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$', quoted: true },
  ),
  role: text('a string that is not blank and has no control characters', {
    pattern: '^(?=[^]*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]+$',
    quoted: true,
  }),
}

export const scopeName = names.scope

/** A bare array is an error, because half of all packages read it as "all of them" and half as "one of them". */
function needSchema(key: Key): Type.TSchema {
  const list = Type.Array(names[key], { minItems: 1, description: 'a non-empty array of names' })
  const description = `one name, { all: ['…'] } or { any: ['…'] }, each name ${names[key].description}`
  return Type.Union([names[key], options({ all: list, any: list })], { description, quoted: true })
}

export const needSchemas = { scope: needSchema('scope'), role: needSchema('role') }

/** Reads `scope` or `role`; an undefined one counts as missing. @returns null if it is missing @throws ERR_AUTH_MARK */
export function neededNames(
  mark: { readonly [Name in Key]?: AccessNeed },
  key: Key,
  place: string,
): NeededNames | null {
  if (!(key in mark)) return null
  const need = mark[key]
  const { all, any }: Partial<Exclude<AccessNeed, string>> =
    typeof need === 'string' ? { all: [need] } : { ...need }
  if (all !== undefined && any === undefined) return { all: [...all] }
  if (any !== undefined && all === undefined) return { any: [...any] }
  const found = need === undefined ? `undefined${ifUnset}` : 'an invalid object'
  return wrongMark(
    `${place}: key "${key}": found ${found}, expected ${needSchemas[key].description}.`,
  )
}

/** Seconds: 30 days at most, which also catches milliseconds. */
export const levelSchemas = {
  mfa: Type.Literal(true, { description: 'true, or no such key' }),
  fresh: Type.Integer({
    minimum: 1,
    maximum: 2_592_000,
    description: 'whole seconds, 1 to 2592000, or no such key',
  }),
}

export function isAccessName(key: Key, name: unknown): name is string {
  return Check(names[key], name)
}

/** Describes needs: `scope notes:read and notes:write; role editor or admin`. @param quote - around each name */
export function needsText(needs: Partial<Needs>, quote = ''): string {
  const texts = (['scope', 'role'] as const).flatMap((key) => {
    const need = needs[key]
    if (!need) return []
    const [names, and] = 'all' in need ? [need.all, ' and '] : [need.any, ' or ']
    return `${key} ${names.map((name) => `${quote}${name}${quote}`).join(and)}`
  })
  if (needs.mfa) texts.push('mfa')
  if (needs.fresh) texts.push(`fresh ${needs.fresh}`)
  return texts.join('; ')
}

/** Whether a user has the scopes or roles that a mark needs. Names are compared character by character. */
export function meets(need: NeededNames, granted: ReadonlySet<string>): boolean {
  return 'all' in need
    ? need.all.every((name) => granted.has(name))
    : need.any.some((name) => granted.has(name))
}
