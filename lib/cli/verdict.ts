import { isAuthenticationError } from '../errors.js'
import { algorithmOf, signingMethods } from '../common/algorithms.js'
import { isUsableName } from '../users/find.js'
import { quoted } from './text.js'
import { timeInWords } from './times.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { OpenedService } from './environment.js'
import type { VerifyRules } from '../../types/jwt.js'

/** Whether the server would accept a token, and why. */
export interface Verdict {
  /** Null when it was not checked. */
  readonly valid: boolean | null
  readonly reason: string
  /** The code of the server's error. */
  readonly code?: string
}

/** What a token is checked against. */
export interface Judge extends OpenedService {
  readonly rules: VerifyRules
  readonly claimName: string
  /** Whether the signing method is the default, because none was given. */
  readonly assumed: boolean
  readonly header: Claims
}

/** The rule of {@link isUsableName} in words. */
export const userNameRule =
  'the name of a user: text that is not empty nor too long, without control characters, or a number'

type Claims = Readonly<Record<string, unknown>>

/**
 * Verifies a token with the same service that the server has, and explains the result.
 *
 * @param claims - the claims of the token, not verified yet
 */
export function judge(token: string, claims: Claims, judge: Judge): Verdict {
  const { service, method, source, claimName, rules } = judge
  try {
    const name = service.verify(token, method, { typ: rules.typ })[claimName]
    if (isUsableName(name)) {
      return { valid: true, reason: `signed with ${method}, with the key of ${source}.` }
    }
    const reason = `the claim ${quoted(claimName)}, which names the user, is ${shown(name)}, expected ${userNameRule}.`
    return { valid: false, code: 'ERR_AUTH_JWT_INVALID', reason }
  } catch (error) {
    if (!isAuthenticationError(error)) throw error
    return { valid: false, code: error.code, reason: reasonOf(error, claims, judge) }
  }
}

function reasonOf({ code, cause }: AuthenticationErrorLike, claims: Claims, judge: Judge): string {
  const now = Date.now() / 1000
  if (code === 'ERR_AUTH_JWT_EXPIRED') return `it expired: ${moment(claims.exp, now)}.`
  if (code === 'ERR_AUTH_JWT_NOT_VALID_YET') {
    return `its time has not come: ${moment(claims.nbf, now)}.`
  }
  const { alg } = judge.header
  if (alg !== judge.method) {
    return `its algorithm is ${shown(alg)}, the server accepts ${judge.method} only.${hintOf(judge)}`
  }
  return reasons[String(cause)]?.(judge, claims) ?? `it is malformed (${String(cause)}).`
}

const noExtensions = 'its header demands extensions ("crit"), and there are none.'

type Reason = (judge: Judge, claims: Claims) => string

/** Explanations, by the `cause` of the service's error. */
const reasons: Readonly<Record<string, Reason>> = Object.assign(Object.create(null), {
  FAST_JWT_INVALID_SIGNATURE: ({ source }) =>
    `its signature does not fit: it was made with another key than that of ${source}, or changed since.`,
  FAST_JWT_MISSING_SIGNATURE: () => 'it has no signature.',
  'signature not canonical': () => 'its signature is damaged: there is something after its end.',
  'payload not UTF-8': () => 'its claims are no UTF-8.',
  crit: () => noExtensions,
  FAST_JWT_INVALID_CRIT_HEADER: () => noExtensions,
  typ: ({ header, rules: { typ } }) =>
    `its purpose ("typ") is ${shown(header.typ)}, expected ${typ === undefined ? '"JWT", "at+jwt" or none' : `one of ${quoted(typ)}`}.`,
  'claim exp': (_, { exp }) =>
    exp === undefined
      ? 'the claim "exp" is missing: a token has to expire.'
      : `the claim "exp" is ${shown(exp)}, expected seconds since 1970.`,
  'claim nbf': (_, { nbf }) => `the claim "nbf" is ${shown(nbf)}, expected seconds since 1970.`,
  'claim iss': ({ rules }, { iss }) =>
    `the claim "iss" is ${shown(iss)}, expected ${quoted(rules.issuer)}.`,
  'claim aud': ({ rules }, { aud }) =>
    `the claim "aud" is ${shown(aud)}, expected one of ${quoted(rules.audience)}.`,
} satisfies Record<string, Reason>)

/** A time as a date and in words; any other value as it is. */
function moment(value: unknown, now: number): string {
  return timeInWords(value, now) ?? shown(value)
}

/** A hint when no method was given: the token may use another method of the same key. */
function hintOf({ assumed, method, header }: Judge): string {
  const other = signingMethods.find((each) => each === header.alg)
  const isLike = other && algorithmOf(other).family === algorithmOf(method).family
  return assumed && isLike ? ` If yours has another signingMethod: --alg ${other}` : ''
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : quoted(value)
}
