import * as Type from '@sinclair/typebox/type'
import { Check } from '@sinclair/typebox/value'
import { wrongOption } from '../errors.js'
import type { Expectation } from './parts.js'

/**
 * Checks options against a schema.
 *
 * @param where - prefix of the option's name in the error, such as `jwt`
 * @throws ERR_AUTH_OPTION that says which option is wrong, what was found, and what was expected
 */
export function check<T>(schema: Type.TSchema, value: unknown, where = ''): T {
  const problem = problemOf(schema, value, where)
  if (problem === null) return value as T
  return wrongOption(problem)
}

/** What is wrong with options: which one, what was found, and what was expected; null where nothing is. */
export function problemOf(schema: Type.TSchema, value: unknown, where: string): string | null {
  const misfit = misfitOf(schema, value)
  return misfit && explain(misfit, where)
}

/** A part of a value that its schema does not allow. */
export interface Misfit {
  readonly schema: Type.TSchema & Partial<Expectation>
  readonly value: unknown
  readonly path: readonly string[]
  /** Whether it is a member that the schema, of the object around it, does not know. */
  readonly isUnknown?: boolean
}

/**
 * The first part of a value that does not fit its schema. Of a union, the first part inside of the object that was
 * given; where the union is marked `whole`, the union itself, because nobody knows which of its objects was meant.
 *
 * TypeBox has `Errors` for this, which would be a tenth of what an app loads.
 */
export function misfitOf(
  schema: Misfit['schema'],
  value: unknown,
  path: readonly string[] = [],
): Misfit | null {
  if (Check(schema, value)) return null
  const all = { schema, value, path }
  if (typeof value !== 'object' || value === null || schema.whole === true) return all
  if (schema.anyOf !== undefined) {
    const found = (schema.anyOf as Type.TSchema[]).map((branch) => misfitOf(branch, value, path))
    return found.find((each) => each !== null && each.path.length > path.length) ?? all
  }
  const parts = value as Readonly<Record<string, unknown>>
  for (const [name, member] of membersOf(schema, parts)) {
    const part = { schema, value: parts[name], path: [...path, name] }
    if (member === undefined) return { ...part, isUnknown: true }
    const found = misfitOf(member, part.value, part.path)
    if (found !== null) return found
  }
  return all
}

/** The schemas of the members of an array or object; undefined for one that must not be there. */
function membersOf(
  {
    items,
    properties = {},
    required = [],
    additionalProperties: others = Type.Any(),
  }: Type.TSchema,
  value: Readonly<Record<string, unknown>>,
): [string, Type.TSchema | undefined][] {
  const names = Object.keys(value)
  if (Array.isArray(value)) return items === undefined ? [] : names.map((name) => [name, items])
  const unknown = names.filter((name) => !Object.hasOwn(properties, name))
  return [
    ...unknown.map((name): [string, Type.TSchema] => [name, others || undefined]),
    ...Object.entries<Type.TSchema>(properties).filter(
      ([name]) => value[name] !== undefined || required.includes(name),
    ),
  ]
}

/** Options of earlier versions, and what replaces them. */
const gone: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  asyncContext:
    'It is gone: leave it out. userFromContext() is in fastify-authn/context, and costs nothing where that is not imported. ',
})

function explain({ schema, value, path, isUnknown }: Misfit, where: string): string {
  const name = [where, ...path].filter((step) => step !== '').join('.') || 'options'
  if (isUnknown === true) {
    const known = Object.keys((schema as Type.TObject).properties)
    return `unknown option "${name}". ${gone[name] ?? ''}Known here: ${known.join(', ')}.`
  }
  return `option "${name}": found ${describe(value, schema)}, expected ${schema.description ?? schema.type}.`
}

/** Describes the value that was found, without quoting what may be a secret. */
function describe(value: unknown, { shown, secret }: Partial<Expectation>): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'boolean' || (typeof value === 'number' && secret !== true))
    return String(value)
  if (typeof value === 'string') {
    if (value === '') return 'an empty string'
    return shown === true ? JSON.stringify(value) : 'a string that does not fit'
  }
  return typeof value === 'object' ? 'an object that does not fit' : `a ${typeof value}`
}
