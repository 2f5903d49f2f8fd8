import { types } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { propertyOf } from '../common/objects.js'
import type { JwtServiceLike } from '../../types/jwt.js'
import { AuthenticationFault, refusal } from '../errors.js'

/** From when on the tokens of a user are valid: the option `jwt.validAfterField`. */
export interface ValidAfter {
  /** Seconds since 1970 with a fraction; 0 where all tokens are. @throws AuthenticationFault */
  of(user: object): number
  /** @throws AuthenticationError for a token that was issued before; AuthenticationFault */
  check(user: object, iat: unknown): void
}

/** No seconds are that many before the year 5138: they are milliseconds, and would reject every token. */
const tooLarge = 1e11

/** @returns null for a service without that option */
export function validAfterOf(
  service: Pick<JwtServiceLike, 'validAfterField'> | null,
  log: FastifyBaseLogger,
): ValidAfter | null {
  const field = service?.validAfterField
  return field === undefined ? null : createValidAfter(field, log)
}

function createValidAfter(field: string, log: FastifyBaseLogger): ValidAfter {
  const name = `the field ${JSON.stringify(field)} ("jwt.validAfterField")`
  let hasWarned = false
  function of(user: object): number {
    const value = propertyOf(user, field)
    if (value === undefined && !hasWarned && !(field in user)) {
      hasWarned = true
      log.warn(
        `fastify-authn: a user lacks ${name}, so that none of its tokens can be revoked. Have findByUsername return it, with null where all tokens are valid.`,
      )
    }
    if (value === null || value === undefined) return 0
    const seconds = types.isDate(value) ? value.getTime() / 1000 : value
    if (typeof seconds === 'number' && seconds >= 0 && seconds < tooLarge) return seconds
    const problem = `${name} of a user is no Date and no number of seconds since 1970.`
    throw new AuthenticationFault('ERR_AUTH_USER_SERVICE', new TypeError(problem))
  }
  return {
    of,
    check(user, iat) {
      const start = of(user)
      if (start === 0 || (typeof iat === 'number' && iat >= start)) return
      throw refusal('auth.jwt-invalid', { cause: 'claim iat: before the tokens of the user' })
    },
  }
}
