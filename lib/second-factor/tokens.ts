import { rejection } from '../errors/errors.js'
import type { JwtService } from '../tokens/service.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { SigningMethod } from '../../types/keys.js'

/** Seconds for which a login and a setup wait for their code. */
export const patience = 600

interface Claims {
  readonly login: {
    readonly sub: string | number
    /** Digests of the password hash and the factor, of which one has to fit: see `statesOf` in tools.ts. */
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

type Kind = keyof Claims

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
  const wanted = 'the option "secondFactor"'
  service.require(method, 'sign', wanted)
  const verifier = (typ: string) => service.verifier(method, { typ, requireExp: true }, wanted)
  const verify = {
    login: verifier(typOf.login),
    setup: verifier(typOf.setup),
    device: verifier(typOf.device),
  }
  return {
    make<Name extends Kind>(kind: Name, claims: Claims[Name], expiresIn: number = patience) {
      const exp = Math.floor(Date.now() / 1000) + expiresIn
      return service.generateTokenWithClaims({ ...claims, path, exp }, method, {
        typ: typOf[kind],
      })
    },
    /** @throws ERR_AUTH_LOGIN_EXPIRED */
    read<Name extends Kind>(kind: Name, token: string): Claims[Name] {
      try {
        const claims = verify[kind](token)
        if (claims.path === path) return claims as unknown as Claims[Name]
      } catch (error) {
        throw expired(`its token: ${(error as AuthenticationErrorLike).code}`)
      }
      throw expired('its token is of another login')
    },
  }
}
