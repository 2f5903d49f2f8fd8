import { refusal } from '../errors.js'
import type { JwtClaims } from '../../types/request-extra.js'
import type { SessionEnd, SessionWatcher } from '../../types/sessions.js'

/** Seconds after which a client may try again while it is not known which sessions are ended. */
const retryAfter = 1

/** Milliseconds between two searches for ends that are over. */
const sweepEvery = 10_000

/**
 * The sessions that were ended while access tokens of theirs can still be valid: all that this process knows of,
 * so that no request has to ask the store.
 */
export class Ends implements SessionWatcher {
  /** Until when each is kept, in milliseconds on the clock of `performance.now()`. */
  readonly #ended = new Map<string, number>()
  #nextSweep = 0
  readonly #whenLost: (error: unknown) => void
  #isCaughtUp = false
  #hasCaughtUp = false
  #settle: (() => void) | undefined
  /** Resolves when the store has told for the first time what is ended, or that it cannot. */
  readonly settled: Promise<void>

  /** @param whenLost - called when the store cannot be reached any more */
  constructor(whenLost: (error: unknown) => void) {
    this.#whenLost = whenLost
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** Whether the store tells now what is ended. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp
  }

  /** How many are kept. */
  get size(): number {
    this.#forget()
    return this.#ended.size
  }

  has(sid: string): boolean {
    return this.#ended.has(sid)
  }

  /** Keeps the end of a session for so many seconds. */
  add(sid: string, seconds: number): void {
    const until = performance.now() + seconds * 1000
    if (until > (this.#ended.get(sid) ?? 0)) this.#ended.set(sid, until)
    if (performance.now() >= this.#nextSweep) this.#forget()
  }

  /** @throws AuthenticationError for a token of a session that is ended, and while that is not known */
  judge({ sid }: JwtClaims): void {
    if (sid === undefined) return
    if (!this.#hasCaughtUp) {
      throw refusal('auth.overloaded', { code: 'ERR_AUTH_STORE_UNAVAILABLE', retryAfter })
    }
    if (this.#ended.size > 0 && this.#ended.has(sid as string)) {
      throw refusal('auth.jwt-invalid', { cause: 'session ended' })
    }
  }

  ended(ends: readonly SessionEnd[], now: number): void {
    for (const { sid, until } of ends) if (until > now) this.add(sid, until - now)
  }

  caughtUp(): void {
    this.#isCaughtUp = true
    this.#hasCaughtUp = true
    this.#settle?.()
  }

  lost(error: unknown): void {
    this.#isCaughtUp = false
    this.#settle?.()
    this.#whenLost(error)
  }

  /** Drops those that no valid token can carry any more. All are looked at: some are kept for far longer than others. */
  #forget(): void {
    const now = performance.now()
    this.#nextSweep = now + sweepEvery
    for (const [sid, until] of this.#ended) if (until <= now) this.#ended.delete(sid)
  }
}
