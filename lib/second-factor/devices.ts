import type { FastifyReply, FastifyRequest } from 'fastify'
import { isProduction } from '../common/production.js'
import { setCookie } from '../http/cookie.js'
import { cookieStart, isLocal, type CookieSettings } from '../http/cookie-names.js'
import { cookieOf } from '../request/state.js'
import type { FactorTokens } from './tokens.js'
import type { Sub } from './store.js'

export type Devices = ReturnType<typeof rememberedDevices>

/** The cookies of devices on which users are not asked for a code. @param seconds - for which a device is remembered */
export function rememberedDevices(
  { name: jar }: CookieSettings,
  seconds: number,
  tokens: FactorTokens,
) {
  const nameFor = (host: '__Host-' | ''): string => `${cookieStart(host, jar)}device`
  const isInProduction = isProduction()
  const isOf = (token: unknown, sub: Sub, state: string): boolean => {
    if (typeof token !== 'string') return false
    try {
      const claims = tokens.read('device', token)
      return claims.sub === sub && claims.states.includes(state)
    } catch {
      return false
    }
  }
  return {
    /** @param state - see `stateOf` in tools.ts: after a new password or factor, a device is forgotten */
    has: (request: FastifyRequest, sub: Sub, state: string): boolean =>
      // A callback has no `Origin`, by which `isLocal` would know a page at https.
      [nameFor('__Host-'), nameFor('')].some((name) => isOf(cookieOf(request, name), sub, state)),
    remember(reply: FastifyReply, sub: Sub, states: readonly string[]): void {
      const isSecure = isInProduction || !isLocal(reply.request)
      const value = tokens.make('device', { sub, states }, seconds)
      const name = nameFor(isSecure ? '__Host-' : '')
      // Strict would miss the callback, to which a provider leads.
      const cookie = { name, value, maxAge: seconds, isSecure, sameSite: 'Lax' } as const
      void reply.header('set-cookie', setCookie(cookie))
    },
  }
}
