import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  AuthenticationError,
  AuthenticationFault,
  AuthnUsageError,
  isAuthenticationError,
  isAuthenticationFault,
  isUsageError,
} from '../lib/errors/errors.js'
import { englishOf, messageKeys, rejectionOf } from '../lib/errors/rejections.js'
import '../lib/feature-table.js'
import { root } from './helpers/project.js'
import type { RejectionCode } from '../types/errors.js'
import type { MessageKey } from '../types/messages.js'

const rejections: [MessageKey, RejectionCode, number, string][] = [
  ['auth.no-credentials-provided', 'ERR_AUTH_NO_CREDENTIALS', 401, 'The token is missing'],
  ['auth.invalid-credentials', 'ERR_AUTH_INVALID_CREDENTIALS', 401, 'The token is not accepted'],
  ['auth.jwt-invalid', 'ERR_AUTH_JWT_INVALID', 401, 'The token is invalid'],
  ['auth.jwt-not-valid-yet', 'ERR_AUTH_JWT_NOT_VALID_YET', 401, 'The token is not valid yet'],
  ['auth.jwt-expired', 'ERR_AUTH_JWT_EXPIRED', 401, 'The token expired'],
  [
    'auth.insufficient-scope',
    'ERR_AUTH_INSUFFICIENT_SCOPE',
    403,
    'The token lacks the required scope',
  ],
  ['auth.api-key-invalid', 'ERR_AUTH_API_KEY_INVALID', 401, 'The API key is invalid'],
  ['auth.api-key-expired', 'ERR_AUTH_API_KEY_EXPIRED', 401, 'The API key expired'],
  ['auth.api-key-not-accepted', 'ERR_AUTH_API_KEY_NOT_ACCEPTED', 401, 'No API keys here'],
  ['auth.credentials-not-accepted', 'ERR_AUTH_CREDENTIALS_NOT_ACCEPTED', 401, 'Not accepted here'],
  ['auth.forbidden', 'ERR_AUTH_FORBIDDEN', 403, 'The user may not do this'],
  ['auth.cross-site', 'ERR_AUTH_CROSS_SITE', 403, 'The request comes from another site'],
  [
    'auth.refresh-invalid',
    'ERR_AUTH_REFRESH_INVALID',
    401,
    'The refresh token is invalid, or its session has expired',
  ],
  ['auth.refresh-reused', 'ERR_AUTH_REFRESH_REUSED', 401, 'The refresh token was used before'],
  ['auth.login-expired', 'ERR_AUTH_LOGIN_STATE', 401, 'The login has expired'],
  ['auth.login-failed', 'ERR_AUTH_LOGIN_DENIED', 401, 'The provider has rejected the login'],
  ['auth.link-invalid', 'ERR_AUTH_LINK_INVALID', 400, 'The link is invalid'],
  ['auth.password-too-short', 'ERR_AUTH_PASSWORD_TOO_SHORT', 400, 'The password is too short'],
  ['auth.password-too-long', 'ERR_AUTH_PASSWORD_TOO_LONG', 400, 'The password is too long'],
  ['auth.password-guessable', 'ERR_AUTH_PASSWORD_GUESSABLE', 400, 'The password is guessable'],
  ['auth.current-password', 'ERR_AUTH_CURRENT_PASSWORD', 403, 'The current password is wrong'],
  ['auth.login-again', 'ERR_AUTH_LOGIN_AGAIN', 403, 'The login is too old'],
  ['auth.too-many-mails', 'ERR_AUTH_TOO_MANY_MAILS', 429, 'Too many e-mails were requested'],
  ['auth.too-many-attempts', 'ERR_AUTH_TOO_MANY_ATTEMPTS', 429, 'Too many failed attempts'],
  ['auth.overloaded', 'ERR_AUTH_OVERLOADED', 503, 'The server is busy'],
  // Rejections that share a message with one above are told apart by their code.
  ['auth.no-credentials-provided', 'ERR_AUTH_MALFORMED_CREDENTIALS', 401, 'The token is malformed'],
  ['auth.overloaded', 'ERR_AUTH_USER_SERVICE_TIMEOUT', 503, 'The server is busy'],
  ['auth.overloaded', 'ERR_AUTH_ISSUER_UNAVAILABLE', 503, 'The server is busy'],
  ['auth.overloaded', 'ERR_AUTH_PROVIDER_UNAVAILABLE', 503, 'The server is busy'],
  ['auth.login-failed', 'ERR_AUTH_LOGIN_INVALID', 401, 'The response of the provider is invalid'],
]

t.test('an AuthenticationError of a key has its code, status and English message', async (t) => {
  const seen = new Set<MessageKey>()
  for (const [key, code, statusCode, description] of rejections) {
    const error = new AuthenticationError(key, seen.has(key) ? { code } : {})
    seen.add(key)
    t.same(
      [error.name, error.key, error.code, error.statusCode, error.message],
      ['AuthenticationError', key, code, statusCode, englishOf(key)],
      key,
    )
    t.same(rejectionOf(code), { status: statusCode, key, description }, code)
    t.notOk('cause' in error, `${key}: no cause where none was given`)
    t.equal(error.retryAfter, undefined, key)
  }
  // One more message of a code.
  const key = 'auth.logged-out'
  const loggedOut = new AuthenticationError(key)
  const { code, message } = loggedOut
  t.same([loggedOut.key, code, message], [key, 'ERR_AUTH_JWT_INVALID', englishOf(key)])
  t.equal(new AuthenticationError(key, { code: 'ERR_AUTH_FORBIDDEN' }).key, 'auth.forbidden')
  t.same(seen.add(key), new Set(messageKeys()), 'every key has a row')
})

t.test('the reference of errors has every code, with its status and its body', async (t) => {
  const page = readFileSync(join(root, 'docs/reference/errors.md'), 'utf8')
  const sections = page.split(/^## /m)
  const types = readdirSync(join(root, 'types')).map((file) =>
    readFileSync(join(root, 'types', file), 'utf8'),
  )
  const codes = types.join('').match(/^ +ERR_AUTH_\w+(?=:)/gm) ?? []
  t.ok(codes.length > 35)
  for (const code of codes.map((found) => found.trim())) {
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
  t.ok(isAuthenticationFault(fault))
  t.ok(isAuthenticationFault(other))
  const { code, name, message } = fault
  for (const value of [loud, new Error(message), { code, name, message }, null, undefined, 'fault'])
    t.notOk(isAuthenticationFault(value))
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
