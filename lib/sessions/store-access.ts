import type { FastifyBaseLogger } from 'fastify'
import { onceAMinute } from '../common/once-a-minute.js'
import { withTimeout } from '../common/timeout.js'
import { refusal, type AuthenticationError } from '../errors.js'
import type { SessionStore } from '../../types/sessions.js'

/** Seconds that a call of the store may take. */
export const storeTimeout = 5
/** Seconds after which a rejected client may try again. */
const retryAfter = 2

/** Calls a store for requests, which get a 503 where it fails or does not answer in time. */
export class StoreAccess {
  readonly #store: SessionStore
  readonly #log: FastifyBaseLogger
  readonly #isLogDue = onceAMinute()
  failures = 0

  constructor(store: SessionStore, log: FastifyBaseLogger) {
    this.#store = store
    this.#log = log
  }

  /** @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE */
  async ask<T>(call: (store: SessionStore) => Promise<T>, seconds = storeTimeout): Promise<T> {
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
    const { code, message } = error as { code?: unknown; message?: unknown }
    this.#log.error(
      { code, reason: message },
      `The session store is unavailable: logins, refreshes and logouts are rejected until it is back. ${help}`.trim(),
    )
  }
}
