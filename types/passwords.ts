/** How new passwords are hashed: `argon2id` (RFC 9106), `scrypt` (RFC 7914) or `bcrypt`. */
export type HashAlgorithm = 'bcrypt' | 'argon2id' | 'scrypt'

/** Parameters of bcrypt. */
export interface BcryptParameters {
  /** `bcrypt`, which is the default. */
  algorithm?: 'bcrypt' | undefined
  /** Binary logarithm of the rounds, 4 to 31. Default 10. */
  cost?: number | undefined
  /** Cannot be set: it is a parameter of argon2id. */
  memory?: undefined
  /** Cannot be set: it is a parameter of argon2id. */
  passes?: undefined
  /** Cannot be set: it is a parameter of scrypt. */
  blockSize?: undefined
  /** Cannot be set: it is a parameter of argon2id and scrypt. */
  parallelism?: undefined
}

/** Parameters of argon2id (RFC 9106 §3.1). */
export interface Argon2Parameters {
  /** `argon2id`. */
  algorithm: 'argon2id'
  /** KiB of memory, 1,024 to 4,194,304. Default 19,456, which is 19 MiB. */
  memory?: number | undefined
  /** Passes over the memory, 1 to 64. Default 2. */
  passes?: number | undefined
  /** Lanes, 1 to 16. Default 1. */
  parallelism?: number | undefined
  /** Cannot be set: it is a parameter of bcrypt and scrypt. */
  cost?: undefined
  /** Cannot be set: it is a parameter of scrypt. */
  blockSize?: undefined
}

/** Parameters of scrypt (RFC 7914 §2). A run takes 128 × 2^cost × blockSize bytes of memory. */
export interface ScryptParameters {
  /** `scrypt`. */
  algorithm: 'scrypt'
  /** Binary logarithm of N, 10 to 24, less than 16 × `blockSize`. Default 17. */
  cost?: number | undefined
  /** The block size r, 1 to 64: each block has 128 × r bytes. Default 8. */
  blockSize?: number | undefined
  /** The parallelization p, 1 to 16. Default 1. */
  parallelism?: number | undefined
  /** Cannot be set: it is a parameter of argon2id. */
  memory?: undefined
  /** Cannot be set: it is a parameter of argon2id. */
  passes?: undefined
}

/** An algorithm with its parameters. */
export type HashParameters = BcryptParameters | Argon2Parameters | ScryptParameters

/** Stored hashes of another program, which a function of the app verifies. */
export interface ForeignHash {
  /** Matches the stored texts of this kind. Without the flags `g` and `y`. */
  pattern: RegExp
  /**
   * Any stored text of this kind, such as that of a deleted account. It is verified, and the answer ignored, where a
   * rejection has to cost the same as for a user who has such a hash.
   */
  sample: string
  /**
   * Compares a password with a stored text that matches `pattern`. It has a place in the queue already, so it must not
   * call the functions of this package that wait for one; for a bcrypt hash inside, take the package `bcrypt`.
   *
   * @returns true or false, or a promise of it; anything else, and an error, is a 500
   */
  verify(password: string, storedHash: string): boolean | Promise<boolean>
}

/** An entry of `hashing.migrateFrom`: an algorithm with the parameters that old hashes have, or a foreign kind. */
export type MigrateFrom =
  | (HashParameters & {
      /** The algorithm of the old hashes; another one than `hashing.algorithm`. */
      algorithm: HashAlgorithm
    })
  | ForeignHash

/**
 * How passwords are hashed, and how many hashes are computed at once and may wait. The first registration of an app sets
 * the queue (`maxMemory`, `maxQueue`, `maxWait`) for all; with other values in later ones, startup fails.
 *
 * Every rejection takes the work of the algorithm with its parameters, and of each entry of `migrateFrom`, also for
 * unknown usernames and for weaker stored hashes.
 */
export type HashingOptions = HashParameters & {
  /** The other hashes in the table of users, besides those of `algorithm`: at most 4 entries. Default: none. */
  migrateFrom?: readonly MigrateFrom[] | undefined
  /**
   * The highest cost of a stored bcrypt hash that is compared with a password, 4 to 31; one of a higher cost counts as
   * malformed, with a warning. Default 14, or the cost of bcrypt in these options if that is higher.
   */
  maxCost?: number | undefined
  /**
   * KiB that one stored hash, and all that are computed at once, may take, 8,192 to 16,777,216. A stored hash whose work
   * is above 4 times this counts as malformed too. Default 262,144, which is 256 MiB, shared by all apps of the process.
   */
  maxMemory?: number | undefined
  /** How many requests may wait, a quarter of them of one client (an IPv4 address, or an IPv6 /48); more get a 503. Default 64. */
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
   * Failures from one address. For IPv6, both limits are those of a /64; its /56 has four times as many, and its /48
   * sixteen times. Default 100.
   */
  perAddress?: number | undefined
  /** Seconds after the first failure until the counter is reset. Default 900. */
  window?: number | undefined
} & (
  | {
      /** If this is not set, each process has counters of its own, in memory. */
      redis?: undefined
      /** Used only beside `redis`. */
      keyPrefix?: string | undefined
    }
  | {
      /** A client of ioredis that the app owns: several processes then share the counters. */
      redis?: object | undefined
      /** The name of the app, with which the names of the counters in Redis begin. Required beside `redis`. */
      keyPrefix: string
    }
)
