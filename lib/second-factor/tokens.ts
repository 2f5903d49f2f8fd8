import type { FastifyReply, FastifyRequest } from 'fastify'
import { isProduction } from '../common/production.js'
import { rejection } from '../errors/errors.js'
import { setCookie } from '../http/cookie.js'
import { cookieStart, isLocal, type CookieSettings } from '../http/cookie-names.js'
import { cookieOf } from '../request/state.js'
import type { JwtService } from '../tokens/service.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { SigningMethod } from '../../types/keys.js'

/** Seconds for which a login and a setup wait for their code. */
export const patience = 600

interface Claims {
  readonly login: {
    readonly sub: string | number
    /** Digests of the password hash and the factor, of which one has to fit: see `stateOf` in tools.ts. */
    readonly states: readonly string[]
    /** The methods so far (RFC 8176). */
    readonly amr: readonly string[]
    /** When the login began, before the user was read: milliseconds since 1970. */
    readonly began: number
    /** From when on tokens of the user were valid at that time. */
    readonly validAfter: number
  }
  /** `box` has the encrypted secret, and the id of the factor that it replaces. */
  readonly setup: { readonly box: string }
  readonly device: { readonly states: readonly string[] }
}

/** They tell these tokens from each other and from access tokens (RFC 8725 §3.11). */
const typOf = {
  login: 'second-factor+jwt',
  setup: 'second-factor-setup+jwt',
  device: 'device+jwt',
} as const

export type FactorTokens = ReturnType<typeof factorTokens>

export const expired = (cause: string): Error =>
  rejection('auth.login-expired', { code: 'ERR_AUTH_LOGIN_EXPIRED', cause })

/** Makes and reads tokens that are signed with the keys of the registration, whose login has this path. */
export function factorTokens(service: JwtService, method: SigningMethod | undefined, path: string) {
  service.require(method, 'sign', 'the option "secondFactor"')
  return {
    make<Name extends keyof Claims>(
      kind: Name,
      claims: Claims[Name],
      expiresIn: number = patience,
    ) {
      const exp = Math.floor(Date.now() / 1000) + expiresIn
      return service.generateTokenWithClaims({ ...claims, path, exp }, method, {
        typ: typOf[kind],
      })
    },
    /** @throws ERR_AUTH_LOGIN_EXPIRED */
    read<Name extends keyof Claims>(kind: Name, token: string): Claims[Name] {
      try {
        const claims = service.verify(token, method, { typ: typOf[kind], requireExp: true })
        if (claims.path === path) return claims as unknown as Claims[Name]
      } catch (error) {
        throw expired(`its token: ${(error as AuthenticationErrorLike).code}`)
      }
      throw expired('its token is of another login')
    },
  }
}

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
