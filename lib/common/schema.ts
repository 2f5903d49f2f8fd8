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
  const parts = schema as Parts
  const { anyOf, properties = {}, required = [], additionalProperties = parts.items, whole } = parts
  if (typeof value !== 'object' || value === null || whole === true) return here
  if (Array.isArray(value) && anyOf === undefined && parts.items === undefined) return here
  if (anyOf !== undefined) {
    // Of a member of the object, so that the object itself is what the branch expects.
    const found = anyOf.map((branch) => firstProblem(branch, value, path))
    return found.find((problem) => problem !== null && problem.path.length > path.length) ?? here
  }
  const given = value as Readonly<Record<string, unknown>>
  const missing = required.filter((name) => given[name] === undefined)
  const others = Object.keys(given).filter((name) => !Object.hasOwn(properties, name))
  const present = Object.keys(properties).filter((name) => given[name] !== undefined)
  for (const name of [...missing, ...others, ...present]) {
    const inner = { path: [...path, name], schema, value: given[name], isUnknown: true }
    const member = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    if (member === false) return inner
    const problem = typeof member === 'object' && firstProblem(member, inner.value, inner.path)
    if (problem) return problem
  }
  return here
}
