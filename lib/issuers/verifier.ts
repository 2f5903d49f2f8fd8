import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { ownProperty } from '../common/objects.js'
import { typOf } from '../common/typ.js'
import { isAuthenticationError } from '../errors/errors.js'
import { checkClaims, checkKind, invalidToken, unverifiedPart } from '../tokens/claims.js'
import { TokenCache, type TokenCacheLimits } from '../tokens/cache.js'
import { isUsableName } from '../users/user.js'
import { KeySource } from './key-source.js'
import { Lookups } from '../throttle/lookups.js'
import { grantsReader } from '../users/claim-path.js'
import type { IssuerKeys } from './keys.js'
import type { VerifiedToken, VerifySignature } from '../tokens/engine.js'
import type { ResolvedIssuer } from './options.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** The reason of a rejection after which the key set is fetched again. */
const unknownKid = 'kid unknown'

export class IssuerVerifier {
  readonly source: KeySource
  readonly issuer: ResolvedIssuer
  readonly grantsOf: ReturnType<typeof grantsReader>
  readonly #waiting = new Lookups()

  constructor(issuer: ResolvedIssuer, cache: TokenCacheLimits | false, log: FastifyBaseLogger) {
    this.issuer = issuer
    this.grantsOf = grantsReader(issuer, log)
    // Each key set has a cache of its own: when the issuer withdraws a key, its tokens go with it.
    const verifierOf = (keys: IssuerKeys): VerifySignature => {
      const verify: VerifySignature = (token) => verifySignature(token, issuer, keys)
      if (cache === false) return verify
      const tokens = new TokenCache(cache)
      return (token) => tokens.get(token) ?? tokens.set(token, verify(token))
    }
    this.source = new KeySource(issuer, verifierOf, log)
  }

  /** Synchronous, unless keys have to be fetched first. @throws AuthenticationError (or a rejection with it) */
  claimsOf(token: string, request: FastifyRequest): JwtClaims | Promise<JwtClaims> {
    const verify = this.source.current()
    if (verify === null) return this.#claimsLater(token, request)
    try {
      return this.#checked(verify(token))
    } catch (error) {
      if (!isAuthenticationError(error) || error.cause !== unknownKid) throw error
      return this.#waiting.run(request, async () => {
        // Another request may have waited for the newer set.
        const newer = (await this.source.renewed()) ?? this.source.current()
        if (newer === null || newer === verify) throw error
        return this.#checked(newer(token))
      })
    }
  }

  /** Waits for a key set, unless the header alone makes the token invalid. */
  async #claimsLater(token: string, request: FastifyRequest): Promise<JwtClaims> {
    readHeader(token, this.issuer)
    const obtain = async () => this.source.current() ?? this.source.obtain()
    return this.#checked((await this.#waiting.run(request, obtain))(token))
  }

  #checked({ claims }: VerifiedToken): JwtClaims {
    checkClaims(claims, this.issuer.rules)
    // RFC 9068 §2.2 requires it, and a database that is asked for `undefined` may return its first row.
    if (!isUsableName(claims.sub)) throw invalidToken('claim sub')
    return claims
  }
}

/** The result is cached, so nothing is checked here that depends on the time. */
function verifySignature(token: string, issuer: ResolvedIssuer, { keys }: IssuerKeys) {
  const { kid, alg } = readHeader(token, issuer)
  const key = keys.get(kid)
  if (key === undefined) throw invalidToken(unknownKid)
  const verify = key.get(alg as SigningMethod)
  if (verify === undefined) throw invalidToken('alg is not that of the key')
  const verified = verify(token)
  requireAccessToken(verified.claims, issuer)
  return verified
}

/** Claims of ID tokens (OpenID Connect Core §3.1.3.6, §3.3.2.11) and of logout tokens (Back-Channel Logout §2.4). */
const foreignClaims = ['at_hash', 'c_hash', 'events']

/** The audience of an ID token is the client, which may be this app. */
export function requireAccessToken(claims: JwtClaims, { audience, audienceClaim }: ResolvedIssuer) {
  checkKind(claims)
  const foreign = foreignClaims.find((claim) => Object.hasOwn(claims, claim))
  if (foreign !== undefined) throw invalidToken(`claim ${foreign}`)
  if (audienceClaim === 'aud') return
  if (!audience.includes(ownProperty(claims, audienceClaim) as string)) {
    throw invalidToken(`claim ${audienceClaim}`)
  }
  // Only this claim distinguishes access tokens of Cognito from its ID tokens.
  if (ownProperty(claims, 'token_use') !== 'access') throw invalidToken('claim token_use')
}

/** Compact serialization (RFC 7515 §7.1): three parts of base64url. */
const compact = /^[\w-]+\.[\w-]+\.[\w-]+$/

const opaque = 'no JWT, and an opaque token needs the option "introspection" of the issuer'

/** Whether a token is a JWT, also one without a signature; all others are opaque, encrypted ones too. */
export const isJwt = (token: string): boolean =>
  /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token) && unverifiedPart(token, 0) !== null

/**
 * Reads the header of a token before its signature is verified. It only chooses one of our keys: keys in tokens, and
 * their addresses, are not used (RFC 8725 §3.10). Tokens of other issuers are rejected before any key is fetched.
 */
export function readHeader(
  token: string,
  { issuer, rules }: Pick<ResolvedIssuer, 'issuer' | 'rules'>,
  needsKid = true,
): { readonly kid: string; readonly alg: unknown } {
  if (!compact.test(token)) throw invalidToken(unverifiedPart(token, 0) ? 'no token' : opaque)
  const header = unverifiedPart(token, 0)
  if (header === null) throw invalidToken('header')
  const { kid, alg } = header
  if (unverifiedPart(token, 1)?.iss !== issuer) throw invalidToken('claim iss')
  if (!rules.typ.has(typOf(header))) throw invalidToken('typ')
  if (needsKid && typeof kid !== 'string') throw invalidToken('kid missing')
  return { kid: kid as string, alg }
}
