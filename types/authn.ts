import type { KeyStats, TokenStats } from './jwt.js'
import type { AuthnRoute } from './routes.js'

/** Counts since the app started, of the nearest registration of the plugin. */
export interface AuthnStats {
  /** The queue for bcrypt, which all registrations of an app share. */
  readonly hashing: {
    /** bcrypt operations that are running. */
    readonly running: number
    /** Requests that wait for one. */
    readonly waiting: number
    /** Requests that were rejected with 503. */
    readonly refused: number
  }
  /** The cache of verified Basic credentials. */
  readonly credentials: {
    /** Requests that needed no bcrypt. */
    readonly hits: number
    /** Requests that needed one. */
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
  /** The names that `use` accepts. */
  readonly authenticators: readonly string[]

  /** What the options of this registration switch on, in no particular order. */
  readonly features: readonly AuthnFeature[]

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
