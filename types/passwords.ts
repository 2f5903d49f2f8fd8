/**
 * How passwords are hashed, and how many bcrypt operations run at once and may wait. The first registration of an app
 * sets the queue (`concurrency`, `maxQueue`, `maxWait`) for all; others may have a `cost` and a `maxCost` of their own.
 */
export interface HashingOptions {
  /**
   * Cost of new hashes: the binary logarithm of the rounds, 4 to 31. Every rejection takes at least this much work,
   * also for unknown usernames and for stored hashes of a lower cost. Default 10.
   */
  cost?: number | undefined
  /**
   * The highest cost of a stored hash that is compared with a password; one of a higher cost counts as
   * malformed, with a warning. Default 14, or `cost` if that is higher.
   */
  maxCost?: number | undefined
  /**
   * How many bcrypt operations run at once. Default: one for each core, but one less than the thread pool of libuv has
   * threads, so that file and DNS work never waits for them; shared by all apps of the process.
   */
  concurrency?: number | undefined
  /** How many requests may wait, of one address a quarter of them; more get a 503. Default 64. */
  maxQueue?: number | undefined
  /** How long each may wait, in seconds, before it gets a 503. Default 5. */
  maxWait?: number | undefined
}

/** How verified Basic credentials are cached. */
export interface CredentialCacheOptions {
  /** How many are cached. Default 1,000; the least recently used one is dropped first. */
  max?: number | undefined
  /** How long each is cached, in seconds. Default 60. */
  ttl?: number | undefined
}

/** How many failed attempts are allowed. */
export type ThrottleOptions = {
  /** Failures for one username from one address. Default 10. */
  perUsername?: number | undefined
  /**
   * Failures from one address. An IPv6 address counts by its first 64 bits, or by its first 48 bits once 16 networks of
   * 64 bits among them have failed. Default 100.
   */
  perAddress?: number | undefined
  /** Seconds after the first failure until the counter is reset. Default 900. */
  window?: number | undefined
} & (
  | {
      /** Not set: each process has counters of its own, in memory. */
      redis?: undefined
      /** Only used beside `redis`. */
      keyPrefix?: string | undefined
    }
  | {
      /** A client of ioredis that the app owns: several processes then share the counters. */
      redis?: object | undefined
      /** The name of the app, with which the names of the counters in Redis begin. Required beside `redis`. */
      keyPrefix: string
    }
)
