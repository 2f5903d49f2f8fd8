import type { FastifyRequest } from 'fastify'
import { refusal } from '../errors.js'
import { failureKeys, type FailureKeys, type Throttle } from '../throttle/throttle.js'
import type { CheckTools } from './check.js'

/** One use of a username and a password, which the throttle may reject, and which may be counted as a failure. */
export class PasswordAttempt {
  #keys: FailureKeys | null = null
  #isCounted = false

  /** @param space - see {@link failureKeys} */
  constructor(
    private readonly tools: Pick<CheckTools, 'throttle' | 'cache'>,
    readonly username: string,
    readonly password: string,
    readonly request: FastifyRequest,
    private readonly space = '',
  ) {}

  get #who(): FailureKeys {
    return (this.#keys ??= failureKeys(this.username, this.request.ip, this.space))
  }

  /** Whether its password is the one that was accepted last; null where none is cached. */
  get isCached(): boolean | null {
    return this.tools.cache?.accepts(this.#who.username, this.password) ?? null
  }

  /**
   * Rejects it after too many failures. A cached password passes where only its username has too many, so that guesses
   * do not lock out a user at the same address.
   *
   * @param everywhere - `true`: also ask Redis, which costs a round trip; then a cached password does not pass
   * @returns a promise only where there is something to look up: it rejects with ERR_AUTH_TOO_MANY_ATTEMPTS
   */
  refuseIfThrottled(everywhere = false): Promise<void> | undefined {
    const { throttle } = this.tools
    if (throttle === null || !(everywhere || throttle.hasFailed(this.request.ip))) return undefined
    return this.#refuse(throttle, everywhere)
  }

  async #refuse(throttle: Throttle, everywhere: boolean): Promise<void> {
    const [byUsername, byAddress] = await throttle.waits(this.#who, everywhere)
    const wait = Math.max(byUsername, byAddress)
    if (wait === 0) return
    const isCached = byAddress === 0 ? this.isCached : null
    if (isCached === true && !everywhere) return
    // It was compared with the cached password, so it is a guess, which counts.
    if (isCached === false) await this.commitFailure()
    else if (this.#isCounted) await this.#uncount(throttle)
    throttle.throttled += 1
    throw refusal('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) })
  }

  /** Undoes {@link countInAdvance}. */
  async #uncount({ memory }: Throttle): Promise<void> {
    for (const key of Object.values(this.#who)) {
      const counted = await memory.get(key)
      if (counted !== null && counted.consumedPoints > 0) void memory.reward(key)
    }
  }

  /** Counts it as a failure in this process, at once, so that simultaneous guesses do not exceed the limit. */
  countInAdvance(): void {
    const { throttle } = this.tools
    if (throttle === null || this.#isCounted) return
    this.#isCounted = true
    throttle.failing.set(this.#who.address, true)
    for (const key of Object.values(this.#who)) void throttle.memory.penalty(key)
  }

  /** Counts it as a failure for all processes. */
  async commitFailure(): Promise<void> {
    this.countInAdvance()
    const { throttle } = this.tools
    if (!throttle?.redis) return
    const { memory, redis } = throttle
    const { username, address } = this.#who
    const [counted] = await Promise.all([redis.penalty(username), redis.penalty(address)])
    if (!counted?.consumedPoints) return
    // Redis has a lower count where a success in another process has reset it.
    const seconds = Math.ceil(counted.msBeforeNext / 1000) || 1
    await memory.set(username, counted.consumedPoints, seconds)
  }

  /**
   * Deletes the failures of its username; those of the address stay.
   *
   * @param cached - `true`: saves asking Redis where this process has counted no failure
   */
  async succeeded(cached = false): Promise<void> {
    const { throttle, cache } = this.tools
    if (throttle === null || (cached && !throttle.hasFailed(this.request.ip))) return
    const { username } = this.#who
    cache?.accept(username, this.password)
    const isKnown = await throttle.memory.delete(username)
    if (isKnown || !cached) await throttle.redis?.delete(username)
  }
}
