/** None of them is an option: other values would trust withdrawn keys for too long, or fetch too often. */
export const limits = {
  /** Milliseconds for a whole fetch: discovery, its fall-back and the key set, with their bodies. */
  fetchTime: 5_000,
  /** Keys in a set. */
  keys: 100,
  /** Milliseconds from which a set is renewed in the background. */
  renew: 8 * 60_000,
  /** Milliseconds for which a set is fresh. */
  fresh: 10 * 60_000,
  /** Milliseconds for which a set is used after that, while fetches fail. */
  stale: 60 * 60_000,
  /**
   * Milliseconds after a failure in which a stale set is used: the longest pause and the next fetch, so that requests of
   * a busy app do not wait for it. After idle time, a failure says nothing about now.
   */
  failing: 35_000,
  /** Milliseconds from one attempt to the next that an unknown `kid` may cause. */
  unknownKid: 30_000,
} as const
