import type { FastifyBaseLogger } from 'fastify'
import { ownOf } from '../common/objects.js'
import { isAuthenticationError } from '../errors.js'
import { checkClaims } from '../tokens/claims.js'
import { TokenCache, type TokenCacheLimits } from '../tokens/cache.js'
import { KeySource } from './key-source.js'
import { readHeader, unknownKid } from './token.js'
import { invalidToken } from '../tokens/invalid.js'
import type { IssuerKeys } from './keys.js'
import type { VerifiedToken, VerifySignature } from '../tokens/engine.js'
import type { ResolvedIssuer } from '../options/resolve-issuers.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Verifies the tokens of one issuer. */
export class IssuerJudge {
  readonly source: KeySource<VerifySignature>
  readonly issuer: ResolvedIssuer

  constructor(
    issuer: ResolvedIssuer,
    tokenCache: TokenCacheLimits | false,
    log: FastifyBaseLogger,
  ) {
    this.issuer = issuer
    // A cache belongs to one set: when that is replaced, the tokens of its keys are verified again.
    this.source = new KeySource(
      issuer,
      (keys) => {
        const verify = verifierOf(issuer, keys)
        if (tokenCache === false) return verify
        const cache = new TokenCache(tokenCache)
        return (token) => cache.get(token) ?? cache.set(token, verify(token))
      },
      log,
    )
  }

  /**
   * The claims of a token. Synchronous, unless keys have to be fetched first.
   *
   * @throws AuthenticationError (or a rejection with it)
   */
  claimsOf(token: string): JwtClaims | Promise<JwtClaims> {
    const verify = this.source.usable()
    if (verify === null) return this.#later(token)
    try {
      return this.#checked(verify(token))
    } catch (error) {
      if (!isUnknownKid(error)) throw error
      const renewed = this.source.renewed()
      if (renewed === null) throw error
      return renewed.then((other) => this.#checked((other ?? verify)(token)))
    }
  }

  /** Waits for the first set, unless the token is bad whatever the keys are. */
  async #later(token: string): Promise<JwtClaims> {
    readHeader(token, this.issuer)
    const verify = await this.source.obtain()
    return this.#checked(verify(token))
  }

  #checked({ claims }: VerifiedToken): JwtClaims {
    checkClaims(claims, this.issuer.rules)
    return claims
  }
}

function isUnknownKid(error: unknown): boolean {
  return isAuthenticationError(error) && error.cause === unknownKid
}

/** Verifies signatures by the keys of one set. What does not depend on the time is checked here, and remembered. */
function verifierOf(issuer: ResolvedIssuer, { keys }: IssuerKeys): VerifySignature {
  return (token) => {
    const { kid, alg } = readHeader(token, issuer)
    const key = keys.get(kid)
    if (key === undefined) throw invalidToken(unknownKid)
    const verifier = key.verifiers.get(alg as SigningMethod)
    if (verifier === undefined) throw invalidToken('alg is not that of the key')
    const verified = verifier()(token)
    checkKind(verified.claims, issuer)
    return verified
  }
}

function checkKind(claims: JwtClaims, { audience, audienceClaim }: ResolvedIssuer): void {
  // A token that is bound to a key of its owner is no bearer token (RFC 8705 §3, RFC 9449 §6).
  if (Object.hasOwn(claims, 'cnf')) throw invalidToken('claim cnf')
  if (audienceClaim === 'aud') return
  if (!audience.includes(ownOf(claims, audienceClaim) as string))
    throw invalidToken(`claim ${audienceClaim}`)
  // ID tokens of Cognito name their client in `aud`, and refresh tokens are no JWS; yet only this says "access".
  if (ownOf(claims, 'token_use') !== 'access') throw invalidToken('claim token_use')
}
