import type { TSchema } from '@sinclair/typebox/type'
import { Check } from '@sinclair/typebox/value'

/** What does not fit a schema. */
export interface Problem {
  /** The member names from the outermost object down to the value. */
  readonly path: readonly string[]
  /** What it has to fit; for an unknown member, the schema of its object. */
  readonly schema: TSchema
  readonly value: unknown
  /** Whether it is a member that its object must not have. */
  readonly isUnknown: boolean
}

interface Parts {
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | TSchema
  /** Whether a problem is one of the whole union: see `Expectation` in options/check.ts. */
  readonly whole?: boolean
}

/**
 * The first thing in a value that does not fit a schema; null where all of it does. `Errors` of TypeBox finds it too,
 * but takes about 2 % of what the package adds to the startup of an app.
 */
export function firstProblem(
  schema: TSchema,
  value: unknown,
  path: readonly string[] = [],
): Problem | null {
  if (Check(schema, value)) return null
  const here = { path, schema, value, isUnknown: false }
  const { anyOf, items, whole } = schema as Parts
  if (typeof value !== 'object' || value === null || whole === true) return here
  if (anyOf !== undefined) {
    // Of a member of the object, so that the object itself is what the branch expects.
    const found = anyOf.map((branch) => firstProblem(branch, value, path))
    return found.find((problem) => problem !== null && problem.path.length > path.length) ?? here
  }
  if (!Array.isArray(value)) return memberProblem(schema, value, path) ?? here
  const list: readonly unknown[] = value
  const found = list.map((item, at) => items && firstProblem(items, item, [...path, String(at)]))
  return found.find((problem) => problem) ?? here
}

function memberProblem(
  schema: TSchema,
  value: Readonly<Record<string, unknown>>,
  path: readonly string[],
): Problem | null {
  const { properties = {}, required = [], additionalProperties } = schema as Parts
  const names = Object.keys(properties)
  const missing = required.filter((name) => value[name] === undefined)
  const others = Object.getOwnPropertyNames(value).filter((name) => !names.includes(name))
  const given = names.filter((name) => value[name] !== undefined)
  for (const name of [...missing, ...others, ...given]) {
    const inner = [...path, name]
    const member = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    if (member === false) return { path: inner, schema, value: value[name], isUnknown: true }
    const problem = typeof member === 'object' ? firstProblem(member, value[name], inner) : null
    if (problem !== null) return problem
  }
  return null
}
