import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  AuthenticationError,
  AuthenticationFault,
  AuthnUsageError,
  faultOf,
  isAuthenticationError,
  isUsageError,
} from '../../lib/errors/errors.js'
import {
  englishOf,
  isMessageKey,
  messageKeys,
  rejectionOf,
  type RejectionRow,
} from '../../lib/errors/rejections.js'
import '../../lib/feature-table.js'
import { root } from '../helpers/project.js'
import type { MessageKey } from '../../types/messages.js'

/** Apps compare codes, and clients statuses: a code stays, and keeps its status, once it is published. */
const published: Readonly<Record<number, string>> = {
  400: 'LINK_INVALID PASSWORD_TOO_SHORT PASSWORD_TOO_LONG PASSWORD_GUESSABLE',
  401: `NO_CREDENTIALS MALFORMED_CREDENTIALS INVALID_CREDENTIALS CREDENTIALS_NOT_ACCEPTED JWT_INVALID
    JWT_NOT_VALID_YET JWT_EXPIRED REFUSED API_KEY_INVALID API_KEY_EXPIRED API_KEY_NOT_ACCEPTED REFRESH_INVALID
    REFRESH_REUSED LOGIN_STATE LOGIN_DENIED LOGIN_INVALID`,
  403: 'INSUFFICIENT_SCOPE FORBIDDEN CROSS_SITE LOGIN_REFUSED CURRENT_PASSWORD',
  429: 'TOO_MANY_ATTEMPTS TOO_MANY_MAILS',
  503: `OVERLOADED USER_SERVICE_TIMEOUT STORE_UNAVAILABLE ISSUER_UNAVAILABLE PROVIDER_UNAVAILABLE`,
}

/** All codes of the types: of rejections, internal errors and misuse. */
const codes = readdirSync(join(root, 'types'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join(root, 'types', file), 'utf8'))
  .flatMap((text) => text.match(/(?<=^ +)ERR_AUTH_\w+(?=:)/gm) ?? [])

t.test('published codes keep their statuses', async (t) => {
  for (const [status, names] of Object.entries(published)) {
    const all = names.split(/\s+/).map((name) => `ERR_AUTH_${name}`)
    const changed = all.filter((code) => rejectionOf(code)?.status !== Number(status))
    t.strictSame(changed, [], status)
  }
})

t.test(
  'a rejection has a message of the package and a description for its challenge',
  async (t) => {
    const rows = codes.flatMap((code) => rejectionOf(code) ?? [])
    t.ok(rows.length > 30)
    for (const { key, description } of rows) {
      t.ok(key === null || isMessageKey(key), description)
      // The characters of `error_description` in RFC 6750 §3.
      t.match(description, /^[\x20\x21\x23-\x5B\x5D-\x7E]+$/)
    }
  },
)

t.test('an AuthenticationError of a key has its code, status and English message', async (t) => {
  for (const key of messageKeys() as MessageKey[]) {
    const error = new AuthenticationError(key)
    const { status, key: first, otherKeys = [] } = rejectionOf(error.code) as RejectionRow
    t.same(
      [error.name, error.key, error.statusCode, error.message],
      ['AuthenticationError', key, status, englishOf(key)],
      key,
    )
    t.ok([first, ...otherKeys].includes(key), `${key} belongs to ${error.code}`)
  }
  const bare = new AuthenticationError('auth.jwt-expired')
  t.notOk('cause' in bare, 'nothing that was not given')
  t.equal(bare.retryAfter, undefined)
  const jwt = 'ERR_AUTH_JWT_INVALID'
  t.equal(new AuthenticationError('auth.jwt-invalid').code, jwt)
  t.equal(new AuthenticationError('auth.logged-out').code, jwt, 'another message of the code')
})

t.test('an AuthenticationError with a code of its own keeps its message', async (t) => {
  const code = 'ERR_AUTH_FORBIDDEN'
  const localized = new AuthenticationError('auth.logged-out', { code })
  t.match(localized, { code, statusCode: 403, key: 'auth.logged-out' })
  t.equal(localized.message, englishOf('auth.logged-out'))
  const text = new AuthenticationError('Not on Sundays.', { code })
  t.match(text, { code, statusCode: 403, key: null, message: 'Not on Sundays.' })
})

