import type { RefusalCode } from '../../types/errors.js'
import type { MessageKey } from '../../types/messages.js'

/** The response to one kind of refusal. */
export interface RefusalRow {
  readonly status: 401 | 403 | 429 | 503
  /** The key of the message, or null where the text of the error is sent as it is. */
  readonly key: MessageKey | null
  /** The `error_description` of a Bearer challenge (RFC 6750 section 3): ASCII, in English. */
  readonly description: string
}

/** The response to each code. The table has no prototype: otherwise `constructor` would be found in it. */
const refusals: Readonly<Record<RefusalCode, RefusalRow>> = Object.assign(Object.create(null), {
  ERR_AUTH_NO_CREDENTIALS: {
    status: 401,
    key: 'auth.no-credentials-provided',
    description: 'The token is missing',
  },
  ERR_AUTH_MALFORMED_CREDENTIALS: {
    status: 401,
    key: 'auth.no-credentials-provided',
    description: 'The token is malformed',
  },
  ERR_AUTH_INVALID_CREDENTIALS: {
    status: 401,
    key: 'auth.invalid-credentials',
    description: 'The token is not accepted',
  },
  ERR_AUTH_JWT_INVALID: {
    status: 401,
    key: 'auth.jwt-invalid',
    description: 'The token is invalid',
  },
  ERR_AUTH_JWT_NOT_VALID_YET: {
    status: 401,
    key: 'auth.jwt-not-valid-yet',
    description: 'The token is not valid yet',
  },
  ERR_AUTH_JWT_EXPIRED: {
    status: 401,
    key: 'auth.jwt-expired',
    description: 'The token expired',
  },
  ERR_AUTH_REFUSED: { status: 401, key: null, description: 'The token is not accepted' },
  ERR_AUTH_REFRESH_INVALID: {
    status: 401,
    key: 'auth.refresh-invalid',
    description: 'The refresh token is invalid, or its session is over',
  },
  ERR_AUTH_REFRESH_REUSED: {
    status: 401,
    key: 'auth.refresh-reused',
    description: 'The refresh token was used before',
  },
  ERR_AUTH_INSUFFICIENT_SCOPE: {
    status: 403,
    key: 'auth.insufficient-scope',
    description: 'The token does not have the scope that is needed',
  },
  ERR_AUTH_FORBIDDEN: {
    status: 403,
    key: 'auth.forbidden',
    description: 'The user may not do this',
  },
  ERR_AUTH_CROSS_SITE: {
    status: 403,
    key: 'auth.cross-site',
    description: 'The request comes from another site',
  },
  ERR_AUTH_TOO_MANY_ATTEMPTS: {
    status: 429,
    key: 'auth.too-many-attempts',
    description: 'Too many failed attempts',
  },
  ERR_AUTH_OVERLOADED: {
    status: 503,
    key: 'auth.overloaded',
    description: 'The server is busy',
  },
  ERR_AUTH_USER_SERVICE_TIMEOUT: {
    status: 503,
    key: 'auth.overloaded',
    description: 'The server is busy',
  },
  ERR_AUTH_ISSUER_UNAVAILABLE: {
    status: 503,
    key: 'auth.overloaded',
    description: 'The server is busy',
  },
  ERR_AUTH_STORE_UNAVAILABLE: {
    status: 503,
    key: 'auth.overloaded',
    description: 'The server is busy',
  },
} satisfies Record<RefusalCode, RefusalRow>)

/** @returns the row of a code; undefined for a value that is not the code of a refusal */
export function refusalOf(code: unknown): RefusalRow | undefined {
  return typeof code === 'string' ? refusals[code as RefusalCode] : undefined
}

/** @returns the first code in the table whose message has this key; undefined for any other text */
export function codeOfKey(text: string): RefusalCode | undefined {
  return codes.find((code) => refusals[code].key === text)
}

const codes = Object.keys(refusals) as RefusalCode[]
