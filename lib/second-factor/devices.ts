import type { FastifyReply, FastifyRequest } from 'fastify'
import { isProduction } from '../common/production.js'
import { setCookie } from '../http/cookie.js'
import { cookieStart, isLocal, type CookieSettings } from '../http/cookie-names.js'
import { cookieOf } from '../request/state.js'
import type { FactorTokens } from './tokens.js'

export type Devices = ReturnType<typeof rememberedDevices>

/** The cookies of devices on which users are not asked for a code. @param seconds - for which a device is remembered */
export function rememberedDevices(
  { name: jar }: CookieSettings,
  seconds: number,
  tokens: FactorTokens,
) {
  const nameFor = (host: '__Host-' | ''): string => `${cookieStart(host, jar)}device`
  const isInProduction = isProduction()
  const isOf = (token: unknown, state: string): boolean => {
    if (typeof token !== 'string') return false
    try {
      return tokens.read('device', token).states.includes(state)
    } catch {
      return false
    }
  }
  return {
    /** @param state - see `stateOf` in tools.ts: of one user, and until the password or the factor changes */
    has: (request: FastifyRequest, state: string): boolean =>
      // A callback has no `Origin`, by which `isLocal` would know a page at https.
      [nameFor('__Host-'), nameFor('')].some((name) => isOf(cookieOf(request, name), state)),
    remember(reply: FastifyReply, states: readonly string[]): void {
      const isSecure = isInProduction || !isLocal(reply.request)
      const value = tokens.make('device', { states }, seconds)
      const name = nameFor(isSecure ? '__Host-' : '')
      // Strict would miss the callback, to which a provider leads.
      const cookie = { name, value, maxAge: seconds, isSecure, sameSite: 'Lax' } as const
      void reply.header('set-cookie', setCookie(cookie))
    },
  }
}
