// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.

declare module '../browser.js' {
  interface PostBodies {
    /** Removes an account at a provider: one of `get('identities')`. */
    'identities/remove': Pick<UserIdentity, 'issuer' | 'subject'>
  }
  interface GetRoutes {
    /** The accounts of the user at providers. */
    identities: true
  }
}

/** An account at a provider, as `get('identities')` sends it. */
export interface UserIdentity {
  /** Its name in the option `loginWith`. */
  readonly provider: string
  /** The issuer (OpenID Connect Core §2). */
  readonly issuer: string
  /** The claim `sub` of the issuer. */
  readonly subject: string
  /** When it was stored (ISO 8601). */
  readonly created: string
}
