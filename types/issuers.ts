import type { FastifyRequest } from 'fastify'
import type { IntrospectionOptions, IntrospectionStats } from './introspection.js'
import type { SigningMethod } from './jwt.js'
import type { JwtClaims } from './request-extra.js'
import type { StoredUser } from './user-service.js'
import type { OfRegistration } from './events.js'

/** The result of `user` of an issuer: a user, or none. */
export type UserOfIssuer<Stored extends object = StoredUser> =
  Stored | null | undefined | Promise<Stored | null | undefined>

/** An identity provider, such as Keycloak, Auth0, Entra ID or Cognito, whose access tokens are accepted. */
export interface IssuerOptions<Stored extends object = StoredUser> {
  /**
   * The `iss` claim of its tokens (RFC 7519 §4.1.1), compared character by character: a trailing `/` counts. Without
   * `jwksUri` it has to be the address of the issuer: https, or http to a loopback address, without a query.
   */
  issuer: string
  /** One of these has to be an audience of the token (RFC 7519 §4.1.3). */
  audience: string | readonly string[]
  /**
   * The claim that names the audience. `client_id` is for Amazon Cognito, whose access tokens have no `aud`; then
   * the claim `token_use` has to be `access`. Default `aud`.
   */
  audienceClaim?: 'aud' | 'client_id' | undefined
  /** The address of the key set (RFC 7517 §5). Default: what the discovery document of the issuer names. */
  jwksUri?: string | undefined
  /**
   * The methods that are accepted, without HMAC. Default: for each key its `alg`; for a key without one, RS256 for RSA,
   * the method of the curve for EC, and EdDSA for OKP.
   */
  algorithms?: readonly SigningMethod[] | undefined
  /** Validates opaque tokens too, by asking the issuer. Default: they are rejected. */
  introspection?: IntrospectionOptions | undefined
  /**
   * `rfc9068` accepts only tokens whose header has the `typ` `at+jwt` (RFC 9068 §4), so that no ID token passes.
   * Default: a missing `typ`, `JWT` and `at+jwt` are accepted.
   */
  profile?: 'rfc9068' | undefined
  /**
   * Finds the user of a valid token. A `sub` is unique within its issuer only: `admin` of the issuer need not be your `admin`,
   * so keep the users of several issuers, and those who log in with a password, apart.
   *
   * @param claims - frozen at any depth; `sub` is a non-empty string or a finite number
   * @returns the user; null or undefined if there is none, which gives a 401
   * @throws AuthenticationError to reject the token; any other error gives a 500
   */
  user: (claims: JwtClaims, request: FastifyRequest) => UserOfIssuer<Stored>
  /**
   * Decides about each token that is valid, before `user` is called: anything but `true`, or a promise of it, is a 401.
   * What it throws is a 500, except an `AuthenticationError`. Default: all of them are accepted.
   */
  trusted?: ((claims: JwtClaims, request: FastifyRequest) => boolean | Promise<boolean>) | undefined
  /** Seconds by which clocks may differ, 0 to 300. Default 0. */
  clockTolerance?: number | undefined
  /** `false` accepts tokens without `exp`. Default `true`. */
  requireExp?: boolean | undefined
  /**
   * Where the claims have the roles of a user: a path such as `realm_access.roles`, or up to 20 whose names are united.
   * Names with other characters than letters, digits, `_`, `:` and `-` are in brackets: `["https://example.com/roles"]`.
   * There, a list of strings, or a string, which is one role. `access.rolesOf` comes before them. Default: the field
   * `roles` of the user, else `role`.
   */
  roles?: string | readonly string[] | undefined
  /**
   * Where the claims have the scopes of a token: paths as in {@link roles}. There, a list of strings, or a string with
   * names separated by spaces (RFC 8693 §4.2). `access.scopesOf` comes before them. Default: `scope`, else `scp`.
   */
  scopes?: string | readonly string[] | undefined
  /**
   * How its tokens say that the user was authenticated with several factors, for the mark `mfa`: the values of the claim
   * `acr` that mean it, which clients are then told to ask the issuer for (`acr_values` of RFC 9470 §3), or a function of the
   * claims. Anything but `true` means no; what the function throws is a 500. Default: `amr` has `mfa` (RFC 8176).
   */
  mfa?: readonly string[] | ((claims: JwtClaims) => boolean) | undefined
}

/** The state of the key set of an issuer. */
export interface IssuerStats {
  /** Keys of the set; 0 while there is none, and when the last one is too old. */
  readonly keys: number
  /** How often the key set was fetched, since the app started. */
  readonly fetches: number
  /** How many of these fetches failed. */
  readonly failures: number
  /** The age of the set in whole seconds; null while there is none. */
  readonly age: number | null
  /** Only with the option `introspection`. */
  readonly introspection?: IntrospectionStats
}

/** Published when the key set of an issuer has been fetched. It has no request. */
export interface IssuerEvent extends OfRegistration {
  /** The name of the issuer in the option `issuers`. */
  readonly issuer: string
  /** `renewed`: there is a new set. `failed`: the old one stays in use, until it is 70 minutes old. */
  readonly outcome: 'renewed' | 'failed'
  /** How many keys verify tokens now. */
  readonly keys: number
  /** How many keys of the new set are not used, such as those for encryption. */
  readonly leftOut: number
  /** The reason why the fetch failed; null if it did not. It quotes nothing from the issuer's body. */
  readonly reason: string | null
  /** How long the fetch took, in milliseconds. */
  readonly duration: number
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Identity providers whose tokens are accepted besides those of the app, by their names in `use`. Default: none.
     */
    issuers?: Readonly<Record<string, IssuerOptions>> | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `issuers` is set. */
    issuers: true
  }
  interface AuthnStats {
    /** The key sets of the option `issuers`, by the name of the issuer. */
    readonly issuers: Readonly<Record<string, IssuerStats>>
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The key set of the issuer cannot be fetched, or its server cannot be asked about a token. */
    ERR_AUTH_ISSUER_UNAVAILABLE: 503
  }
}

declare module './events.js' {
  interface AuthnEvents {
    /** The key set of an issuer was renewed, or could not be. */
    readonly issuer: IssuerEvent
  }
}
