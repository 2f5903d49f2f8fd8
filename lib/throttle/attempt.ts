import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import type { FailureKeys, Throttle } from './throttle.js'

/** Knows which password was accepted last for a username at an address. */
export interface AcceptedPasswords {
  accept(who: string, password: string): void
  accepts(who: string, password: string): boolean | null
}

/** One use of credentials, which the throttle may reject, and which may be counted as a failure. */
export class Attempt {
  #keys: FailureKeys | null = null
  #isCounted = false

  /** @param username - for a token, what tells it from others. @param password - empty for a token */
  constructor(
    private readonly tools: {
      readonly throttle: Throttle | null
      readonly cache: AcceptedPasswords | null
    },
    readonly username: string,
    readonly password: string,
    readonly request: FastifyRequest,
  ) {}

  #who(throttle: Throttle): FailureKeys {
    return (this.#keys ??= throttle.keysOf(this.username, this.request.ip))
  }

  /** Whether the password is the one that was accepted last; null where none is cached. */
  get isCached(): boolean | null {
    const { throttle, cache } = this.tools
    return (throttle && cache?.accepts(this.#who(throttle).username.join(), this.password)) ?? null
  }

  /**
   * Without `everywhere`, a cached password passes where only its username has too many failures, so that guesses do
   * not lock out a user at the same address. With it, Redis is asked too, which costs a round trip.
   */
  rejectIfThrottled(everywhere = false): Promise<void> | undefined {
    const { throttle } = this.tools
    if (throttle === null || !(everywhere || throttle.hasFailed(this.request.ip))) return undefined
    return this.#reject(throttle, everywhere)
  }

  async #reject(throttle: Throttle, everywhere: boolean): Promise<void> {
    const who = this.#who(throttle)
    const [byUsername, byAddress] = await throttle.waits(who, everywhere)
    const wait = Math.max(byUsername, byAddress)
    if (wait === 0) return
    const isCached = byAddress === 0 ? this.isCached : null
    if (isCached === true && !everywhere) return
    // The password was compared with the cached one, so it is a guess, which counts.
    if (isCached === false) await this.commitFailure()
    else if (this.#isCounted) who.all.forEach((key) => throttle.memory.reward(key))
    throttle.throttled += 1
    throw rejection('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) })
  }

  /** Counts the attempt as a failure in this process, at once: simultaneous guesses must not exceed the limit. */
  countInAdvance(): void {
    const { throttle } = this.tools
    if (throttle === null || this.#isCounted) return
    this.#isCounted = true
    throttle.count(this.#who(throttle))
  }

  async commitFailure(): Promise<void> {
    this.countInAdvance()
    const { throttle } = this.tools
    if (throttle !== null) await throttle.share(this.#who(throttle))
  }

  /**
   * Deletes the failures of the username; those of the address stay. With `cached`, Redis is not asked where this
   * process has counted no failure.
   */
  async succeeded(cached = false): Promise<void> {
    const { throttle, cache } = this.tools
    if (throttle === null || (cached && !throttle.hasFailed(this.request.ip))) return
    const { username } = this.#who(throttle)
    cache?.accept(username.join(), this.password)
    const { memory, redis } = throttle
    const known = username.map((key) => memory.delete(key))
    if (redis === null || (cached && !known.includes(true))) return
    await Promise.all(username.map((key) => redis.delete(key)))
  }
}
