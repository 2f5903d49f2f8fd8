import { algorithmOf } from '../../common/algorithms.js'
import { wrongOption } from '../../errors/errors.js'
import { TokenCache, type TokenCounts } from '../cache.js'
import { createEngine, type Engine, type VerifiedToken } from '../engine.js'
import { invalidToken, unverifiedPart } from '../claims.js'
import { keyError, misfit, keyNames, type Key } from './key.js'
import type { ResolvedJwtConfig } from '../../options/resolve-jwt.js'
import type { PublicJwk, SigningMethod } from '../../../types/keys.js'

export type KeyUse = 'sign' | 'verify'

/** Keys that are used together, with a cache of the tokens that they have verified. */
export class Keyset {
  readonly keys: readonly Key[]
  /** The default algorithm of tokens that are signed; undefined where no key signs. */
  readonly signingMethod: SigningMethod | undefined
  /** Whether the `kid` of a token chooses its key; otherwise the algorithm does, and a `kid` is ignored. */
  readonly #isNamed: boolean
  readonly #algs: ReadonlySet<unknown>
  readonly #byKid: ReadonlyMap<unknown, Key>
  /** Keys of tokens without a `kid`. */
  readonly #byAlg: ReadonlyMap<unknown, Key>
  readonly #signers: ReadonlyMap<unknown, Key>
  readonly #engines = new Map<Key, Engine>()
  readonly #cache: TokenCache<VerifiedToken & { readonly key: Key }> | null

  /**
   * @param keys - of `jwt.keys`, which all have a `kid`; or of the other options, which have none
   * @throws ERR_AUTH_OPTION where keys of several algorithms sign and none is the default
   */
  constructor(
    keys: readonly Key[],
    { signingMethod, tokenCache }: Pick<ResolvedJwtConfig, 'signingMethod' | 'tokenCache'>,
    counts: TokenCounts,
  ) {
    const byAlg = (isIn: (key: Key) => boolean): Map<unknown, Key> =>
      new Map(keys.filter(isIn).map((key) => [key.alg, key]))
    this.keys = keys
    this.#isNamed = keys[0]?.kid !== undefined
    this.#algs = new Set(keys.map(({ alg }) => alg))
    this.#byKid = new Map(keys.map((key) => [key.kid, key]))
    this.#byAlg = byAlg(({ legacy }) => legacy)
    this.#signers = byAlg(({ state }) => state === 'sign')
    this.#cache = tokenCache === false ? null : new TokenCache(tokenCache, counts)
    const [first, ...others] = this.#signers.values()
    this.signingMethod = signingMethod ?? first?.alg
    if (signingMethod === undefined && others.length > 0) {
      wrongOption(
        `option "jwt.signingMethod": is missing, but keys of several algorithms have the state sign. Choose the default: jwt: { signingMethod: '${first?.alg}' }`,
      )
    }
  }

  /** How many keys are configured. One that fits several algorithms counts once. */
  get size(): number {
    return new Set(this.keys.map(({ verify }) => verify)).size
  }

  get tokens(): { size: number; bytes: number } {
    const { size = 0, bytes = 0 } = this.#cache ?? {}
    return { size, bytes }
  }

  /** The keys that verify tokens of a method, or of the default; those that sign come first. */
  keysFor(method?: SigningMethod): readonly Key[] {
    const accepted = this.#accepted(method)
    return this.keys
      .filter(({ alg }) => accepted === undefined || alg === accepted)
      .sort((one, other) => Number(other.state === 'sign') - Number(one.state === 'sign'))
  }

  has(method: SigningMethod | undefined, use: KeyUse): boolean {
    if (use === 'sign') return this.#signers.has(method ?? this.signingMethod)
    const accepted = this.#accepted(method)
    return accepted === undefined ? this.keys.length > 0 : this.#algs.has(accepted)
  }

  /** Whether a key verifies tokens with this `alg`, where tokens of a method, or of the default, are accepted. */
  accepts(alg: unknown, method: SigningMethod | undefined): boolean {
    return this.#algs.has(alg) && alg === (this.#accepted(method) ?? alg)
  }

