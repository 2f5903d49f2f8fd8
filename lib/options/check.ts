import { Errors, ValueErrorType, type ValueError } from '@sinclair/typebox/errors'
import type { TObject, TSchema } from '@sinclair/typebox/type'
import { Check } from '@sinclair/typebox/value'
import { wrongOption } from '../errors.js'
import type { Expectation } from './parts.js'

/**
 * Checks options against a schema.
 *
 * @param where - prefix of the option's name in the error, such as `jwt`
 * @throws ERR_AUTH_OPTION that says which option is wrong, what was found, and what was expected
 */
export function check<T>(schema: TSchema, value: unknown, where = ''): T {
  const problem = problemOf(schema, value, where)
  if (problem === null) return value as T
  return wrongOption(problem)
}

/** What is wrong with options: which one, what was found, and what was expected; null where nothing is. */
export function problemOf(schema: TSchema, value: unknown, where: string): string | null {
  return Check(schema, value) ? null : explain(schema, deepest(schema, value), where)
}

/**
 * The first error. For an option that is `false` or an object, the first error inside of the object. For a union that
 * is marked `whole`, the error of the union, because we cannot know which of its objects was meant.
 */
function deepest(schema: TSchema, value: unknown): ValueError {
  let error = Errors(schema, value).First() as ValueError
  const isWhole = ({ whole }: Partial<Expectation>): boolean => whole === true
  while (
    error.type === ValueErrorType.Union &&
    error.value instanceof Object &&
    !isWhole(error.schema)
  ) {
    const inner = error.errors
      .map((branch) => branch.First())
      .find((e) => e && e.path !== error.path)
    if (inner === undefined) break
    error = inner
  }
  return error
}

/** Options of earlier versions, and what replaces them. */
const gone: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  asyncContext:
    'It is gone: leave it out. userFromContext() is in fastify-authn/context, and costs nothing where that is not imported. ',
})

function explain(schema: TSchema, error: ValueError, where: string): string {
  const steps = error.path.split('/').slice(1)
  const name = [where, ...steps].filter((step) => step !== '').join('.') || 'options'
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const known = knownProperties(schema, steps)
    return `unknown option "${name}". ${gone[name] ?? ''}Known here: ${known.join(', ')}.`
  }
  const { description, ...quoting } = error.schema as Partial<Expectation>
  const found = describe(error.value, quoting)
  return `option "${name}": found ${found}, expected ${description ?? error.message}.`
}

/** The names of the options that are allowed in the place of an unknown one. */
function knownProperties(schema: TSchema, steps: readonly string[]): string[] {
  const branches = [schema, ...((schema.anyOf as TSchema[] | undefined) ?? [])]
  const object = branches.find(({ properties }) => properties !== undefined) as TObject
  const inner = object.properties[String(steps[0])]
  return inner && steps.length > 1
    ? knownProperties(inner, steps.slice(1))
    : Object.keys(object.properties)
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
