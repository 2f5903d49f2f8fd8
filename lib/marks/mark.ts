import type { FastifyInstance, RouteOptions } from 'fastify'
import { wrongMark } from '../errors.js'
import { ownProperty } from '../common/objects.js'
import { parseNeed } from './access.js'
import type { AuthMode, NeededNames } from '../../types/marks.js'

/** A mark in its long form. */
interface ParsedMark {
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
 * @param place - where it is, for the error
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
    markError(place, found, 'mode true, or none: only an authenticated user has a scope or a role')
  }
  return { mode: mode as AuthMode, use: names as string[] | null, scope, role }
}

function describe(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value)
    : value === null
      ? 'null'
      : typeof value === 'object'
        ? 'an invalid object'
        : typeof value
}

function markError(place: string, found: string, expected: string): never {
  wrongMark(`${place}: found ${found}, expected ${expected}.`)
}

export function isMark(value: unknown): boolean {
  try {
    parseMark(value, '')
    return true
  } catch {
    return false
  }
}

const kScopeMark = Symbol('fastify-authn.scope-mark')

interface Marked {
  [kScopeMark]?: { readonly scope: FastifyInstance; readonly mark: unknown }
}

export function markScope(scope: FastifyInstance, mark: unknown): void {
  Object.assign(scope, { [kScopeMark]: { scope, mark } })
}

/** The mark of a scope: its own, or else that of the nearest scope around it. */
export function scopeMarkOf(server: FastifyInstance): unknown {
  return (server as Marked)[kScopeMark]?.mark
}

/** The scope that a mark was given to: this one, or one around it; null where there is no mark. */
export function markedScopeOf(server: FastifyInstance): FastifyInstance | null {
  return (server as Marked)[kScopeMark]?.scope ?? null
}

/** The mark in the `config` of a route. */
export function ownMark(config: object | null | undefined): unknown {
  return config ? ownProperty(config, 'auth') : undefined
}

/** The name of a route in errors. */
export function routeName({ method, url }: Pick<RouteOptions, 'method' | 'url'>): string {
  return `route ${[method].flat().join()} ${url}, config.auth`
}

/** What is easily written in `config` instead of the mark, by the member of the mark that is meant. */
const misplaced = new Map([
  ['scope', 'scope'],
  ['scopes', 'scope'],
  ['role', 'role'],
  ['roles', 'role'],
  ['permissions', 'scope'],
])

/**
 * Finds a mark where it has no effect: `auth` beside `config` or in `schema`, `config.auth: undefined`, and scopes or
 * roles in `config` instead of in the mark.
 *
 * @throws ERR_AUTH_MARK
 */
export function checkPlaces(options: RouteOptions): void {
  const { config = {}, schema = {} } = options
  const isMarked = ownMark(config) !== undefined
  const [beside, member] = [...misplaced].find(([key]) => Object.hasOwn(config, key)) ?? []
  if (beside !== undefined) {
    wrongMark(
      `${routeName(options)}: found config.${beside} ${isMarked ? 'beside' : 'without'} config.auth, where it has no effect; expected it in the mark of the route: config: { auth: { ${member}: '…' } }, or { ${member}: { all: ['…'] } } for several. If your own code reads config.${beside}, give it another name there, such as config.my${beside[0]?.toUpperCase()}${beside.slice(1)}.`,
    )
  }
  if (isMarked) return
  const found = Object.hasOwn(config, 'auth')
    ? 'config.auth: undefined'
    : ownProperty(options, 'auth') !== undefined
      ? 'the option auth of the route itself'
      : ownProperty(schema, 'auth') !== undefined && 'schema.auth'
  if (!found) return
  wrongMark(
    `${routeName(options)}: found ${found}, which has no effect, so the route would be open; expected the mark in config: app.get('/path', { config: { auth: true } }, handler). For an open route write { auth: false } there.`,
  )
}
