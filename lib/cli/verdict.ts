import { isAuthenticationError } from '../errors.js'
import { isUsableName } from '../users.js'
import { quoted } from './text.js'
import { timeInWords } from './times.js'
import type { OpenedService } from './environment.js'
import type { Decoded } from './decode.js'
import type { TokenRules } from '../../types/jwt.js'

/** What the server says of a token, and why. */
export interface Verdict {
  /** Null: not checked. */
  readonly valid: boolean | null
  readonly reason: string
  /** The code that the server has for it. */
  readonly code?: string
}

/** What a token is held against. */
export interface Judge extends OpenedService {
  readonly rules: TokenRules
  readonly claimName: string
}

/** Lets the service that the server has verify a token, and says in words what it found. */
export function judge(token: string, decoded: Decoded, judge: Judge): Verdict {
  const { service, method, source, claimName } = judge
  try {
    const claims = service.verify(token, method)
    if (!isUsableName(claims[claimName])) {
      const reason = `the claim ${quoted(claimName)}, which names the user, is ${shown(claims[claimName])}, expected a text or a number.`
      return { valid: false, code: 'ERR_AUTH_JWT_INVALID', reason }
    }
    return { valid: true, reason: `signed with ${method}, with the key of ${source}.` }
  } catch (error) {
    if (!isAuthenticationError(error)) throw error
    return {
      valid: false,
      code: error.code,
      reason: reasonOf(String(error.cause), decoded, error.code, judge),
    }
  }
}

function reasonOf(cause: string, decoded: Decoded, code: string, judge: Judge): string {
  const { claims } = decoded
  const now = Date.now() / 1000
  const algorithm = decoded.header?.alg
  if (code === 'ERR_AUTH_JWT_EXPIRED') return `it expired: ${timeInWords(claims?.exp, now)}.`
  if (code === 'ERR_AUTH_JWT_NOT_VALID_YET') {
    return `its time has not come: ${timeInWords(claims?.nbf, now)}.`
  }
  if (decoded.problem !== null) return decoded.problem
  if (algorithm !== judge.method) {
    return `its algorithm is ${shown(algorithm)}, the server accepts ${judge.method} only.`
  }
  return reasons[cause]?.(judge, claims ?? {}) ?? `it is malformed (${cause}).`
}

type Reason = (judge: Judge, claims: Readonly<Record<string, unknown>>) => string

/** By the cause that the service gives. */
const reasons: Readonly<Record<string, Reason>> = Object.assign(Object.create(null), {
  FAST_JWT_INVALID_SIGNATURE: ({ source }) =>
    `its signature does not fit: it was made with another key than that of ${source}, or changed since.`,
  FAST_JWT_MISSING_SIGNATURE: () => 'it has no signature.',
  'signature not canonical': () => 'its signature is damaged: there is something after its end.',
  'payload not UTF-8': () => 'its claims are no UTF-8.',
  crit: () => 'its header demands extensions ("crit"), and there are none.',
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

function shown(value: unknown): string {
  return value === undefined ? 'missing' : quoted(value)
}
