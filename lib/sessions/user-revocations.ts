import { LRUCache } from 'lru-cache'
import { digestOf, newRefreshToken } from './refresh-token.js'
import type { NewSession, SessionStore } from '../../types/sessions.js'

/** Seconds for which it is known that all sessions of a user were revoked: longer than a login takes. */
const kept = 3600

/**
 * When all sessions of a user were revoked, so that a login that had begun before leaves none. This process has the
 * times in memory, which is exact. Others find them in the store, as sessions of a user that does not exist.
 */
export class UserRevocations {
  readonly #author = newRefreshToken().text
  /** By the clock of `performance.now()`. */
  readonly #times = new LRUCache<string, number>({ max: 10_000 })

  /** To be called before the sessions are revoked. */
  async add(store: SessionStore, sub: string): Promise<void> {
    this.#times.set(sub, performance.now())
    await store.create(recordOf(sub, this.#author))
  }

  /**
   * To be called after a session was stored.
   *
   * @param started - when the login began, by the clock of `performance.now()`
   * @param began - the same by the clock of the store
   */
  async hasSince(
    store: SessionStore,
    sub: string,
    started: number,
    began: number,
  ): Promise<boolean> {
    if ((this.#times.get(sub) ?? 0) > started) return true
    const records = await store.list(subOf(sub))
    return records.some(
      ({ data, address, created }) =>
        data === isRecord && address !== this.#author && created > began,
    )
  }
}

const isRecord = 'revocation'

/** With a control character, which no username has. */
const subOf = (sub: string): string => `\u0001revoked ${digestOf(sub)}`

/** @param author - of the revocation */
export function recordOf(sub: string, author: string): NewSession {
  const digest = digestOf(newRefreshToken().text)
  return {
    sid: digest,
    sub: subOf(sub),
    handle: digest,
    current: digest,
    lifetime: kept,
    idle: kept,
    revocationTtl: 0,
    // An earlier one says nothing more.
    maxPerUser: 1,
    address: author,
    userAgent: '',
    data: isRecord,
  }
}
