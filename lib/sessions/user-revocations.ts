import { randomBytes } from 'node:crypto'
import { digestOf } from './refresh-token.js'
import type { NewSession, SessionStore, SessionStoreFactory } from '../../types/sessions.js'

/** Seconds for which it is known that all sessions of a user were revoked: longer than a login takes. */
const kept = 3600

/** A time by the clock of `performance.now()`, and by that of the store. */
export interface BothTimes {
  readonly here: number
  readonly there: number
}

/**
 * When all sessions of a user were revoked, so that a login that had begun before leaves none. This process has the
 * times in memory. Others find them in the store, as sessions of a user that does not exist.
 */
export class UserRevocations {
  readonly #id = randomBytes(16).toString('base64url')
  readonly #isLocal: boolean
  /** By the clock of `performance.now()`, in its order. */
  readonly #times = new Map<string, number>()

  constructor(isLocal: boolean) {
    this.#isLocal = isLocal
  }

  /** To be called before the sessions are revoked. */
  async add(store: SessionStore, sub: string): Promise<void> {
    const now = performance.now()
    this.#times.delete(sub)
    this.#times.set(sub, now)
    for (const [old, time] of this.#times) {
      if (now - time < kept * 1000) break
      this.#times.delete(old)
    }
    if (!this.#isLocal) await store.create(recordOf(sub, this.#id))
  }

  /** To be called when a login begins. The store is asked for its time, since clocks differ and answers take time. */
  async now(store: SessionStore): Promise<BothTimes> {
    const here = performance.now()
    return { here, there: this.#isLocal ? 0 : (await store.find(digestOf(''))).now }
  }

  /** To be called after a session was stored. */
  async hasSince(store: SessionStore, sub: string, began: BothTimes): Promise<boolean> {
    if ((this.#times.get(sub) ?? 0) > began.here) return true
    if (this.#isLocal) return false
    const records = await store.list(subOf(sub))
    return records.some(
      ({ data, address, created }) =>
        data === isRecord && address !== this.#id && created > began.there,
    )
  }
}

/** What tells records from sessions of a user who has such a name. */
const isRecord = 'revocation'

const subOf = (sub: string): string => `revoked ${digestOf(sub)}`

/** @param author - of the revocation */
export function recordOf(sub: string, author: string): NewSession {
  const random = (): string => digestOf(randomBytes(32))
  return {
    sid: random(),
    sub: subOf(sub),
    handle: random(),
    current: random(),
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

/** By the store and the name of the registration: apps of one process may share a store in memory. */
const all = new WeakMap<SessionStoreFactory, Map<string, UserRevocations>>()

export function userRevocationsOf(factory: SessionStoreFactory, name: string): UserRevocations {
  const byName = all.get(factory) ?? new Map<string, UserRevocations>()
  const found = byName.get(name) ?? new UserRevocations(factory.isLocal)
  all.set(factory, byName.set(name, found))
  return found
}
