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
}
