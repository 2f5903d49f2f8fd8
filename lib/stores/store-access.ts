import type { FastifyBaseLogger } from 'fastify'
import { onceAMinute } from '../common/once-a-minute.js'
import { withTimeout } from '../common/timeout.js'
import { refusal, type AuthenticationError } from '../errors.js'

/** Seconds after which a rejected client may try again. */
const retryAfter = 2

/** Calls a store for requests, which get a 503 where it fails or does not answer in time. */
export class StoreAccess<Store> {
  readonly #store: Store
  readonly #log: FastifyBaseLogger
  readonly #message: string
  readonly #patience: number
  readonly #isLogDue = onceAMinute()
  failures = 0

  /**
   * @param message - for the log: which store is unavailable, and what that means
   * @param patience - seconds that a call may take
   */
  constructor(store: Store, log: FastifyBaseLogger, message: string, patience: number) {
    this.#store = store
    this.#log = log
    this.#message = message
    this.#patience = patience
  }

  /** @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE */
  async ask<T>(call: (store: Store) => Promise<T>, seconds = this.#patience): Promise<T> {
    try {
      const late = (): Error => new Error(`no answer in ${seconds} s`)
      return await withTimeout(call(this.#store), seconds * 1000, late)
    } catch (error) {
      this.failures += 1
      throw this.unavailable(error)
    }
  }

  unavailable(error: unknown): AuthenticationError {
    this.log(error)
    return refusal('auth.overloaded', { code: 'ERR_AUTH_STORE_UNAVAILABLE', retryAfter })
  }

  /**
   * Logs that the store is unavailable, at most once a minute.
   *
   * @param help - what to do
   */
  log(error: unknown, help = ''): void {
    if (!this.#isLogDue()) return
    // Not the error itself, in which drivers put values of the query.
    const { code, message } = Object(error) as { code?: unknown; message?: unknown }
    this.#log.error({ code, reason: message }, `${this.#message}. ${help}`.trim())
  }
}
