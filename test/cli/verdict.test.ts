import t from 'tap'
import { judge, type Judge } from '../../lib/cli/verdict.js'
import { AuthnUsageError, refusal } from '../../lib/errors.js'
import type { JwtService } from '../../lib/tokens/service.js'

/** A server that throws. */
function throwing(error: Error): Judge {
  const service = {
    verify() {
      throw error
    },
  }
  return {
    service: service as unknown as JwtService,
    method: 'HS256',
    source: 'AUTH_JWT_SECRET',
    rules: {},
    claimName: 'sub',
    assumed: false,
    header: { alg: 'HS256' },
  }
}

t.test('a reason without words of its own is told as it is', async (t) => {
  const error = refusal('auth.jwt-invalid', { cause: 'FAST_JWT_NEW' })
  t.strictSame(judge('a.b.c', {}, throwing(error)), {
    valid: false,
    code: 'ERR_AUTH_JWT_INVALID',
    reason: 'it is malformed (FAST_JWT_NEW).',
  })
})

t.test('a fault is no verdict', async (t) => {
  const error = new AuthnUsageError('ERR_AUTH_KEY', 'option "jwt.secret": is missing.')
  t.throws(() => judge('a.b.c', {}, throwing(error)), error)
})
