import type { ApiKeys, ApiKeyStats } from './api-keys.js'
import type { IssuerStats } from './issuers.js'
import type { KeyStats, TokenStats } from './jwt.js'
import type { AuthnRoute } from './routes.js'
import type { Sessions, SessionStats } from './session-api.js'

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
  /** The key sets of the option `issuers`, by the name of the issuer. */
  readonly issuers: Readonly<Record<string, IssuerStats>>
  /** Requests that were rejected with 429. */
  readonly throttled: number
  /** Only with the option `sessions`. */
  readonly sessions?: SessionStats
  /** Only with the option `apiKeys`. */
  readonly apiKeys?: ApiKeyStats
}

/**
 * A name in `app.authn.features`:
 *
 * - `apiKeys`, `cookies`, `issuers` and `sessions`: the option of this name is set.
 * - `jwt`: the option `jwt` or `jwtService` is set.
 * - `jwks`: `jwt.publish` is set.
 * - `login`: the options of the registration ask for a login route.
 * - `validAfter`: `jwt.validAfterField` is set.
 */
export type AuthnFeature =
  'apiKeys' | 'cookies' | 'issuers' | 'jwks' | 'jwt' | 'login' | 'sessions' | 'validAfter'

/** `app.authn`: what the nearest registration of the plugin offers to the app. */
export interface Authn {
  /** The names that `use` accepts. */
  readonly authenticators: readonly string[]

  /** What the options of this registration switch on, in no particular order. */
  readonly features: readonly AuthnFeature[]

  /**
   * Lists and revokes sessions.
   *
   * @throws ERR_AUTH_OPTION when it is read without the option `sessions`; {@link features} says whether it is set
   */
  readonly sessions: Sessions

  /**
   * Issues, lists, revokes and rotates API keys.
   *
   * @throws ERR_AUTH_OPTION when it is read without the option `apiKeys`; {@link features} says whether it is set
   */
  readonly apiKeys: ApiKeys

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
