import type { FastifyRequest } from 'fastify'
import { failureKeys, type FailureKeys, type Throttle } from './throttle.js'

export interface AttemptTools {
  readonly throttle: Throttle | null
  /** Which password was accepted a moment ago for a username at an address; only where credentials are cached. */
  readonly cache: {
    accept(who: string, password: string): void
    /** @returns null when none was */
    accepts(who: string, password: string): boolean | null
  } | null
}

/** One username and password of a request, as the throttle sees it. */
export class PasswordAttempt {
  #keys: FailureKeys | null = null
  #isCounted = false

  constructor(
    private readonly tools: AttemptTools,
    readonly username: string,
    readonly password: string,
    readonly request: FastifyRequest,
  ) {}

  get #who(): FailureKeys {
    return (this.#keys ??= failureKeys(this.username, this.request.ip))
  }

  /** Whether the same password was accepted a moment ago; null when none was. */
  get isCached(): boolean | null {
    return this.tools.cache?.accepts(this.#who.username, this.password) ?? null
  }

  /**
   * Refuses it when there were too many failures before. A cached password passes where only its username has too
   * many, so that guesses do not lock out a user at the same address.
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
    // It was compared with the cached password: that is a guess too, which counts for its address.
    if (isCached === false) await this.commitFailure()
    else if (this.#isCounted) await throttle.uncount(this.#who)
    throttle.refuse(wait)
  }

  /** Counts it as a failure in this process, at once, so that guesses at the same time do not pass the limit. */
  countInAdvance(): void {
    if (!this.#isCounted) this.tools.throttle?.count(this.#who)
    this.#isCounted = true
  }

  /** Counts it as a failure. @returns when all processes know */
  async commitFailure(): Promise<void> {
    this.countInAdvance()
    await this.tools.throttle?.share(this.#who)
  }

  /**
   * Forgets the failures of its username; those of the address stay.
   *
   * @param cached - `true`: the password was not compared again, and Redis is not worth asking
   */
  async succeeded(cached = false): Promise<void> {
    const { throttle, cache } = this.tools
    if (throttle === null || (cached && !throttle.hasFailed(this.request.ip))) return
    cache?.accept(this.#who.username, this.password)
    await throttle.forget(this.#who, cached)
  }
}
