import type { OfRegistration } from './events.js'
/** How opaque access tokens of an issuer are validated: its server is asked about them (RFC 7662). */
export interface IntrospectionOptions {
  /** The name of this API at the issuer, for the endpoint. */
  clientId: string
  /** Its secret there. Startup fails for a variable of the environment that was never set. */
  clientSecret: string | undefined
  /**
   * The address of the endpoint: https, or http to a loopback address. Default: the `introspection_endpoint` in the
   * metadata of the issuer, which are fetched for the first token.
   */
  endpoint?: string | undefined
  /** Where the secret is sent: in `Authorization`, or in the body (RFC 6749 §2.3.1). Default `client_secret_basic`. */
  authMethod?: 'client_secret_basic' | 'client_secret_post' | undefined
  /**
   * Seconds for which a positive answer is used, 0 to 300, and so how long a revoked token still works. Default 60. With
   * 0, nothing is kept, and each request waits for the server.
   */
  cache?: number | undefined
  /**
   * `true`: the server is also asked about JWTs of this issuer. They are not verified by keys then, and no key set is
   * fetched. Default `false`.
   */
  jwt?: boolean | undefined
  /**
   * Claims that an answer may lack. Without `aud`, any token of the issuer is accepted that has a `token_type`; an answer
   * for other audiences is still rejected. Without `sub`, `user` finds the user by another claim. With `token_type` beside
   * `aud`, nothing tells access tokens from others: only for a server that answers for access tokens alone, such as
   * Django OAuth Toolkit. Default: none.
   */
  optionalClaims?: readonly ('aud' | 'sub' | 'token_type')[] | undefined
}

/** The counts of the introspection of an issuer. */
export interface IntrospectionStats {
  /** How often the server was asked, since the app started. */
  readonly requests: number
  /** How many of these requests failed. */
  readonly failures: number
  /** How many positive answers are kept now. */
  readonly cached: number
}

/** Published when the server of an issuer was asked about a token. It has no request, since several may share an answer. */
export interface IntrospectionEvent extends OfRegistration {
  /** The name of the issuer in the option `issuers`. */
  readonly issuer: string
  /** What the server has answered. An active token is still rejected if it is for another API, for example. */
  readonly outcome: 'active' | 'inactive' | 'failed'
  /** The reason why the request failed; null if it did not. It quotes nothing of the token, the secret or the body. */
  readonly reason: string | null
  /** How long the request took, in milliseconds. */
  readonly duration: number
}

declare module './events.js' {
  interface AuthnEvents {
    /** The server of an issuer was asked about a token. */
    readonly introspection: IntrospectionEvent
  }
}
