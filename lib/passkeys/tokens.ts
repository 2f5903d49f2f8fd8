import { randomBytes } from 'node:crypto'
import { digestOf } from '../common/digest.js'
import { rejection } from '../errors/errors.js'
import type { JwtService } from '../tokens/service.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { SigningMethod } from '../../types/keys.js'

/** Seconds for which a ceremony may take. */
export const life = 600

/** Tells these tokens from access tokens, and those of a login from those of a new passkey (RFC 8725 §3.11). */
const types = { login: 'passkey+jwt', add: 'passkey-add+jwt' } as const
type Ceremony = keyof typeof types

/** What a token says: when its challenge was made, in milliseconds since 1970, and for a new passkey the user. */
export interface Challenge {
  readonly at: number
  readonly sub?: string | number
}

export type CeremonyTokens = ReturnType<typeof ceremonyTokens>

/** The challenge is the digest of a token that comes back with the response, so that nothing is stored. */
export const challengeOf = (token: string): string => digestOf(token)

/** @param path - of the login, which tells registrations with the same keys apart */
export function ceremonyTokens(
  service: JwtService,
  method: SigningMethod | undefined,
  path: string,
) {
  const wanted = 'the option "passkeys"'
  service.require(method, 'sign', wanted)
  const verifierOf = (typ: string) => service.verifier(method, { typ, requireExp: true }, wanted)
  const verifiers = { login: verifierOf(types.login), add: verifierOf(types.add) }
  return {
    make(ceremony: Ceremony, sub?: string | number): string {
      const at = Date.now()
      const jti = randomBytes(16).toString('base64url')
      const claims = { at, path, jti, sub, exp: Math.floor(at / 1000) + life }
      return service.generateTokenWithClaims(claims, method, { typ: types[ceremony] })
    },
    /** @throws ERR_AUTH_LOGIN_EXPIRED */
    read(ceremony: Ceremony, token: string, sub?: string | number): Challenge {
      try {
        const claims = verifiers[ceremony](token)
        if (claims.path === path && claims.sub === sub) return claims as unknown as Challenge
      } catch (error) {
        throw expired(`its token: ${(error as AuthenticationErrorLike).code}`)
      }
      throw expired('its token is of another user or registration')
    },
  }
}

const expired = (cause: string): Error =>
  rejection('auth.login-expired', { code: 'ERR_AUTH_LOGIN_EXPIRED', cause })