t.test('the reference of errors has every code, with its status and its body', async (t) => {
  const page = readFileSync(join(root, 'docs/reference/errors.md'), 'utf8')
  const sections = page.split(/^## /m)
  t.ok(codes.length > 35)
  for (const code of codes) {
    const isOfCode = (line: string): boolean =>
      new RegExp(`^(?:\\| \`${code}\` |- \`${code}\`: )`).test(line)
    const found = sections.filter((section) => section.split('\n').some(isOfCode))
    t.equal(found.length, 1, code)
    const { status, key = null } = rejectionOf(code) ?? {}
    if (status !== undefined) t.match(found[0], new RegExp(`^${status}\n`), code)
    if (key !== null)
      t.match(found[0]?.split('\n').find(isOfCode), `{"error":"${englishOf(key)}"}`, code)
  }
})

t.test('an AuthenticationError of another string is a 401 with that message', async (t) => {
  for (const text of [
    'This API key was revoked.',
    '',
    'constructor',
    '__proto__',
    'auth.unknown',
  ]) {
    const error = new AuthenticationError(text)
    t.same(
      [error.key, error.code, error.statusCode, error.message],
      [null, 'ERR_AUTH_REFUSED', 401, text],
      JSON.stringify(text),
    )
  }
})

t.test('an AuthenticationError keeps its cause and retryAfter', async (t) => {
  const cause = new Error('why')
  const error = new AuthenticationError('auth.overloaded', { cause, retryAfter: 3 })
  t.equal(error.cause, cause)
  t.equal(error.retryAfter, 3)
  t.ok('cause' in new AuthenticationError('x', { cause: undefined }), 'also one that is undefined')
  t.equal(new AuthenticationError('auth.overloaded', { retryAfter: 0 }).retryAfter, 0)
})

t.test('an AuthenticationError is recognized by its code, not by its class', async (t) => {
  const alike = Object.assign(new Error('from another copy'), { code: 'ERR_AUTH_JWT_EXPIRED' })
  t.ok(isAuthenticationError(alike))
  t.ok(isAuthenticationError({ code: 'ERR_AUTH_REFUSED' }))
  t.ok(isAuthenticationError(new AuthenticationError('x')))
  const others = [
    new AuthenticationFault('ERR_AUTH_USER_SERVICE', null),
    new AuthnUsageError('ERR_AUTH_OPTION', 'x'),
    Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    ...['constructor', '__proto__', 'toString', ''].map((code) => ({ code })),
    { code: ['ERR_AUTH_REFUSED'] },
    { code: { toString: () => 'ERR_AUTH_REFUSED' } },
    { statusCode: 401 },
    new Error('x'),
    'ERR_AUTH_REFUSED',
    null,
    undefined,
    401,
    Symbol('ERR_AUTH_REFUSED'),
  ]
  for (const other of others) t.notOk(isAuthenticationError(other), String(Object(other).code))
})

t.test('the message of a fault is neutral, its cause is the error', async (t) => {
  const cause = new Error('password of the database')
  const fault = new AuthenticationFault('ERR_AUTH_USER_SERVICE', cause)
  t.same([fault.name, fault.code, fault.statusCode], ['AuthenticationFault', fault.code, 500])
  t.equal(fault.code, 'ERR_AUTH_USER_SERVICE')
  t.equal(fault.cause, cause)
  t.equal(
    fault.message,
    'The request could not be authenticated because of an internal error.',
    'nothing of the cause',
  )
  t.equal(new AuthenticationFault('ERR_AUTH_HASHING', null, 503).statusCode, 503)
  t.equal(rejectionOf(fault.code), undefined)
})

t.test('faults of another copy of the package are recognized, look-alikes are not', async (t) => {
  const fault = new AuthenticationFault('ERR_AUTH_USER_SERVICE', null)
  const other = Object.assign(new Error(fault.message), { code: 'ERR_AUTH_HASHING' })
  const loud = Object.assign(new Error('password: x'), { code: 'ERR_AUTH_HASHING' })
  t.equal(faultOf('ERR_AUTH_HASHING', fault), fault)
  t.equal(faultOf('ERR_AUTH_TOKEN_FUNC', other), other)
  const { code, name, message } = fault
  for (const value of [loud, new Error(message), { code, name, message }, null, undefined, 'fault'])
    t.not(faultOf('ERR_AUTH_TOKEN_FUNC', value), value)
})

t.test('usage errors of another copy of the package are recognized by their code', async (t) => {
  t.ok(isUsageError(new AuthnUsageError('ERR_AUTH_KEY', 'x')))
  t.ok(isUsageError(Object.assign(new Error('other'), { code: 'ERR_AUTH_MARK' })))
  const others = [new AuthenticationFault('ERR_AUTH_HASHING', null), new Error('x')]
  for (const value of [...others, { code: 'ERR_AUTH_KEY' }, null, undefined, 'ERR_AUTH_KEY'])
    t.notOk(isUsageError(value))
})

t.test('the message of a usage error begins with the name of the package', async (t) => {
  const cause = new Error('why')
  const misuse = new AuthnUsageError('ERR_AUTH_KEY', 'option "jwt.rsa" is bad.', cause)
  t.same(
    [misuse.name, misuse.code, misuse.message, misuse.cause],
    ['AuthnUsageError', 'ERR_AUTH_KEY', 'fastify-authn: option "jwt.rsa" is bad.', cause],
  )
  t.notOk('cause' in new AuthnUsageError('ERR_AUTH_OPTION', 'x'))
})
