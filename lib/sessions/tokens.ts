import { faultOf } from '../errors.js'
import { issuedAt } from '../login/token.js'
import { randomName, type SessionTools } from './tools.js'
import type { RefreshToken } from './refresh-token.js'
import type { OwnClaims } from '../login/claims.js'
import type { GivenTokens } from '../registration.js'

/** What the tokens of a session are made of. */
export interface TokenParts {
  readonly sid: string
  readonly claims: OwnClaims
  /** The stored user. */
  readonly user: object
  readonly refreshToken: RefreshToken
  /** When they count as issued, in seconds since 1970 by the clock of this process. */
  readonly now: number
  /** Seconds from `now` on after which the session is over if it is not used. */
  readonly remaining: number
}

/**
 * The tokens of a session. The access token is never valid for longer than the session.
 *
 * @throws AuthenticationFault where JSON cannot express the claims of the app
 */
export function tokensOf(
  { service, method, expiry, validAfter }: SessionTools,
  { sid, claims, user, refreshToken, now, remaining }: TokenParts,
): GivenTokens {
  const nbf = Math.floor(now)
  const exp = Math.min(nbf + expiry, Math.floor(now + remaining))
  const own = { iat: issuedAt(now, user, validAfter), nbf, exp, jti: randomName(), sid }
  let token: string
  try {
    token = service.generateTokenWithClaims({ ...claims, ...own }, method)
  } catch (error) {
    throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
  }
  return {
    token,
    expiresIn: Math.max(0, exp - nbf),
    refreshToken: refreshToken.text,
    refreshExpiresIn: Math.max(0, Math.floor(remaining)),
  }
}
