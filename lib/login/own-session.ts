import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import { localClaimsOf } from '../request/state.js'
import type { Authn } from '../../types/authn.js'

type Sessions = Authn['sessions']

/** Milliseconds for which a login proves that the user is there. */
const recentLogin = 600_000

/** The session of a request; null also where another user acts as its user (RFC 8693 §4.1). */
export function ownSession(sessions: Sessions, request: FastifyRequest) {
  const session = sessions.of(request)
  // A request with a session has a token of this app, and so its claims.
  const isOwn = session !== null && !Object.hasOwn(localClaimsOf(request) as object, 'act')
  return isOwn ? session : null
}

/** @param id - of the session @throws (rejects) ERR_AUTH_LOGIN_AGAIN for a login of more than ten minutes ago */
export async function requireRecentLogin(sessions: Sessions, id: unknown, sub: string | number) {
  const session = (await sessions.list(sub)).find(({ sid }) => sid === id)
  // A provider that knows the browser logs its user in again without a question.
  const { authenticated = session?.created } = session ?? {}
  const isRecent = Date.now() - Number(authenticated ?? 0) <= recentLogin
  if (!isRecent) throw rejection('auth.login-again')
}
