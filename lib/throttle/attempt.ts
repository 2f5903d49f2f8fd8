import type { FastifyRequest } from 'fastify'
import type { AcceptedPasswords } from './accepted.js'
import { suspect, type Suspect } from './client-key.js'
import type { Throttle } from './throttle.js'

/** What attempts of a registration are judged with. */
export interface AttemptTools {
  readonly throttle: Throttle | null
  /** Only where credentials are remembered. */
  readonly accepted: AcceptedPasswords | null
}

/** Where a request keeps failures that are held. Global, since `anyOf` and its members can come from two copies of the package. */
const kHeld: unique symbol = Symbol.for('fastify-authn.held')

interface Holder {
  [kHeld]?: Map<Throttle, PasswordAttempt> | undefined
}

/** One username and password of a request, as the throttle sees it. */
export class PasswordAttempt {
  readonly #throttle: Throttle | null
  readonly #accepted: AcceptedPasswords | null
  #suspect: Suspect | null = null
  /** Whether the same password was accepted a moment ago, so that failures of others do not matter. */
  #wasAccepted = false
  #isCounted = false
  #failure: Promise<void> | null = null

  constructor(
    { throttle, accepted }: AttemptTools,
    readonly username: string,
    readonly password: string,
    readonly request: FastifyRequest,
  ) {
    this.#throttle = throttle
    this.#accepted = accepted
  }

  /** Whether the same password was accepted for its username from its address a moment ago. */
  get isRemembered(): boolean {
    return this.#accepted?.matches(this.#who.username, this.password) === true
  }

  /**
   * Refuses it when there were too many failures before.
   *
   * @param everywhere - whether those that only other processes know of are worth asking the shared store
   * @returns a promise only when there is something to look up
   * @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS
   */
  begin(everywhere = false): Promise<void> | undefined {
    const throttle = this.#throttle
    if (throttle === null || this.#wasAccepted) return undefined
    const known = throttle.hasFailed(this.request.ip)
    return known || (everywhere && throttle.isShared)
      ? this.#begin(throttle, everywhere)
      : undefined
  }

  async #begin(throttle: Throttle, everywhere: boolean): Promise<void> {
    const waits = await throttle.waits(this.#who, everywhere)
    const wait = Math.max(...Object.values(waits))
    if (wait === 0) return
    if (waits.address === 0 && waits.network === 0) {
      const matches = this.#accepted?.matches(this.#who.username, this.password)
      this.#wasAccepted = matches === true
      if (this.#wasAccepted) return
      // It was compared with a password: also this is a guess, which counts for its address.
      if (matches === false) await this.failed()
    }
    throttle.refuse(wait)
  }

  /**
   * Counts it before it is judged: of attempts that are judged at the same time, no more than the limit get an answer.
   * Attempts that wait at the gate do not need it, since each is counted before the next one starts.
   */
  async claim(): Promise<void> {
    const throttle = this.#throttle
    if (throttle === null || this.#wasAccepted) return
    this.#isCounted = true
    await throttle.claim(this.#who)
  }

  /** Counts it as a failure, once: in this process at once. @returns when all processes know */
  failed(): Promise<void> {
    return (this.#failure ??= this.#fail())
  }

  async #fail(): Promise<void> {
    const throttle = this.#throttle
    if (throttle === null) return
    if (this.#wasAccepted) this.#accepted?.delete(this.#who.username)
    const held = (this.request as Holder)[kHeld]
    if (held?.has(throttle)) return this.#uncount(throttle)
    if (!this.#isCounted) void throttle.count(this.#who)
    if (held === undefined) await throttle.share(this.#who)
    else held.set(throttle, this)
  }

  /** Decides on a failure that was held: see {@link holdFailures}. */
  async settle(accepted: boolean): Promise<void> {
    await (accepted ? this.#throttle?.takeBack(this.#who) : this.#throttle?.share(this.#who))
  }

  /**
   * Forgets the failures of its username; those of the address stay.
   *
   * @param remembered - whether the password was not compared again: nothing is asked of the shared store then
   */
  succeeded(remembered = false): Promise<void> | undefined {
    const throttle = this.#throttle
    if (throttle === null) return undefined
    const mayForget = throttle.hasFailed(this.request.ip)
    if (mayForget || !remembered) this.#accepted?.add(this.#who.username, this.password)
    if (!mayForget && (remembered || !throttle.isShared)) return undefined
    return this.#forget(throttle, remembered)
  }

  async #forget(throttle: Throttle, remembered: boolean): Promise<void> {
    await this.#uncount(throttle)
    await throttle.forget(this.#who, remembered)
  }

  async #uncount(throttle: Throttle): Promise<void> {
    if (this.#isCounted) await throttle.takeBack(this.#who)
  }

  get #who(): Suspect {
    return (this.#suspect ??= suspect(this.username, this.request.ip))
  }
}

/**
 * Holds the failures of a request that several authenticators are asked about: they count only when none of
 * them accepts, and once. In this process they count meanwhile, or guesses at the same time would pass the limit.
 *
 * @returns what ends it; undefined where they are held already
 */
export function holdFailures(
  request: FastifyRequest,
): ((accepted: boolean) => Promise<void>) | undefined {
  const holder = request as Holder
  if (holder[kHeld] !== undefined) return undefined
  const held = (holder[kHeld] = new Map<Throttle, PasswordAttempt>())
  return async (accepted) => {
    holder[kHeld] = undefined
    for (const attempt of held.values()) await attempt.settle(accepted)
  }
}
