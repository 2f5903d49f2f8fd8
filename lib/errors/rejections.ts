import { en } from '../../locales/en.js'
import type { RejectionCode, RejectionCodes } from '../../types/errors.js'
import type { MessageKey } from '../../types/messages.js'

/** The response to a request that is rejected for one reason. */
export interface RejectionRow<Status = RejectionCodes[RejectionCode]> {
  readonly status: Status
  /** The message of errors that have none of their own; null for the code of errors with a text of the app. */
  readonly key: MessageKey | null
  /** More messages: an error that is made with one of these keys gets this code. */
  readonly otherKeys?: readonly MessageKey[]
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
  ERR_AUTH_JWT_INVALID: {
    ...row(401, 'auth.jwt-invalid', 'The token is invalid'),
    otherKeys: ['auth.logged-out'],
  },
  ERR_AUTH_JWT_NOT_VALID_YET: row(401, 'auth.jwt-not-valid-yet', 'The token is not valid yet'),
  ERR_AUTH_JWT_EXPIRED: row(401, 'auth.jwt-expired', 'The token expired'),
  ERR_AUTH_REFUSED: row(401, null, 'The token is not accepted'),
  ERR_AUTH_LOGIN_EXPIRED: row(401, 'auth.login-expired', 'The login has expired'),
  ERR_AUTH_INSUFFICIENT_AUTHENTICATION: row(
    401,
    'auth.insufficient-authentication',
    'Another authentication is needed',
  ),
  ERR_AUTH_INSUFFICIENT_SCOPE: row(
    403,
    'auth.insufficient-scope',
    'The token lacks the required scope',
  ),
  ERR_AUTH_FORBIDDEN: row(403, 'auth.forbidden', 'The user may not do this'),
  ERR_AUTH_TOO_MANY_ATTEMPTS: row(429, 'auth.too-many-attempts', 'Too many failed attempts'),
  ERR_AUTH_TOO_MANY_MAILS: row(429, 'auth.too-many-mails', 'Too many e-mails were requested'),
  ERR_AUTH_OVERLOADED: busy,
  ERR_AUTH_USER_SERVICE_TIMEOUT: busy,
  ERR_AUTH_STORE_UNAVAILABLE: busy,
} satisfies RejectionTable['codes'])

const english: { [Key in MessageKey]?: string } = { ...en }

/** Codes of credentials that may be meant for an authenticator of another route. */
export const unrecognized = new Set<RejectionCode>([
  'ERR_AUTH_NO_CREDENTIALS',
  'ERR_AUTH_JWT_INVALID',
])

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
  return isMessageKey(key) ? english[key] : undefined
}

export function messageKeys(): string[] {
  return Object.keys(english)
}

export function isMessageKey(text: unknown): text is MessageKey {
  return typeof text === 'string' && Object.hasOwn(english, text)
}

/** @returns the first code that has a message with this key */
export function codeOfKey(key: MessageKey): RejectionCode | undefined {
  const codes = Object.keys(rejections) as RejectionCode[]
  const hasKey = (code: RejectionCode): boolean => {
    const { key: own, otherKeys } = rejections[code] as RejectionRow
    return own === key || Boolean(otherKeys?.includes(key))
  }
  return codes.find(hasKey)
}
