import type { AuthnRoute } from './routes.js'

/** Counts since the app was started, of the nearest registration of the plugin. */
export interface AuthnStats {
  /** Of the gate in front of bcrypt: of the whole tree of Fastify instances. */
  readonly hashing: {
    /** bcrypt runs under way. */
    readonly running: number
    /** Requests that wait for one. */
    readonly waiting: number
    /** Requests that were refused with 503. */
    readonly refused: number
  }
  /** Of the memory of verified credentials. */
  readonly remembered: {
    /** Requests that bcrypt was saved for. */
    readonly hits: number
    /** Requests that it was not saved for. */
    readonly misses: number
    /** Credentials that are remembered now. */
    readonly size: number
  }
  /** Requests that were refused with 429. */
  readonly throttled: number
}

/** `app.authn`: what the nearest registration of the plugin offers to the app. */
export interface Authn {
  /** Names of the authenticators that `use` may name. */
  readonly authenticators: readonly string[]

  /** Counts, made at the call. */
  stats(): AuthnStats

  /**
   * Every route in the scope of the registration, those of inner scopes and of inner registrations included,
   * sorted by URL and method. Made at the call.
   *
   * @returns new objects, which say for each route who may call it and why
   * @throws ERR_AUTH_REPORT before the app is ready (in an `onReady` hook that is added after the plugin it is), and
   * when the package was loaded after routes had been declared
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
