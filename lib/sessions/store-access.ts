import type { FastifyBaseLogger } from 'fastify'
import { onceAMinute } from '../common/once-a-minute.js'
import { within } from '../common/timeout.js'
import { refusal, type AuthenticationError } from '../errors.js'
import type { SessionStore } from '../../types/sessions.js'

/** Seconds that a call of the store may take. */
const patience = 5
/** Seconds after which a client that was refused may try again. */
const retryAfter = 2

/** A store as requests use it: what it does not answer in time is a refusal, and no request waits for ever. */
export class StoreAccess {
  readonly #store: SessionStore
  readonly #log: FastifyBaseLogger
  #failures = 0
  readonly #isNoteDue = onceAMinute()

  constructor(store: SessionStore, log: FastifyBaseLogger) {
    this.#store = store
    this.#log = log
  }

  /** How many calls have failed. */
  get failures(): number {
    return this.#failures
  }

  /**
   * Asks the store.
   *
   * @param seconds - how long the answer is waited for
   * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE
   */
  async ask<T>(call: (store: SessionStore) => Promise<T>, seconds = patience): Promise<T> {
    try {
      return await within(seconds * 1000, call(this.#store), () => new Error('no answer in time'))
    } catch (error) {
      this.#failures += 1
      throw this.unavailable(error)
    }
  }

  /** The refusal of a request that needs the store. */
  unavailable(error: unknown): AuthenticationError {
    this.note(error)
    return refusal('auth.overloaded', { code: 'ERR_AUTH_STORE_UNAVAILABLE', retryAfter })
  }

  /** Logs that the store is away, at most once a minute. */
  note(error: unknown): void {
    if (!this.#isNoteDue()) return
    // Not the error itself: drivers put values of the query into it.
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
    this.#log.error(
      { code, reason: message },
      'The store of sessions is away: logins, refreshes and logouts are refused until it is back',
    )
  }
}
