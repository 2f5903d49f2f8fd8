import { withTimeout } from '../common/timeout.js'
import { rejection } from '../errors/errors.js'
import { FetchError, reasonOf } from './fetch.js'
import type { RejectionCode } from '../../types/errors.js'

/** Milliseconds from the first failure to the next attempt, doubled by each failure, and the longest such pause. */
const [firstPause, longestPause] = [1_000, 30_000]

/** @param failures - in a row @returns milliseconds */
export const pauseAfter = (failures: number): number =>
  failures <= 0 ? 0 : Math.min(firstPause * 2 ** (failures - 1), longestPause)

/** Milliseconds since a time. A clock that is set back makes documents older, never younger. */
export const since = (time: number): number => Math.abs(Date.now() - time)

/** @param left - milliseconds for which there is no sense in trying again */
export function unavailable(code: RejectionCode, left: number, cause: string): Error {
  const retryAfter = Math.max(1, Math.ceil(left / 1000))
  return rejection('auth.overloaded', { code, retryAfter, cause })
}

/** The result of a fetch. `reason` is for the log, and null after a success; `isBack` means a success after failures. */
export interface Outcome {
  readonly outcome: 'renewed' | 'failed'
  readonly reason: string | null
  readonly isBack: boolean
  /** Milliseconds. */
  readonly duration: number
}

/**
 * A document that is fetched, kept, and fetched again in the background. Requests share one fetch. After failures
 * nothing is fetched for 1, 2, 4 … 30 seconds, and the document that was fetched before stays.
 */
export abstract class Renewed<T> {
  protected document: T | null = null
  protected readonly counts = { fetches: 0, failures: 0 }
  protected isOpen = true
  protected begunAt = -Infinity
  protected failedAt = -Infinity
  #fetchedAt: number | null = null
  #failuresInARow = 0
  #running: Promise<void> | null = null
  readonly #aborts = new Set<AbortController>()

  /** @param fetchTime - milliseconds for a whole fetch, such as discovery and its fallback, with their bodies */
  constructor(private readonly fetchTime: number) {}

  protected abstract fetch(signal: AbortSignal): Promise<T>

  protected abstract report(outcome: Outcome): void

  /** Milliseconds since the document was fetched; 0 for one that was not. */
  protected get age(): number {
    return this.#fetchedAt === null ? 0 : since(this.#fetchedAt)
  }

  protected get isRunning(): boolean {
    return this.#running !== null
  }

  /** Milliseconds until the next fetch is allowed. */
  protected get pause(): number {
    return Math.max(pauseAfter(this.#failuresInARow) - since(this.failedAt), 0)
  }

  /** Begins to fetch. @returns the running fetch, or a new one, which never rejects; null during the pause after a failure */
  begin(): Promise<void> | null {
    if (this.#running !== null) return this.#running
    if (!this.isOpen || this.pause > 0) return null
    this.counts.fetches += 1
    this.begunAt = Date.now()
    const running: Promise<void> = this.limit((signal) => this.fetch(signal)).then(
      (document) => this.#end(running, document, null),
      (error: unknown) => this.#end(running, null, reasonOf(error)),
    )
    return (this.#running = running)
  }

  #end(running: Promise<void>, document: T | null, reason: string | null): void {
    if (running !== this.#running) return
    this.#running = null
    if (reason !== null) {
      this.counts.failures += 1
      this.failedAt = Date.now()
    } else if (this.isOpen) {
      this.document = document
      this.#fetchedAt = Date.now()
    }
    const isBack = reason === null && this.#failuresInARow > 0
    this.#failuresInARow = reason === null ? 0 : this.#failuresInARow + 1
    const outcome = reason === null ? 'renewed' : 'failed'
    this.report({ outcome, reason, isBack, duration: since(this.begunAt) })
  }

  /**
   * Limits the time of work that fetches, and then aborts it, as {@link stop} does. `fetch()` of Node 20 can miss an
   * abort, so the caller does not wait for that.
   * @throws (rejects) FetchError when it takes too long; what `work` rejects with
   */
  async limit<R>(
    work: (signal: AbortSignal) => Promise<R>,
    milliseconds = this.fetchTime,
  ): Promise<R> {
    const abort = new AbortController()
    this.#aborts.add(abort)
    try {
      const late = (): Error => new FetchError('it took too long')
      return await withTimeout(work(abort.signal), milliseconds, late)
    } finally {
      // This also frees the connection of a response that was not read to its end.
      abort.abort()
      this.#aborts.delete(abort)
    }
  }

  stop(): void {
    this.isOpen = false
    for (const abort of this.#aborts) abort.abort()
  }

  /** Replaces the document by one that was not fetched, or by none, and forgets a running fetch and failures. */
  protected reset(document: T | null): void {
    this.document = document
    this.#fetchedAt = this.#running = null
    this.#failuresInARow = 0
  }
}
