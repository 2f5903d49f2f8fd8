import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { digestOf } from '../../common/digest.js'
import { ownProperty } from '../../common/objects.js'
import { b64token, credentialsOf } from '../../http/authorization.js'
import { since } from '../../http/renewed.js'
import { Lookups, overloaded } from '../../throttle/lookups.js'
import { checkClaims, invalidToken } from '../../tokens/claims.js'
import { freeze } from '../../tokens/engine.js'
import { isUsableName } from '../../users/user.js'
import { isJwt, readHeader, requireAccessToken } from '../verifier.js'
import { Endpoint } from './endpoint.js'
import type { ResolvedRules } from '../../options/resolve-jwt.js'
import type { Introspecting } from '../options.js'
import type { IntrospectionStats } from '../../../types/introspection.js'
import type { JwtClaims } from '../../../types/request-extra.js'

/** Characters of an opaque token; milliseconds for which a rejected one is not asked about; those sent at a time. */
const [longest, rejectedLife, atOnce] = [4_096, 5_000, 32]

/** What came of a token, at a time by one clock, for milliseconds by both: the cache uses the other one. */
type Kept<Result> = Readonly<{ result: Result; at: number; life: number }>
type Cache<Result> = LRUCache<string, Kept<Result>>
type Accepted = Readonly<{ claims: JwtClaims; rules: ResolvedRules }>

/** Validates tokens of one issuer by introspection (RFC 7662). It stores the SHA-256 of tokens, and no token. */
export class Introspection {
  readonly endpoint: Endpoint
  readonly #accepted: Cache<Accepted> = new LRUCache({ max: 10_000, maxSize: 8 * 2 ** 20 })
  /** Apart, so that a flood of bad tokens displaces no good one. */
  readonly #rejected: Cache<unknown> = new LRUCache({ max: 1_000, maxSize: 1_000 })
  readonly #asked = new Map<string, Promise<Accepted>>()
  readonly #lookups = new Lookups(atOnce)

  /** @param isForeign - whether the token of a request is for another feature of the app, so that the issuer must not see it */
  constructor(
    private readonly issuer: Introspecting,
    private readonly isForeign: (request: FastifyRequest) => boolean,
    log: FastifyBaseLogger,
  ) {
    this.endpoint = new Endpoint(issuer, log)
  }

  /** Synchronous for a token whose answer is cached. @throws AuthenticationError (or a rejection with it) */
  claimsOf(token: string, request: FastifyRequest): JwtClaims | Promise<JwtClaims> {
    const key = digestOf(token)
    const accepted = fresh(this.#accepted.get(key))
    return accepted === undefined ? this.#wait(token, key, request) : checked(accepted)
  }

  /** Whether the token of a request is opaque, and may be sent to the issuer. */
  takes(request: FastifyRequest): boolean {
    const token = credentialsOf(request.headers.authorization, 'Bearer')
    return typeof token === 'string' && !isJwt(token) && !this.isForeign(request)
  }

  stats(): IntrospectionStats {
    return { ...this.endpoint.sent, cached: this.#accepted.size }
  }

  async #wait(token: string, key: string, request: FastifyRequest): Promise<JwtClaims> {
    const known = this.#known(key)
    if (known !== undefined) return checked(await known)
    if (isJwt(token)) readHeader(token, this.issuer, false)
    else if (token.length > longest || !b64token.test(token) || this.isForeign(request)) {
      throw invalidToken('no token')
    }
    const start = performance.now()
    const inTurn = async () => {
      if (performance.now() - start >= 5_000) throw overloaded()
      return this.#known(key) ?? this.#ask(token, key)
    }
    return checked(await this.#lookups.run(request, inTurn))
  }

  #known(key: string): Accepted | Promise<Accepted> | undefined {
    const rejected = fresh(this.#rejected.get(key))
    if (rejected !== undefined) throw rejected
    return fresh(this.#accepted.get(key)) ?? this.#asked.get(key)
  }

  #ask(token: string, key: string): Promise<Accepted> {
    const asked = this.#answer(token, key).finally(() => this.#asked.delete(key))
    this.#asked.set(key, asked)
    return asked
  }

  async #answer(token: string, key: string): Promise<Accepted> {
    // The time of an answer begins before it: a token may be revoked while it is asked about.
    const start = performance.now()
    const { claims, bytes } = await this.endpoint.ask(token)
    const cache = 1000 * (this.issuer.introspection.cache ?? 60)
    try {
      const accepted = { claims, rules: checkAnswer(claims, this.issuer) }
      freeze(claims)
      const untilExp = 1000 * (claims.exp ?? Infinity) - Date.now()
      const life = Math.min(cache - (performance.now() - start), untilExp)
      keep(this.#accepted, key, accepted, life, bytes)
      return accepted
    } catch (error) {
      if (cache > 0) keep(this.#rejected, key, error, rejectedLife, 1)
      throw error
    }
  }
}

function checked({ claims, rules }: Accepted): JwtClaims {
  checkClaims(claims, rules)
  return claims
}

function fresh<Result>(kept: Kept<Result> | undefined): Result | undefined {
  return kept !== undefined && since(kept.at) < kept.life ? kept.result : undefined
}

function keep<R>(cache: Cache<R>, key: string, result: R, life: number, size: number): void {
  if (life > 0) cache.set(key, { result, at: Date.now(), life }, { ttl: Math.ceil(life), size })
}

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
function checkAnswer(claims: JwtClaims, issuer: Introspecting): ResolvedRules {
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
