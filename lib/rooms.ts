// The parts of the package that only an option leads to. Each is loaded here, when that option is set.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { rootOf } from './app/fastify.js'
import { anyOf } from './authenticators/any-of.js'
import { JwtService } from './jwt/service.js'
import { tokenKindsOf } from './jwt/token-kind.js'
import { resolveSessions, type ResolvedLogin, type ResolvedOptions } from './options/resolve.js'
import type { Issuers } from './issuers/index.js'
import type { CookieMode, Registration, SessionKeeper } from './registration.js'
import type { RedisCounters } from './throttle/redis-counters.js'
import type { ValidAfter } from './users/valid-after.js'
import type { JwtServiceLike } from '../types/jwt.js'

/** The options `jwt` and `jwtService`. */
export async function openJwtService(
  app: FastifyInstance,
  { jwt, jwtService }: ResolvedOptions,
): Promise<JwtServiceLike | null> {
  if (jwtService !== undefined) return jwtService.load()
  if (jwt === undefined) return null
  const service = new JwtService(jwt, { log: app.log })
  if (jwt.keys !== undefined) {
    app.addHook('onClose', (_, done) => {
      service.close()
      done()
    })
  }
  return service.load()
}

/** The option `issuers`. */
export async function openIssuers(
  options: ResolvedOptions,
  jwtService: JwtServiceLike | null,
  app: FastifyInstance,
): Promise<Issuers | null> {
  if (Object.keys(options.issuers ?? {}).length === 0) return null
  const room = await import('./issuers/index.js')
  const own = jwtService === null ? undefined : tokenKindsOf(jwtService, undefined)[0]?.issuer
  const issuers = room.openIssuers(options, own, anyOf, app.log)
  issuers.open(app)
  return issuers
}

/** The option `sessions`. @throws ERR_AUTH_OPTION */
export async function openSessions(
  { sessions, login }: ResolvedOptions,
  service: JwtServiceLike | null,
  validAfter: ValidAfter | null,
  app: FastifyInstance,
): Promise<SessionKeeper | null> {
  const settings = resolveSessions(sessions)
  if (settings === null) return null
  const room = await import('./sessions/open.js')
  return room.openSessions(settings, { app, root: rootOf(app), login, service, validAfter })
}

/** The option `throttle.redis`. */
export async function openRedisCounters(
  { throttle }: ResolvedOptions,
  log: FastifyBaseLogger,
): Promise<RedisCounters | null> {
  if (throttle === false || throttle.redis === undefined) return null
  const room = await import('./throttle/redis-counters.js')
  return room.openRedisCounters(throttle, throttle.redis, log)
}

/** The option `cookies`. */
export async function openCookies({ cookies }: ResolvedOptions): Promise<CookieMode | null> {
  if (!cookies) return null
  const room = await import('./cookies/mode.js')
  return room.cookieMode(cookies)
}

/** @throws ERR_AUTH_OPTION where cookies of registrations are in the way of each other */
export async function checkCookies(
  registration: Registration,
  login: ResolvedLogin | null,
  registrations: readonly (Registration | undefined)[],
): Promise<void> {
  if (registration.cookies === null) return
  const room = await import('./cookies/boot.js')
  room.checkCookies(registration, login, registrations)
}
