import { rejection } from '../errors/errors.js'
import type { JwtService } from './service.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { SigningMethod } from '../../types/keys.js'

/** The keys that sign, and the path of the login, which tells registrations apart. */
export interface StepKeys {
  readonly service: JwtService
  readonly method: SigningMethod | undefined
  readonly path: string
}

interface Step {
  /** The option that needs the keys. */
  readonly option: string
  /** Tells these tokens from others (RFC 8725 §3.11). */
  readonly typ: string
  /** The reason in the log for a valid token that is for something else. */
  readonly foreign: string
  /** The rejection of a token. Default: ERR_AUTH_LOGIN_EXPIRED. */
  invalid?(cause: string): Error
}

/** Seconds that a step of a login may take. */
export const stepTime = 600

export const loginExpired = (cause: string): Error =>
  rejection('auth.login-expired', { code: 'ERR_AUTH_LOGIN_EXPIRED', cause })

/** Tokens between two requests, small JWTs, so that nothing is stored. */
export function stepTokens<Claims extends object>(
  { service, method, path }: StepKeys,
  { option, typ, foreign, invalid = loginExpired }: Step,
) {
  const wanted = `the option "${option}"`
  service.require(method, 'sign', wanted)
  const verify = service.verifier(method, { typ, requireExp: true }, wanted)
  const verified = (token: string) => {
    try {
      return verify(token)
    } catch (error) {
      throw invalid(`its token: ${(error as AuthenticationErrorLike).code}`)
    }
  }
  return {
    make(claims: Claims, expiresIn = stepTime): string {
      const exp = Math.floor(Date.now() / 1000) + expiresIn
      return service.generateTokenWithClaims({ ...claims, path, exp }, method, { typ })
    },
    read(token: string, isOurs: (claims: Claims) => boolean = () => true): Claims {
      const claims = verified(token)
      if (claims.path === path && isOurs(claims as Claims)) return claims as Claims
      throw invalid(foreign)
    },
  }
}
