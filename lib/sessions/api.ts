import type { FastifyInstance } from 'fastify'
import { testGrants } from '../common/kit.js'
import { AuthnUsageError, isAuthenticationError, rejection, wrongOption } from '../errors/errors.js'
import { reportRejection } from '../events.js'
import { ABANDONED } from '../http/disconnect.js'
import { farthestAhead, isList } from '../guard/level.js'
import { finishLogin, giveTokens } from '../login/finish.js'
import { registrationOf } from '../request/registration.js'
import type { Registration } from '../feature.js'
import { localClaimsOf } from '../request/state.js'
import { isUsableName } from '../users/user.js'
import { refreshSession } from './refresh.js'
import { rejectToken } from './routes.js'
import { isOwnSession, revokeOthers, revokeSessions, type SessionTools } from './tools.js'
import type { Sessions } from '../../types/session-api.js'

/** A name may come from a client, so one that no session can have is not looked up. */
export function sessionsApi(tools: SessionTools, app: FastifyInstance): Sessions {
  const withUsers = (method: string): Registration => {
    const registration = registrationOf(app) as Registration
    if (registration.options.userService !== undefined) return registration
    return wrongOption(
      `option "userService" is missing: sessions.${method}() needs one that finds users.`,
    )
  }
  return {
    of(request) {
      const { sid, sub } = localClaimsOf(request) ?? {}
      if (typeof sid !== 'string' || !isUsableName(sid) || !isUsableName(sub)) return null
      // A test gives its sessions any name.
      const isOurs =
        registrationOf(request.server)?.app === app &&
        (testGrants.has(request) || isOwnSession(tools, sid))
      return isOurs ? { id: sid, sub: String(sub) } : null
    },
    async list(sub) {
      const name = nameOf(sub, 'list')
      if (!isUsableName(name)) return []
      const stored = await tools.client.call((store) => store.list(name))
      const dateOf = (seconds: number): Date => new Date(seconds * 1000)
      return stored
        .filter(({ sid }) => !tools.revocations.has(sid))
        .map(({ sid, created, lastUsed, address, userAgent, data }) => {
          const { authTime } = JSON.parse(data) as { authTime?: number }
          const times = { created: dateOf(created), lastUsed: dateOf(lastUsed) }
          const at = authTime !== undefined && {
            authenticated: dateOf(Math.min(authTime, created)),
          }
          return { sid, ...times, ...at, address, userAgent }
        })
    },
    async begin(username, request, reply, { amr, authTime } = {}) {
      checkLevel(amr, authTime)
      const registration = withUsers('begin')
      const started = performance.now()
      // Caches must not store a token (RFC 6749 section 5.1).
      void reply.header('cache-control', 'no-store')
      try {
        const user = isUsableName(username) ? await tools.find(username, request) : null
        registration.carrier.check?.(request)
        const options = { code: 'ERR_AUTH_LOGIN_REFUSED', cause: 'user not found' } as const
        if (user === null) throw rejection('auth.forbidden', options)
        const authentication = { amr, time: authTime }
        const login = { username, user, started, authentication }
        return await finishLogin(registration, request, reply, login)
      } catch (error) {
        if (isAuthenticationError(error))
          reportRejection(request, error, 'login', started, null, null, { registration })
        throw error
      }
    },
    async refresh(token, request, reply) {
      const registration = withUsers('refresh')
      const started = performance.now()
      void reply.header('cache-control', 'no-store')
      const text = typeof token === 'string' && token !== '' ? token : null
      try {
        registration.carrier.check?.(request)
        const tokens = await refreshSession(tools, request, text, started)
        return giveTokens(registration, registration.carrier, request, reply, tokens)
      } catch (error) {
        // The client has gone, and the handler of the app gets an error as of others.
        const cause = error === ABANDONED ? rejection('auth.overloaded') : error
        return rejectToken(registration, request, reply, text, cause).catch((rejected: unknown) => {
          if (isAuthenticationError(rejected))
            reportRejection(request, rejected, 'refresh', started, null, null, { registration })
          throw rejected
        })
      }
    },
    async revoke(which) {
      const { sid, sub, except } = (which ?? {}) as Record<string, unknown>
      // A variable that is not set must not revoke all sessions.
      if ((sid === undefined) === (sub === undefined)) {
        misuse('revoke(): expected { sid } or { sub }.')
      }
      const name = nameOf(sid === undefined ? sub : sid, 'revoke')
      if (!isUsableName(name)) return 0
      if (except !== undefined) {
        if (sub === undefined) misuse('revoke(): expected "except" beside { sub } alone.')
        return revokeOthers(tools, name, nameOf(except, 'revoke'))
      }
      return revokeSessions(tools, sid === undefined ? { sub: name } : { sid: name })
    },
  }
}

/** `'mfa'.includes('mfa')` is true, and milliseconds would be fresh for ever. */
function checkLevel(amr: unknown, authTime: unknown): void {
  if (amr !== undefined && !isList(amr)) misuse('begin(): amr: expected a list of strings.')
  const latest = Date.now() / 1000 + farthestAhead
  const isTime = typeof authTime === 'number' && authTime > 0 && authTime <= latest
  if (authTime === undefined || isTime) return
  misuse('begin(): authTime: expected seconds since 1970, not in the future.')
}

function nameOf(value: unknown, method: string): string {
  const isName = typeof value === 'string' ? value !== '' : Number.isFinite(value)
  return isName ? String(value) : misuse(`${method}(): expected a name, a string or a number.`)
}

function misuse(problem: string): never {
  throw new AuthnUsageError('ERR_AUTH_CLAIMS', `sessions.${problem}`)
}
