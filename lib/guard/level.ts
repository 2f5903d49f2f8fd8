import type { FastifyRequest } from 'fastify'
import { ignoreRejection, ownProperty } from '../common/objects.js'
import { rejection } from '../errors/errors.js'
import { claimsOf, stateOf } from '../request/state.js'
import type { LevelRules } from '../request/level-rules.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** The members `mfa` and `fresh` of a mark. `fresh` is the greatest age of the authentication in seconds; null: any age. */
export interface LevelNeeds {
  readonly mfa?: boolean
  readonly fresh?: number | null
}

/** Seconds by which clocks may differ. Without a limit, a time in milliseconds would be fresh for ever. */
export const farthestAhead = 300

const ofOurTokens: LevelRules = {}

/** The parameters of the challenge of each error of {@link insufficient} (RFC 9470 §3). */
const challenges = new WeakMap<object, Readonly<Record<string, string>>>()

export const stepUpOf = (error: object) => challenges.get(error)

/**
 * Lets a request pass whose user was authenticated as needed, by the credentials of this request.
 * @throws ERR_AUTH_INSUFFICIENT_AUTHENTICATION, and what a function of the app throws
 */
export function requireLevel(request: FastifyRequest, { mfa = false, fresh = null }: LevelNeeds) {
  const rules = stateOf(request)?.level ?? ofOurTokens
  const claims = Object(claimsOf(request)) as JwtClaims
  const cause =
    mfa && !isMfa(claims, rules)
      ? 'not authenticated with several factors'
      : fresh !== null && whyStale(claims, rules, fresh)
  if (cause !== false) throw insufficient({ mfa, fresh }, cause, rules)
}

/** The rejection of a user who has to prove more, with its challenge. @param cause - for the log */
export function insufficient(
  { mfa = false, fresh = null }: LevelNeeds,
  cause: string,
  rules = ofOurTokens,
): Error {
  const error = rejection('auth.insufficient-authentication', { cause })
  challenges.set(error, {
    ...(mfa && { acr_values: rules.acrValues ?? 'mfa' }),
    ...(fresh !== null && { max_age: String(fresh) }),
  })
  return error
}

/** Whether claims say so in the word of RFC 8176, or as an issuer says it. */
export function isMfa(claims: object, { isMfa: ask = hasMfa }: LevelRules): boolean {
  const answer: unknown = ask(claims as JwtClaims)
  ignoreRejection(answer)
  return answer === true
}

function hasMfa(claims: JwtClaims): boolean {
  const amr = ownProperty(claims, 'amr')
  return isList(amr) && amr.includes('mfa')
}

export const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

/** @returns the reason; false for an authentication that is fresh */
function whyStale(claims: JwtClaims, rules: LevelRules, fresh: number): string | false {
  const time = rules.authTime?.() ?? ownProperty(claims, 'auth_time')
  if (typeof time !== 'number' || !Number.isFinite(time)) return 'auth_time is no number'
  const age = Date.now() / 1000 - time
  if (age < -farthestAhead) return 'auth_time is in the future'
  return age > fresh + (rules.clockTolerance ?? 0) && 'authenticated too long ago'
}
