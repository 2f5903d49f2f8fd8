import type { KeyStats, TokenStats } from './jwt.js'
import type { AuthnRoute } from './routes.js'

/** Counts since the app started, of the nearest registration of the plugin. */
export interface AuthnStats {
  /** The queue of password hashing, which all registrations of an app share. */
  readonly hashing: {
    /** Requests whose password is hashed or compared now. */
    readonly running: number
    /** Requests that wait for that. */
    readonly waiting: number
    /** Requests that were rejected with 503. */
    readonly rejected: number
    /** KiB that are reserved for those that run. */
    readonly memory: number
    /** Stored hashes that were replaced after a login. */
    readonly replaced: number
  }
  /** The cache of verified Basic credentials. */
  readonly credentials: {
    /** Requests whose password was not compared with a hash. */
    readonly hits: number
    /** Requests whose password was. */
    readonly misses: number
    /** Credentials that are cached now. */
    readonly size: number
  }
  /**
   * The token cache of the `jwtService` of the registration. Two registrations that share a service have the same
   * counts. All are zero without keys.
   */
  readonly tokens: TokenStats
  /** The keys of that service, and how often they were read again. All are zero without keys. */
  readonly keys: KeyStats
  /** Requests that were rejected with 429. */
  readonly throttled: number
}

/** The names of {@link AuthnFeature}. Those of other features are the names of their options. */
export interface AuthnFeatures {
  /** The option `jwt` or `jwtService` is set. */
  jwt: true
  /** `jwt.publish` is set. */
  jwks: true
  /** `jwt.validAfterField` is set. */
  validAfter: true
  /** The options of the registration ask for a login route. */
  login: true
}

/** A name in `app.authn.features`. */
export type AuthnFeature = keyof AuthnFeatures

/** `app.authn`: what the nearest registration of the plugin offers to the app. Features add their own members. */
export interface Authn {
  /**
   * The name of this registration in events and in `routes()`: the prefix of its scope, `/` for none. A second registration
   * with that prefix is called `/#2`, by the order in which they are registered.
   */
  readonly registration: string

  /** The names that `use` accepts. */
  readonly authenticators: readonly string[]

  /** The features that the options of this registration switch on, in no particular order. */
  readonly features: readonly AuthnFeature[]

  /**
   * Hashes the NFC of a password by the option `hashing`, in the same queue as logins.
   *
   * @param password - its NFC has 1 to 72 bytes of UTF-8 for bcrypt, else to `maxPasswordBytes`
   * @returns the text to store, up to 97 characters by default
   * @throws (rejects) ERR_AUTH_OPTION for any other password; ERR_AUTH_OVERLOADED (503) where too much hashing waits;
   * ERR_AUTH_HASHING (500) where the engine fails
   */
  hashPassword(password: string): Promise<string>

  /**
   * Compares the NFC of a password, and then the password itself, with what is stored, in the same queue as logins. Each
   * false takes the same work, as it does at a login, so that its time does not tell which users exist: call it for
   * unknown ones too, with null.
   *
   * @param storedHash - anything but a hash that is accepted is false
   * @throws (rejects) ERR_AUTH_OPTION for a password that is no string; ERR_AUTH_OVERLOADED; ERR_AUTH_HASHING where an
   * engine or `verify` of a foreign kind fails; ERR_AUTH_USER_SERVICE_TIMEOUT where that takes too long
   */
  verifyPassword(password: string, storedHash: string | null | undefined): Promise<boolean>

  /** Whether a stored hash is weaker than the option `hashing` asks for, or of another algorithm. */
  needsRehash(storedHash: string | null | undefined): boolean

  /** The current counts. */
  stats(): AuthnStats

  /**
   * Every route in the scope of the registration, those of inner scopes and of inner registrations included,
   * sorted by URL and method.
   *
   * @returns new objects, which say for each route who may call it and why
   * @throws ERR_AUTH_REPORT before the app is ready. `onReady` hooks that are added after the plugin may call it
   */
  routes(): AuthnRoute[]

  /**
   * The same as a table with aligned columns, for people and for snapshots in tests.
   *
   * @returns lines that each end with a line feed; the first one is the heading
   * @throws ERR_AUTH_REPORT like {@link Authn.routes}
   */
  printRoutes(): string
}
