import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import type { FailureKeys, Throttle } from '../throttle/throttle.js'
import type { CredentialCache } from './credential-cache.js'
import { nfcOf } from './nfc.js'
import type { Hashing } from './verify.js'
import type { UserService } from '../../types/user-service.js'

export interface CheckTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly userServiceTimeout: number | undefined
  readonly hashing: Hashing
  readonly throttle: Throttle | null
  /** Only for Basic, which sends the password with every request. */
  readonly cache: CredentialCache | null
}

/** One use of a username and a password, which the throttle may reject, and which may be counted as a failure. */
export class PasswordAttempt {
  #keys: FailureKeys | null = null
  #isCounted = false

  constructor(
    private readonly tools: Pick<CheckTools, 'throttle' | 'cache'>,
    readonly username: string,
    readonly password: string,
    readonly request: FastifyRequest,
  ) {}

  #who(throttle: Throttle): FailureKeys {
    return (this.#keys ??= throttle.keysOf(this.username, this.request.ip))
  }

  /** Whether its password is the one that was accepted last; null where none is cached. */
  get isCached(): boolean | null {
    const { throttle, cache } = this.tools
    return (throttle && cache?.accepts(this.#who(throttle).username, nfcOf(this.password))) ?? null
  }

  /**
   * Rejects it after too many failures. A cached password passes where only its username has too many, so that guesses
   * do not lock out a user at the same address.
   *
   * @param everywhere - `true`: also ask Redis, which costs a round trip; then a cached password does not pass
   * @returns a promise only where there is something to look up: it rejects with ERR_AUTH_TOO_MANY_ATTEMPTS
   */
  rejectIfThrottled(everywhere = false): Promise<void> | undefined {
    const { throttle } = this.tools
    if (throttle === null || !(everywhere || throttle.hasFailed(this.request.ip))) return undefined
    return this.#reject(throttle, everywhere)
  }

  async #reject(throttle: Throttle, everywhere: boolean): Promise<void> {
    const [byUsername, byAddress] = await throttle.waits(this.#who(throttle), everywhere)
    const wait = Math.max(byUsername, byAddress)
    if (wait === 0) return
    const isCached = byAddress === 0 ? this.isCached : null
    if (isCached === true && !everywhere) return
    // It was compared with the cached password, so it is a guess, which counts.
    if (isCached === false) await this.commitFailure()
    else if (this.#isCounted) this.#uncount(throttle)
    throttle.throttled += 1
    throw rejection('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) })
  }

  /** Undoes {@link countInAdvance}. */
  #uncount(throttle: Throttle): void {
    const { username, address } = this.#who(throttle)
    for (const key of [username, address]) throttle.memory.reward(key)
  }

  /** Counts it as a failure in this process, at once, so that simultaneous guesses do not exceed the limit. */
  countInAdvance(): void {
    const { throttle } = this.tools
    if (throttle === null || this.#isCounted) return
    this.#isCounted = true
    throttle.count(this.#who(throttle))
  }

  /** Counts it as a failure for all processes. */
  async commitFailure(): Promise<void> {
    this.countInAdvance()
    const { throttle } = this.tools
    if (throttle !== null) await throttle.share(this.#who(throttle))
  }

  /**
   * Deletes the failures of its username; those of the address stay.
   *
   * @param cached - `true`: saves asking Redis where this process has counted no failure
   */
  async succeeded(cached = false): Promise<void> {
    const { throttle, cache } = this.tools
    if (throttle === null || (cached && !throttle.hasFailed(this.request.ip))) return
    const { username } = this.#who(throttle)
    cache?.accept(username, nfcOf(this.password))
    const isKnown = throttle.memory.delete(username)
    if (isKnown || !cached) await throttle.redis?.delete(username)
  }
}
