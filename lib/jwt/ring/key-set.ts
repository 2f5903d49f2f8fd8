import { wrongOption } from '../../errors.js'
import { algorithmOf } from '../../common/algorithms.js'
import { createEngine, type Sign, type VerifySignature } from '../engine.js'
import { keyError } from '../keys/ring.js'
import type { HeldKey, KeysInForce, KeyUse } from '../key-holder.js'
import type { RingKey } from './load.js'
import type { RingVerifier, UsedKey } from './verifier.js'
import type { PublicJwk, SigningMethod } from '../../../types/keys.js'

/** The keys of a ring, with the engines that use them. */
export class RingKeySet implements KeysInForce {
  readonly signingMethod: SigningMethod | undefined
  readonly #keys: readonly UsedKey[]
  readonly #signers: ReadonlyMap<SigningMethod, UsedKey>
  readonly #verifier: RingVerifier
  readonly #verifiers = new Map<SigningMethod | undefined, VerifySignature>()

  /**
   * @param signingMethod - the option of this name: it chooses the key that signs, where there are several
   * @throws ERR_AUTH_OPTION when it has to, and does not
   */
  constructor(
    ring: readonly RingKey[],
    signingMethod: SigningMethod | undefined,
    verifier: RingVerifier,
  ) {
    this.#keys = ring.map((key) => ({
      ...key,
      engine: createEngine(key.key, key.alg, key.kid),
      life: { alg: key.alg, until: key.until },
    }))
    const signers = this.#keys.filter(({ state }) => state === 'sign')
    this.#signers = new Map(signers.map((key) => [key.alg, key]))
    this.#verifier = verifier
    const [first, ...others] = this.#signers.keys()
    if (signingMethod === undefined && others.length > 0) {
      wrongOption(
        `option "jwt.signingMethod": is missing, but keys for ${[first, ...others].join(' and ')} have the state sign. Say which one signs what names no method: jwt: { signingMethod: '${first}' }`,
      )
    }
    this.signingMethod = signingMethod ?? first
  }

  get size(): number {
    return this.#keys.length
  }

  get tokens(): { size: number; bytes: number } {
    return this.#verifier.tokens
  }

  begin(): void {
    this.#verifier.use(this.#keys)
  }

  keysOf(method?: SigningMethod): readonly HeldKey[] {
    return this.#keys
      .filter(({ alg }) => method === undefined || alg === method)
      .toSorted((one, other) => Number(other.state === 'sign') - Number(one.state === 'sign'))
      .map(({ alg, kid, key }) => ({ method: alg, kid, key }))
  }

  has(method: SigningMethod | undefined, use: KeyUse): boolean {
    return use === 'sign' ? this.#signerOf(method) !== undefined : this.keysOf(method).length > 0
  }

  prepare(method: SigningMethod | undefined, use: KeyUse, wanted: string): void {
    if (method !== undefined) algorithmOf(method)
    if (this.has(method, use)) return
    const of = method ?? this.signingMethod
    const what = `no key ${use === 'sign' ? 'with the state sign ' : ''}${of ? `for ${of}` : ''}`
    const remedy = `Add one with: npx fastify-authn keys init ${of ?? 'ES256'}`
    keyError('jwt.keys', `has ${what.trim()}, but ${wanted} needs one to ${use}.`, remedy)
  }

  signer(method: SigningMethod | undefined, wanted: string): Sign {
    this.prepare(method, 'sign', wanted)
    return (this.#signerOf(method) as UsedKey).engine.sign
  }

  verifier(method: SigningMethod | undefined, wanted: string): VerifySignature {
    const known = this.#verifiers.get(method)
    if (known !== undefined) return known
    this.prepare(method, 'verify', wanted)
    const verifier = this.#verifier.verifier(method)
    this.#verifiers.set(method, verifier)
    return verifier
  }

  published(now = Date.now()): PublicJwk[] {
    return this.#keys
      .filter(({ until }) => now < until)
      .flatMap(({ jwk, kid, alg }) =>
        jwk === null ? [] : [{ ...jwk, kid, alg, use: 'sig' } as PublicJwk],
      )
  }

  #signerOf(method = this.signingMethod): UsedKey | undefined {
    return method && this.#signers.get(method)
  }
}
