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
  judge(user: object, iat: unknown): void
}

/** No seconds are that many before the year 5138: they are milliseconds, and would refuse every token. */
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
  let hasWarned = false
  function of(user: object): number {
    const value = propertyOf(user, field)
    if (value === undefined && !hasWarned && !(field in user)) {
      hasWarned = true
      log.warn(
        `fastify-authn: a user has no field ${JSON.stringify(field)} ("jwt.validAfterField"), so that none of its tokens can be taken back. Have findByUsername return it, with null where all tokens are valid.`,
      )
    }
    return secondsOf(value, field)
  }
  return {
    of,
    judge(user, iat) {
      const start = of(user)
      if (start === 0 || (typeof iat === 'number' && iat >= start)) return
      throw refusal('auth.jwt-invalid', { cause: 'claim iat: before the tokens of the user' })
    },
  }
}

function secondsOf(value: unknown, field: string): number {
  if (value === null || value === undefined) return 0
  const seconds = types.isDate(value) ? value.getTime() / 1000 : value
  if (typeof seconds === 'number' && seconds >= 0 && seconds < tooLarge) return seconds
  throw new AuthenticationFault(
    'ERR_AUTH_USER_SERVICE',
    new TypeError(
      `the field ${JSON.stringify(field)} of a user ("jwt.validAfterField") is no Date and no number of seconds since 1970.`,
    ),
  )
}
