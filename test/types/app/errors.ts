// Errors are recognised by their code, and the codes are known.
import Fastify from 'fastify'
import {
  AuthenticationError,
  type AuthenticationErrorLike,
  type Catalogue,
  type FaultCode,
  type MessageKey,
  type MisuseCode,
  type RejectionCode,
} from 'fastify-authn'
import { exactly } from '../exactly.js'

const error = new AuthenticationError('auth.jwt-expired')
exactly<RejectionCode>()(error.code)
exactly<number>()(error.statusCode)
exactly<MessageKey | null>()(error.key)
exactly<number | undefined>()(error.retryAfter)
const like: AuthenticationErrorLike = new AuthenticationError('Any text.', {
  cause: error,
  code: 'ERR_AUTH_TOO_MANY_ATTEMPTS',
  retryAfter: 60,
})
// @ts-expect-error -- no code of a rejection
export const misuse = new AuthenticationError('Any text.', { code: 'ERR_AUTH_OPTION' })
// @ts-expect-error -- no option
export const forbidden = new AuthenticationError('Any text.', { status: 403 })

if (like.code === 'ERR_AUTH_JWT_EXPIRED') {
  exactly<'ERR_AUTH_JWT_EXPIRED'>()(like.code)
} else {
  exactly<Exclude<RejectionCode, 'ERR_AUTH_JWT_EXPIRED'>>()(like.code)
}
// @ts-expect-error -- a typo in a code
export const typo = like.code === 'ERR_AUTH_JWT_EXPIERD'

type AnyCode = RejectionCode | FaultCode | MisuseCode
const codes = {
  rejection: 'ERR_AUTH_INVALID_CREDENTIALS',
  fault: 'ERR_AUTH_USER_SERVICE',
  misuse: 'ERR_AUTH_OPTION',
} as const satisfies Record<string, AnyCode>

Fastify().setErrorHandler((thrown: { code?: string }, _request, reply) => {
  const fault: boolean = thrown.code === codes.fault
  return reply.code(fault ? 503 : 500).send()
})

// @ts-expect-error -- a catalogue is complete
export const catalogue: Catalogue = { 'auth.jwt-expired': 'Expired.' }