  /** Makes sure that there is a key, and that the engine takes it. @throws ERR_AUTH_KEY */
  prepare(method: SigningMethod | undefined, use: KeyUse, wanted: string): void {
    if (!this.has(method, use)) this.#missing(method, use, wanted)
    if (use === 'sign') this.signer(method, wanted)
    else for (const key of this.keysFor(method)) this.#engineOf(key)
  }

  signer(method: SigningMethod | undefined, wanted: string): Engine['sign'] {
    const key = this.#signers.get(method ?? this.signingMethod)
    return key === undefined ? this.#missing(method, 'sign', wanted) : this.#engineOf(key).sign
  }

  /**
   * @param method - the only one to accept; default: `jwt.signingMethod`, with `jwt.keys` that of the token's key
   * @throws AuthenticationError; ERR_AUTH_KEY where there is no key for the method
   */
  verify(token: string, method?: SigningMethod): VerifiedToken {
    const accepted = this.#accepted(method)
    const cached = this.#cache?.get(token)
    const key = cached === undefined ? this.#keyOf(token, accepted) : cached.key
    if (accepted !== undefined && key.alg !== accepted) throw invalidToken('alg')
    if (key.until !== Infinity && !(Date.now() < key.until)) throw invalidToken('key expired')
    if (cached !== undefined) return cached
    const { claims, typ } = this.#engineOf(key).verify(token)
    const verified = { claims, typ, key }
    return this.#cache === null ? verified : this.#cache.set(token, verified)
  }

  publish(now = Date.now()): PublicJwk[] {
    return this.keys.flatMap(({ jwk, until }) => (jwk !== undefined && now < until ? jwk : []))
  }

  #accepted(method: SigningMethod | undefined): SigningMethod | undefined {
    return method ?? (this.#isNamed ? undefined : this.signingMethod)
  }

  #engineOf(key: Key): Engine {
    const known = this.#engines.get(key)
    if (known !== undefined) return known
    const engine = createEngine(key, key.alg, key.kid)
    this.#engines.set(key, engine)
    return engine
  }

  /**
   * The `kid` alone chooses the key, and the token's `alg` has to be that of the key (RFC 8725 §3.1). Header members
   * with a key or its address (`jwk`, `jku`, `x5c`, `x5u`) are not read: the sender would choose the key.
   */
  #keyOf(token: string, accepted: SigningMethod | undefined): Key {
    const unnamed = this.#isNamed ? undefined : this.#byAlg.get(accepted)
    if (unnamed !== undefined) return unnamed
    if (!this.has(accepted, 'verify')) this.#missing(accepted, 'verify', 'verify()')
    const { alg, kid } = unverifiedPart(token, 0) ?? {}
    const key = kid === undefined ? this.#byAlg.get(alg) : this.#byKid.get(kid)
    if (key === undefined) throw invalidToken(kid === undefined ? 'no kid' : 'unknown kid')
    if (key.alg !== alg) throw invalidToken('alg of kid')
    return key
  }

  #missing(method: SigningMethod | undefined, use: KeyUse, wanted: string): never {
    const alg = method ?? this.signingMethod
    const family = alg && algorithmOf(alg).family
    if (this.#isNamed || alg === undefined || family === undefined) {
      const what = `no key${use === 'sign' ? ' with the state sign' : ''}${alg ? ` for ${alg}` : ''}`
      const remedy = `Add one with: npx fastify-authn keys init ${alg ?? 'ES256'}`
      keyError('option "jwt.keys"', `has ${what}, but ${wanted} needs one to ${use}.`, remedy)
    }
    const name = keyNames(`jwt.${family}`)
    const remedy = 'Set it, or choose another signing method.'
    const key = this.keys.find((each) => algorithmOf(each.alg).family === family)
    if (key === undefined) keyError(name(), `is missing, but ${wanted} needs ${alg}.`, remedy)
    const problem = misfit(key, alg)
    if (problem !== null) keyError(name(), `${problem}, which ${wanted} needs.`, remedy)
    keyError(name('private'), `is missing, but ${wanted} needs it to sign.`, 'Set it.')
  }
}
