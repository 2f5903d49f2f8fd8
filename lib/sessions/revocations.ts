import { LRUCache } from 'lru-cache'
import { rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import type { JwtClaims } from '../../types/request-extra.js'
import type { Revocation, SessionWatcher } from '../../types/sessions.js'

/** Seconds after which a client may try again while it is not known which sessions are revoked. */
const retryAfter = 1
/** Milliseconds between two searches for revocations that have expired. */
const sweepEvery = 10_000

/** The sessions whose revocation this process has published: several apps in it may learn of one. */
const published = new LRUCache<string, true>({ max: 10_000 })

/** Revoked sessions whose access tokens have not expired yet, in memory, so that no request has to ask the store. */
export class Revocations implements SessionWatcher {
  /** The time at which the revocation of each `sid` expires, on the clock of `performance.now()`. */
  readonly #until = new Map<string, number>()
  #nextSweep = 0
  isCaughtUp = false
  /** The name in its events. */
  registration = ''
  #hasCaughtUp = false
  #settle: ((error?: unknown) => void) | undefined
  /** Resolves when the store has reported all revocations for the first time, or, to the error, when it has failed. */
  readonly settled = new Promise<unknown>((resolve) => (this.#settle = resolve))

  /** @param onLost - called when the store becomes unavailable; `isFirst`: it was never available before */
  constructor(private readonly onLost: (error: unknown, isFirst: boolean) => void) {}

  get size(): number {
    this.#sweep()
    return this.#until.size
  }

  has(sid: string): boolean {
    return this.#until.has(sid)
  }

  add(sid: string, seconds: number): void {
    const until = performance.now() + seconds * 1000
    const isNew = !this.#until.has(sid)
    if (until > (this.#until.get(sid) ?? 0)) this.#until.set(sid, until)
    // Before the first `caughtUp`, tokens of sessions are rejected, so that nothing can be open.
    if (isNew && this.#hasCaughtUp && !published.has(sid)) {
      published.set(sid, true)
      channelOf('revoked').publish({ sid, registration: this.registration })
    }
    if (performance.now() >= this.#nextSweep) this.#sweep()
  }

  /** @throws AuthenticationError for a token of a revoked session, and while it is not known which are revoked */
  check({ sid }: JwtClaims): void {
    if (sid === undefined) return
    if (!this.#hasCaughtUp) {
      throw rejection('auth.overloaded', { code: 'ERR_AUTH_STORE_UNAVAILABLE', retryAfter })
    }
    if (this.#until.size > 0 && this.#until.has(sid as string)) {
      throw rejection('auth.logged-out', { cause: 'session revoked' })
    }
  }

  revoked(revocations: readonly Revocation[], now: number): void {
    for (const { sid, until } of revocations) if (until > now) this.add(sid, until - now)
  }

  caughtUp(): void {
    this.isCaughtUp = true
    this.#hasCaughtUp = true
    this.#settle?.()
  }

  lost(error: unknown): void {
    this.isCaughtUp = false
    this.#settle?.(error)
    this.onLost(error, !this.#hasCaughtUp)
  }

  /** Looks at all revocations, since they do not expire in the order in which they were added. */
  #sweep(): void {
    const now = performance.now()
    this.#nextSweep = now + sweepEvery
    for (const [sid, until] of this.#until) if (until <= now) this.#until.delete(sid)
  }
}
