import { types } from 'node:util'
import { declaredProperty } from '../common/objects.js'
import { AuthenticationFault, rejection } from '../errors/errors.js'
import type { Feature, FeatureContext } from '../feature.js'

/** The year 5138 in seconds: more must be milliseconds, which would reject every token. */
const tooLarge = 1e11

/** The option `jwt.validAfterField`: tokens that were issued before the time in a field of their user are rejected. */
export function create({ jwtService, log }: FeatureContext): Feature {
  const field = String(jwtService.validAfterField)
  const name = `the field ${JSON.stringify(field)} ("jwt.validAfterField")`
  let hasWarned = false
  /** Seconds since 1970 with a fraction; 0 where all tokens are valid. */
  function startOf(user: object): number {
    const value = declaredProperty(user, field)
    if (value === undefined && !hasWarned && !(field in user)) {
      hasWarned = true
      log.warn(
        `fastify-authn: a user lacks ${name}, so its tokens cannot be revoked. Return it from findByUsername, with null if all tokens are valid.`,
      )
    }
    if (value === null || value === undefined) return 0
    const seconds = types.isDate(value) ? value.getTime() / 1000 : value
    if (typeof seconds === 'number' && seconds >= 0 && seconds < tooLarge) return seconds
    const problem = `${name} of a user is neither a Date nor a number of seconds since 1970.`
    throw new AuthenticationFault('ERR_AUTH_USER_SERVICE', new TypeError(problem))
  }
  return {
    name: 'validAfter',
    tokenChecks: [
      {
        issuedAfter: startOf,
        user(user, { iat }) {
          const start = startOf(user)
          if (start === 0 || (typeof iat === 'number' && iat >= start)) return
          throw rejection('auth.logged-out', { cause: 'claim iat: before the tokens of the user' })
        },
      },
    ],
  }
}
