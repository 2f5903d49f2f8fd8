import type { FastifyReply, FastifyRequest } from 'fastify'
import { isProduction } from '../common/production.js'
import { wrongOption } from '../errors/errors.js'
import { setCookie } from '../http/cookie.js'
import { cookieStart, isLocal, type CookieSettings } from '../http/cookie-names.js'
import { cookieOf } from '../request/state.js'
import type { ResolvedSecondFactor } from './options.js'
import { stepTokens, type StepKeys } from '../tokens/step.js'
import type { Once } from '../tokens/issued.js'

interface Login {
  readonly sub: string | number
  /** Digests of the password hash and the factor, of which one has to fit: see `stateOf` in tools.ts. */
  readonly states: readonly string[]
  /** The methods so far (RFC 8176). */
  readonly amr: readonly string[]
  /** When the login began, before the user was read: milliseconds since 1970. */
  readonly began: number
  /** From when on tokens of the user were valid at that time. */
  readonly validAfter: number
  /** The `sid` of the session that it replaces. */
  readonly replaces?: string | undefined
  readonly once?: Once | undefined
}

/** A user in the cookie of a browser, by a digest; until when, in seconds since 1970; and `deviceOf` in tools.ts. */
type Device = readonly [user: string, until: number, ...states: string[]]

/** Users whom the cookie of a browser names, and the size that others are dropped for, in bytes. */
const [mostDevices, mostBytes] = [5, 1024]

export type FactorTokens = ReturnType<typeof factorTokens>

export function factorTokens(keys: StepKeys) {
  const foreign = 'its token is of another login'
  const tokensOf = <Claims extends object>(typ: string) =>
    stepTokens<Claims>(keys, { option: 'secondFactor', typ, foreign })
  return {
    login: tokensOf<Login>('second-factor+jwt'),
    /** `box` has the encrypted secret, and the id of the factor that it replaces. */
    setup: tokensOf<{ readonly box: string }>('second-factor-setup+jwt'),
    device: tokensOf<{ readonly devices: readonly Device[] }>('device+jwt'),
  }
}

export type Devices = ReturnType<typeof rememberedDevices>

/** The cookies of devices on which users are not asked for a code; null without the option. @throws ERR_AUTH_OPTION */
export function rememberedDevices(
  { remember: seconds }: ResolvedSecondFactor,
  cookies: CookieSettings | undefined,
  tokens: FactorTokens,
) {
  if (seconds === undefined) return null
  if (cookies === undefined) {
    return wrongOption(
      'option "secondFactor.remember" is set, but it needs the option "cookies": a device is remembered by a cookie. Set it, or leave "remember" out.',
    )
  }
  const nameFor = (host: '__Host-' | ''): string => `${cookieStart(host, cookies.name)}device`
  const isInProduction = isProduction()
  const devicesOf = (request: FastifyRequest): Device[] =>
    // A callback has no `Origin`, by which `isLocal` would know a page at https.
    [nameFor('__Host-'), nameFor('')].flatMap((name) => {
      try {
        const { devices } = tokens.device.read(String(cookieOf(request, name)))
        return devices.filter(([, until]) => until > Date.now() / 1000)
      } catch {
        return []
      }
    })
  return {
    has: (request: FastifyRequest, [, state = '']: readonly string[]): boolean =>
      devicesOf(request).some(([, , ...states]) => states.includes(state)),
    /** Adds a user to the cookie, in place of the oldest ones where there are too many. */
    remember(reply: FastifyReply, [user, ...states]: readonly [string, ...string[]]): void {
      const isSecure = isInProduction || !isLocal(reply.request)
      const others = devicesOf(reply.request).filter(([other]) => other !== user)
      const own: Device = [user, Math.floor(Date.now() / 1000) + seconds, ...states]
      const devices = [own, ...others].slice(0, mostDevices)
      const make = (): string => tokens.device.make({ devices }, seconds)
      while (devices.length > 1 && make().length > mostBytes) devices.pop()
      const value = make()
      const name = nameFor(isSecure ? '__Host-' : '')
      // Strict would miss the callback, to which a provider leads.
      const cookie = { name, value, maxAge: seconds, isSecure, sameSite: 'Lax' } as const
      void reply.header('set-cookie', setCookie(cookie))
    },
  }
}
