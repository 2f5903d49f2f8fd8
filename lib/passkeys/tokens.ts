import { randomBytes } from 'node:crypto'
import { rejection } from '../errors/errors.js'
import type { JwtService } from '../tokens/service.js'
import type { SigningMethod } from '../../types/keys.js'

/** Seconds that a ceremony may take. */
export const life = 600

let last = { now: 0, at: 0 }

/** Microseconds since 1970. Two challenges of a millisecond differ, or a passkey could answer only one of them. */
function clock(): number {
  const now = Date.now()
  last = { now, at: now === last.now ? last.at + 1 : now * 1000 }
  return last.at
}

export type CeremonyTokens = ReturnType<typeof ceremonyTokens>

/**
 * The tokens of one kind of ceremony. A challenge is the digest of such a token, which comes back with the response, so
 * that nothing is stored.
 * @param typ - tells them from others (RFC 8725 §3.11). @param path - of the login, which tells registrations apart
 */
export function ceremonyTokens(
  service: JwtService,
  method: SigningMethod | undefined,
  path: string,
  typ: string,
) {
  const wanted = 'the option "passkeys"'
  service.require(method, 'sign', wanted)
  const verify = service.verifier(method, { typ, requireExp: true }, wanted)
  return {
    /** @param sub - the user of a new passkey */
    make(sub?: string | number): string {
      const exp = Math.floor(Date.now() / 1000) + life
      const jti = randomBytes(16).toString('base64url')
      const claims = { at: clock(), path, jti, sub, exp }
      return service.generateTokenWithClaims(claims, method, { typ })
    },
    /** @returns when it was made, by {@link clock} @throws ERR_AUTH_LOGIN_EXPIRED */
    read(token: string, sub?: string | number): number {
      let cause: unknown = 'its token is of another user or registration'
      try {
        const claims = verify(token)
        if (claims.path === path && claims.sub === sub) return claims.at as number
      } catch (error) {
        cause = `its token: ${(error as { code?: string }).code}`
      }
      throw rejection('auth.login-expired', { code: 'ERR_AUTH_LOGIN_EXPIRED', cause })
    },
  }
}
