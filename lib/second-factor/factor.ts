import { randomBytes } from 'node:crypto'
import { isSixDigits, plainCode } from '../common/code.js'
import { digestOf } from '../common/digest.js'
import { rejection, type AuthenticationError } from '../errors/errors.js'
import { noGuess } from '../login/proof.js'
import { base32Of, stepOf } from './totp.js'

/** The second factor of a user, as it is stored, encrypted. */
export interface Factor {
  /** Random. Logins, setups and devices name it, so that a new one makes them invalid. */
  readonly id: string
  /** Random, and new whenever the devices are forgotten; undefined before. Only devices name it. */
  readonly devices?: string
  /** 160 bits in base64url. */
  readonly secret: string
  /** The last step whose code was used. */
  readonly step: number
  /** Wrong codes in a row. */
  readonly wrong: number
  /** Until when codes are not looked at, in milliseconds since 1970, and the digest of the password while that holds. */
  readonly wait: readonly [until: number, password: string] | null
  /** The digests of the recovery codes that are left. */
  readonly codes: readonly string[]
}

/** What a code does. Its result is only told when `after` was stored, so that each guess counts. */
export interface Tried {
  /** Undefined if nothing changes. */
  readonly after?: Factor
  /** Undefined if the code is right. */
  readonly error?: AuthenticationError
  /** Recovery codes that are left after one was used. */
  readonly left?: number
}

/** Wrong codes in a row without a wait, and those after which no code is looked at (NIST SP 800-63B-4 §3.2.2). */
const [free, most] = [5, 100]

/** Milliseconds of the first wait, which then doubles, and of the longest one. */
const [firstWait, longestWait] = [60_000, 3_600_000]

export const randomId = (): string => randomBytes(12).toString('base64url')

/** @returns new codes of 80 bits in groups of four letters, and their digests */
export function newRecoveryCodes() {
  const bare = Array.from({ length: 10 }, () => base32Of(randomBytes(10)).toLowerCase())
  return { shown: bare.map((code) => code.replace(/.{4}(?=.)/g, '$&-')), codes: bare.map(digestOf) }
}

export const codeInvalid = (cause: string): AuthenticationError =>
  rejection('auth.code-invalid', { cause })

/** @param password - the digest of the password hash */
export function tryCode(factor: Factor, typed: string, password: string): Tried {
  const code = plainCode(typed)
  if (!isSixDigits(code)) return tryRecovery(factor, code)
  const wait = waitOf(factor, password)
  if (wait > 0)
    return { error: rejection('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) }) }
  const step = stepOf(factor.secret, code, factor.step)
  // A double click is no guess.
  if (step === 'used') return { error: noGuess(codeInvalid('code was used')) }
  if (step !== null) return { after: { ...factor, step, wrong: 0, wait: null } }
  const wrong = factor.wrong + 1
  const until = Date.now() + Math.min(longestWait, firstWait * 2 ** (wrong - free))
  const next = wrong < free ? null : ([until, password] as const)
  return { after: { ...factor, wrong, wait: next }, error: codeInvalid('code is wrong') }
}

function tryRecovery(factor: Factor, code: string): Tried {
  // Base32 has no 0 and no 1, which people type for letters that look alike.
  const digest = digestOf(code.replaceAll('0', 'o').replaceAll('1', 'l'))
  const codes = factor.codes.filter((each) => each !== digest)
  const left = codes.length
  if (left === factor.codes.length) return { error: codeInvalid('no code of this user') }
  return { after: { ...factor, wrong: 0, wait: null, codes }, left }
}

/** Milliseconds until a code is looked at. A new password ends the wait, but not the count. */
function waitOf({ wrong, wait }: Factor, password: string): number {
  if (wrong >= most) return longestWait
  const [until, ofPassword] = wait ?? [0, '']
  return ofPassword === password ? until - Date.now() : 0
}
