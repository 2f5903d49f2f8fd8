import t from 'tap'
import { invalidToken } from '../../lib/jwt/token-errors.js'

const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'

t.test('whatever the engine throws, the token is invalid', async (t) => {
  const reasons: [unknown, string][] = [
    [
      Object.assign(new Error('bad'), { code: 'FAST_JWT_INVALID_SIGNATURE' }),
      'FAST_JWT_INVALID_SIGNATURE',
    ],
    [{ code: 'FAST_JWT_MALFORMED' }, 'FAST_JWT_MALFORMED'],
    [{ code: 42 }, '42'],
    [new RangeError('Invalid time value'), 'unknown'],
    [null, 'unknown'],
    [undefined, 'unknown'],
    [42, 'unknown'],
    ['what we found ourselves', 'what we found ourselves'],
  ]
  for (const [reason, cause] of reasons) {
    const { name, code, statusCode, key, message, cause: kept } = invalidToken(reason)
    t.same(
      { name, code, statusCode, key, message, cause: kept },
      {
        name: 'AuthenticationError',
        code: 'ERR_AUTH_JWT_INVALID',
        statusCode: 401,
        key: 'auth.jwt-invalid',
        message: 'Your authentication token is invalid.',
        cause,
      },
      cause,
    )
  }
})

t.test('the text of the engine, which can quote the token, is dropped', async (t) => {
  const error = invalidToken(Object.assign(new Error(`bad token ${token}`), { token, code: 'BAD' }))
  t.equal(error.cause, 'BAD')
  t.notMatch(`${error.stack}${JSON.stringify(error)}${String(error.cause)}`, token)
})
