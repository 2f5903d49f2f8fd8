import { checkClaims, invalidToken } from '../../tokens/claims.js'
import { ownProperty } from '../../common/objects.js'
import { isUsableName } from '../../users/user.js'
import { requireAccessToken } from '../verifier.js'
import type { ResolvedRules } from '../../options/resolve-jwt.js'
import type { Introspecting } from '../options.js'
import type { JwtClaims } from '../../../types/request-extra.js'

/** What an access token says that it is. The endpoint also answers for refresh tokens. */
const kinds = {
  token_type: /^bearer$/i,
  token_use: /^access(?:_token)?$/,
  typ: /^(?:bearer|jwt|at\+jwt)$/i,
}

/**
 * Checks an answer by the rules of the JWTs of its issuer (RFC 7662 §2.2).
 * @returns the rules for its claims, for later uses of it @throws AuthenticationError
 */
export function checkAnswer(claims: JwtClaims, issuer: Introspecting): ResolvedRules {
  const { audienceClaim, introspection } = issuer
  if (claims.active !== true) throw invalidToken('token inactive')
  const { optionalClaims = [] } = introspection
  const mayLack = (claim: (typeof optionalClaims)[number]) => optionalClaims.includes(claim)
  const { aud } = claims
  const lacksAudience = !Object.hasOwn(claims, 'aud') || (Array.isArray(aud) && aud.length === 0)
  const rules = { ...issuer.rules }
  if (!Object.hasOwn(claims, 'iss')) rules.issuer = undefined
  if (lacksAudience && mayLack('aud')) rules.audience = false
  checkClaims(claims, rules)
  requireAccessToken(claims, issuer)
  for (const [claim, pattern] of Object.entries(kinds)) {
    const value = ownProperty(claims, claim)
    // Without an audience, only the type shows that a token is no refresh token.
    const isNeeded = lacksAudience && audienceClaim === 'aud' && claim === 'token_type'
    if (value === undefined && (!isNeeded || mayLack('token_type'))) continue
    if (typeof value !== 'string' || !pattern.test(value)) throw invalidToken(`claim ${claim}`)
  }
  const lacksSubject = mayLack('sub') && !Object.hasOwn(claims, 'sub')
  if (!lacksSubject && !isUsableName(claims.sub)) throw invalidToken('claim sub')
  return rules
}
