import * as Type from '@sinclair/typebox/type'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { ifUnset, wrongMark } from '../errors/errors.js'
import { declaredProperty, isDeclared, ownProperty } from '../common/objects.js'
import { nonEmpty, oneOf, oneOrMore, options, schemaProblemOf } from '../options/check.js'
import { levelSchemas, neededNames, needSchemas } from './access.js'
import type { AuthMarkObject, AuthMode } from '../../types/marks.js'

const modes = oneOf([true, false, 'optional', 'try'], "true, false, 'optional' or 'try'")

const names = oneOrMore(nonEmpty, 'a name, or a non-empty array of names')

const markSchema = Type.Union(
  [
    modes,
    { ...options({ mode: modes, use: names, ...needSchemas, ...levelSchemas }), minProperties: 1 },
  ],
  {
    description: "true, false, 'optional', 'try' or { mode, use, scope, role, mfa, fresh }",
    quoted: true,
  },
)

const needKeys = ['scope', 'role', 'mfa', 'fresh'] as const

/** `use` is null for the authenticator of the scope; `scope`, `role` and `fresh` are null for none. @throws ERR_AUTH_MARK */
export function parseMark(given: unknown, place: string) {
  const mark =
    typeof given === 'object' && given && !Array.isArray(given) ? own(given, place) : given
  const problem = schemaProblemOf(markSchema, mark, '', 'key')
  if (problem !== null) wrongMark(`${place}: ${problem}`)
  const long = typeof mark === 'object' ? (mark as AuthMarkObject) : { mode: mark as AuthMode }
  const { mode = true, use, mfa = false, fresh = null } = long
  const scope = neededNames(long, 'scope', place)
  const role = neededNames(long, 'role', place)
  const unset = (['mfa', 'fresh'] as const).find((key) => key in long && long[key] === undefined)
  if (unset !== undefined) {
    wrongMark(
      `${place}: key "${unset}": found undefined${ifUnset}, expected ${levelSchemas[unset].description}.`,
    )
  }
  const needs = { scope, role, mfa, fresh }
  const needed = needKeys.find((key) => needs[key])
  if (mode !== true && needed !== undefined) {
    wrongMark(
      `${place}: found mode ${JSON.stringify(mode)} beside ${needed}, expected mode true, or none: only an authenticated user meets it.`,
    )
  }
  return { mode, use: use === undefined ? null : [use].flat(), ...needs }
}

/**
 * Copies a mark: without a prototype, so that a polluted Object.prototype adds no members, and with members that are
 * not enumerable, since without one the route would be more open than its mark says.
 */
function own(given: object, place: string): object {
  for (const key of ['mode', 'use', ...needKeys]) {
    if (!isDeclared(given, key) || Object.hasOwn(given, key)) continue
    wrongMark(
      `${place}: key "${key}" is inherited from a prototype and would be ignored: write it in the mark itself.`,
    )
  }
  const copy = Object.create(null) as Record<string, unknown>
  for (const key of Object.getOwnPropertyNames(given)) copy[key] = ownProperty(given, key)
  return copy
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

/** The mark of a scope, or else that of the nearest scope around it, and the scope that it was given to. */
export function scopeMarkOf(server: FastifyInstance) {
  return (server as Marked)[kScopeMark]
}

export function markIn(config: object | null | undefined): unknown {
  return config ? ownProperty(config, 'auth') : undefined
}

export function routeName({ method, url }: Pick<RouteOptions, 'method' | 'url'>): string {
  return `route ${[method].flat().join()} ${url}, config.auth`
}

/** Members that developers put beside a mark by mistake, where they belong into it. */
const levels = ['mfa', 'fresh']
const all = ['scope', 'scopes', 'role', 'roles', 'permissions', ...levels]

/** @param at - what `from` is called @param how - in relation to the mark @throws ERR_AUTH_MARK */
function checkBeside(from: object, place: string, at: string, how: string, keys = all): void {
  const key = keys.find((each) => isDeclared(from, each))
  if (key === undefined) return
  const other = key.startsWith('role') ? `role: '…'` : `scope: '…'`
  const member = { mfa: 'mfa: true', fresh: 'fresh: 600', auth: 'mode: true' }[key] ?? other
  wrongMark(
    `${place}: found ${at}.${key} ${how}, where it has no effect; expected it in the mark: auth: { ${member} }. If your own code reads ${at}.${key}, give it another name there, such as my${key[0]?.toUpperCase()}${key.slice(1)}.`,
  )
}

/** Rejects what belongs into the mark of a group in its other options, unless it may be for the plugin itself. */
export function checkGroup(options: object, server: FastifyInstance, place: string): void {
  const config = declaredProperty(options, 'config') ?? {}
  const mark = declaredProperty(config, 'auth')
  const at = 'options.config'
  if (mark !== false && isMark(mark)) checkBeside(config, place, at, 'of a group', ['auth'])
  if (isDeclared(options, 'auth')) checkBeside(options, place, 'options', 'beside auth')
  else if (scopeMarkOf(server) === undefined) return
  for (const [name, given] of Object.entries({ options, [at]: config })) {
    const keys = levels.filter((each) => typeof declaredProperty(given, each) !== 'object')
    checkBeside(given, place, name, 'in a scope with a mark', keys)
  }
}

/** Rejects a mark that has no effect: beside `config`, in `schema`, undefined, or with some of its members beside it. */
export function checkPlaces(options: RouteOptions): void {
  const { config = {}, schema = {} } = options
  const isMarked = markIn(config) !== undefined
  const where = `${isMarked ? 'beside' : 'without'} config.auth`
  checkBeside(config, routeName(options), 'config', where)
  checkBeside(options, routeName(options), 'options', where, isMarked ? all : levels)
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
