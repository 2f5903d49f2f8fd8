import { en } from '../../locales/en.js'
import type { RejectionCode, RejectionCodes } from '../../types/errors.js'
import type { MessageKey } from '../../types/messages.js'

/** The response to a request that is rejected for one reason. */
export interface RejectionRow<Status = RejectionCodes[RejectionCode]> {
  readonly status: Status
  /** Null where the message of the error is sent as it is. */
  readonly key: MessageKey | null
  /** The `error_description` of a Bearer challenge (RFC 6750 section 3): ASCII, in English. */
  readonly description: string
}

/** The codes of a feature, and its messages in English by their keys; other languages are in `locales/`. */
export interface RejectionTable {
  readonly codes: { readonly [Code in RejectionCode]?: RejectionRow<RejectionCodes[Code]> }
  readonly messages?: { readonly [Key in MessageKey]?: string }
  /** See {@link unrecognized}. */
  readonly unrecognized?: readonly RejectionCode[]
}

export function row<Status extends number>(
  status: Status,
  key: RejectionRow['key'],
  description: string,
): RejectionRow<Status> {
  return { status, key, description }
}

export const busy = row(503, 'auth.overloaded', 'The server is busy')

/** The response to each code. Without a prototype, so that a code `constructor` is not found. */
const rejections: { [Code in RejectionCode]?: RejectionRow } = Object.assign(Object.create(null), {
  ERR_AUTH_NO_CREDENTIALS: row(401, 'auth.no-credentials-provided', 'The token is missing'),
  ERR_AUTH_MALFORMED_CREDENTIALS: row(
    401,
    'auth.no-credentials-provided',
    'The token is malformed',
  ),
  ERR_AUTH_INVALID_CREDENTIALS: row(401, 'auth.invalid-credentials', 'The token is not accepted'),
  ERR_AUTH_CREDENTIALS_NOT_ACCEPTED: row(401, 'auth.credentials-not-accepted', 'Not accepted here'),
  ERR_AUTH_JWT_INVALID: row(401, 'auth.jwt-invalid', 'The token is invalid'),
  ERR_AUTH_JWT_NOT_VALID_YET: row(401, 'auth.jwt-not-valid-yet', 'The token is not valid yet'),
  ERR_AUTH_JWT_EXPIRED: row(401, 'auth.jwt-expired', 'The token expired'),
  ERR_AUTH_REFUSED: row(401, null, 'The token is not accepted'),
  ERR_AUTH_INSUFFICIENT_SCOPE: row(
    403,
    'auth.insufficient-scope',
    'The token lacks the required scope',
  ),
  ERR_AUTH_FORBIDDEN: row(403, 'auth.forbidden', 'The user may not do this'),
  ERR_AUTH_TOO_MANY_ATTEMPTS: row(429, 'auth.too-many-attempts', 'Too many failed attempts'),
  ERR_AUTH_OVERLOADED: busy,
  ERR_AUTH_USER_SERVICE_TIMEOUT: busy,
  ERR_AUTH_STORE_UNAVAILABLE: busy,
} satisfies RejectionTable['codes'])

/** Codes that have one more message, by its key. */
const otherKeys: ReadonlyMap<unknown, RejectionCode> = new Map([
  ['auth.logged-out', 'ERR_AUTH_JWT_INVALID'],
])

/** The messages in English. */
const english: { [Key in MessageKey]?: string } = { ...en }

/** Codes of credentials that may be meant for an authenticator of another route. */
export const unrecognized = new Set<RejectionCode>([
  'ERR_AUTH_NO_CREDENTIALS',
  'ERR_AUTH_JWT_INVALID',
])

/** Adds the codes and messages of a feature. */
export function addRejections({ codes, messages, unrecognized: more = [] }: RejectionTable): void {
  Object.assign(rejections, codes)
  Object.assign(english, messages)
  for (const code of more) unrecognized.add(code)
}

/** @returns undefined for a value that is no {@link RejectionCode} */
export function rejectionOf(code: unknown): RejectionRow | undefined {
  return typeof code === 'string' ? rejections[code as RejectionCode] : undefined
}

/** @returns undefined for a key that neither the core nor a feature has */
export function englishOf(key: string): string | undefined {
  return Object.hasOwn(english, key) ? english[key as MessageKey] : undefined
}

export function messageKeys(): string[] {
  return Object.keys(english)
}

/** @returns the first code whose message has this key, or that has it as one more */
export function codeOfKey(text: string): RejectionCode | undefined {
  const codes = Object.keys(rejections) as RejectionCode[]
  return codes.find((code) => rejections[code]?.key === text) ?? otherKeys.get(text)
}

/** The key of an error's message: its own, if the code has it, or else that of the code. */
export function keyOf(code: RejectionCode, own: unknown): MessageKey | null {
  return otherKeys.get(own) === code ? (own as MessageKey) : (rejections[code] as RejectionRow).key
}
