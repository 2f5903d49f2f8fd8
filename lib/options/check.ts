import { Errors, ValueErrorType, type ValueError } from '@sinclair/typebox/errors'
import * as Type from '@sinclair/typebox/type'
import { didYouMean } from '../common/closest.js'
import { ifUnset, wrongOption } from '../errors/errors.js'

/** @param where - prefix of the option's name in the error, such as `jwt` @throws ERR_AUTH_OPTION */
export function check<T>(schema: Type.TSchema, value: unknown, where = ''): T {
  const problem = schemaProblemOf(schema, value, where)
  return problem === null ? (value as T) : wrongOption(problem)
}

/** The error of {@link check}; null where there is none. @param kind - what the name names */
export function schemaProblemOf(
  schema: Type.TSchema,
  value: unknown,
  where: string,
  kind = 'option',
): string | null {
  const error = firstError(Errors(schema, value))
  if (error === undefined) return null
  const steps = stepsTo(error)
  const name = [where, ...steps].filter((step) => step !== '').join('.')
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const known = Object.keys((error.schema as Type.TObject).properties)
    const last = String(steps.at(-1))
    const meant = didYouMean(last, known, name.slice(0, -last.length))
    return `unknown ${kind} "${name}".${meant} Known here: ${known.join(', ')}.`
  }
  // Only the strings in arrays have no description.
  const { description = 'a non-empty string', ...quoting } = error.schema as Partial<Expectation>
  const subject = name === '' ? '' : `${kind} "${name}": `
  const holder = steps.slice(0, -1).reduce((each, step) => (each as never)[step], value)
  const isThere = Object.hasOwn(Object(holder), String(steps.at(-1)))
  const isUnset = error.value === undefined && isThere && !description.startsWith('a function')
  const found = isUnset ? `undefined${ifUnset}` : describe(error.value, quoting)
  return `${subject}found ${found}, expected ${description}.`
}

/** The first error, or where that is one of a union, the first one of a member of its value, if there is one. */
export function firstError(errors: Iterable<ValueError>): ValueError | undefined {
  for (const error of errors) {
    // TypeBox takes inherited members for missing; those that are missing get an error of their schema too.
    if (error.type === ValueErrorType.ObjectRequiredProperty) continue
    const { whole } = error.schema as Partial<Expectation>
    const inner = whole === true ? [] : error.errors.map(firstError)
    return inner.find((each) => each && each.path.length > error.path.length) ?? error
  }
  return undefined
}

export function stepsTo({ path }: ValueError): string[] {
  const steps = path.split('/').slice(1)
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Describes a value without quoting what may be a secret. */
function describe(value: unknown, { quoted, secret }: Partial<Expectation>): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (Number.isNaN(value)) return `NaN${ifUnset}`
  if (typeof value === 'boolean' || (typeof value === 'number' && secret !== true))
    return String(value)
  if (typeof value === 'string') {
    if (value === '') return 'an empty string'
    return quoted === true ? JSON.stringify(value) : 'an invalid string'
  }
  return typeof value === 'object' ? 'an invalid object' : `a ${typeof value}`
}

/**
 * How errors describe an option. `description`: what is expected. `quoted`: a wrong string may be quoted; by default it
 * is not, since it could be a secret. `secret`: wrong numbers are not quoted either. `whole`: a wrong value is reported
 * for the union, and not for one of its members.
 */
interface Expectation {
  description: string
  quoted?: boolean
  secret?: boolean
  whole?: boolean
}

/** @param needs - values of options, by their names @param remedies - in place of "Set it." @throws ERR_AUTH_OPTION */
export function requireOptions(
  option: string,
  needs: Readonly<Record<string, unknown>>,
  remedies: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(needs)) {
    if (value !== undefined && value !== false) continue
    wrongOption(
      `option "${option}" is set, but it needs the option "${name}". ${remedies[name] ?? 'Set it.'}`,
    )
  }
}

export const nonEmpty = Type.String({ minLength: 1 })

export const text = (description: string, options?: Partial<Expectation> & { pattern?: string }) =>
  Type.String({ minLength: 1, description, ...options })

export const anyFunction = (description: string) => Type.Function([], Type.Any(), { description })

/** An object with these members, all of them optional, and no others. */
export function options(
  members: Type.TProperties,
  description = `an object with ${Object.keys(members).join(', ')}`,
): Type.TObject {
  return strict(
    Object.fromEntries(
      Object.entries(members).map(([name, member]) => [name, Type.Optional(member)]),
    ),
    description,
  )
}

/** No other members. @param description - default: the required ones */
export function strict(
  members: Type.TProperties,
  description = `an object with ${Type.Object(members).required?.join(', ')}`,
): Type.TObject {
  return Type.Object(members, { additionalProperties: false, description })
}

/** An object with members of any names. `Type.Record` would load TypeBox's template literals too. */
export function byName(member: Type.TSchema, description?: string): Type.TObject {
  return Type.Object({}, { additionalProperties: member, ...(description && { description }) })
}

export function oneOf(
  values: readonly (string | boolean)[],
  description = `one of ${values.join(', ')}`,
): Type.TSchema {
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    { description, quoted: true },
  )
}

export const oneOrMore = (member: Type.TSchema, description: string, maxItems = Infinity) =>
  Type.Union([member, Type.Array(member, { minItems: 1, maxItems, description })], {
    description,
    quoted: true,
  })

export function or(value: string | boolean, object: Type.TSchema): Type.TSchema {
  const isString = typeof value === 'string'
  const description = `${isString ? `'${value}'` : value}, or ${object.description}`
  return Type.Union([Type.Literal(value), object], { description, quoted: isString })
}

export const optional = Type.Optional
export const flag = Type.Boolean({ description: 'true or false' })
export const routeOptions = optional(
  Type.Object({}, { description: 'an object of options of a route' }),
)
export const fieldName = text('a non-empty field name')

export const whole = (minimum: number, maximum: number, note = '') => {
  const description = `a whole number from ${minimum} to ${maximum}${note}`
  return Type.Integer({ minimum, maximum, description })
}

/** Seconds. The maximum also catches values that were meant as milliseconds. */
export const seconds = (maximum: number) =>
  Type.Number({ exclusiveMinimum: 0, maximum, description: `seconds, above 0, ${maximum} at most` })

/** Ten years of 365 days, in seconds. */
export const longestExpiry = 315_360_000
export const expirySeconds = `whole seconds, 1 to ${longestExpiry} (ten years); divide milliseconds by 1000`

export const userService = Type.Object(
  { findByUsername: anyFunction('a function (username, request)') },
  { description: 'an object with findByUsername(username, request)' },
)
