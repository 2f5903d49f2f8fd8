import * as Type from '@sinclair/typebox/type'
import { signingMethods } from '../common/algorithms.js'

/**
 * How errors speak of an option. `description`: what is expected. `shown`: a text that was found may be quoted; without
 * it no text is, since it could be a secret. `secret`: numbers are not quoted either. `whole`: a wrong value is
 * reported for the union, and not for one of its members.
 */
export interface Expectation {
  description: string
  shown?: boolean
  secret?: boolean
  whole?: boolean
}

export const strict = { additionalProperties: false }
export const text = (options: Expectation & { pattern?: string }) =>
  Type.String({ minLength: 1, ...options })
export const anyFunction = (description: string) => Type.Function([], Type.Any(), { description })
export const flag = Type.Boolean({ description: 'true or false' })
export const optional = Type.Optional
export const fieldName = text({ description: 'a non-empty field name' })
export const httpToken = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

export const whole = (minimum: number, maximum: number) =>
  optional(
    Type.Integer({ minimum, maximum, description: `a whole number from ${minimum} to ${maximum}` }),
  )
export const signingMethod = Type.Union(
  signingMethods.map((method) => Type.Literal(method)),
  { description: `one of ${signingMethods.join(', ')}`, shown: true },
)

export const userService = Type.Object(
  { findByUsername: anyFunction('a function (username, request)') },
  { description: 'an object with findByUsername(username, request)' },
)

/** One audience or several (RFC 7519 §4.1.3). */
export const audience = Type.Union(
  [Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })],
  { description: 'a non-empty string, or an array of them' },
)

export const tokenRules = {
  clockTolerance: optional(
    Type.Number({ minimum: 0, maximum: 300, description: 'seconds, 0 to 300' }),
  ),
  requireExp: optional(flag),
  issuer: optional(text({ description: 'a non-empty string' })),
  audience: optional(audience),
}

/** A media type (RFC 7515 §4.1.9), also one with parameters. Nothing that looks like no text at all in a header. */
export const typ = text({
  description: "a media type, such as 'reset+jwt'",
  pattern: '^(?!application/$)[!-~](?:[ -~]*[!-~])?$',
  shown: true,
})

/** The rules of one verifier. */
export const verifyRules = {
  ...tokenRules,
  typ: optional(
    Type.Union([typ, Type.Array(typ, { minItems: 1, description: 'one media type or more' })], {
      description: "a media type, such as 'reset+jwt', or an array of them",
      shown: true,
    }),
  ),
}

/** Seconds. The maximum also catches values that were meant as milliseconds. */
export const seconds = (maximum: number) =>
  optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum,
      description: `seconds, above 0, ${maximum} at most`,
    }),
  )
