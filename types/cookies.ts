/** Tokens in cookies, for apps in browsers: the option `cookies`. */
export interface CookieOptions {
  /**
   * A part of the names of the cookies: `shop` makes `__Host-shop-token` and `__Host-shop-refresh`. Two registrations
   * with cookies on one host need different names. At most 64 letters, digits, `-`, `_` and `.`, with a letter or a digit first. Default: none, which
   * makes `__Host-token` and `__Host-refresh`.
   */
  readonly name?: string | undefined
  /**
   * The attribute `SameSite` of the access token's cookie. With `'lax'`, a user who follows a link on another site is
   * logged in on the page that opens; with `'strict'` not. The cookie of the refresh token is always `Strict`. Default
   * `'lax'`.
   */
  readonly sameSite?: 'lax' | 'strict' | undefined
  /** Clients that are not browsers get their tokens in the body if they send `Token-Delivery: body`. Default false. */
  readonly apps?: boolean | undefined
  /**
   * Other origins whose pages may send requests that change something, as browsers send them: `https://shop.example`,
   * without a path and without the default port. Default: none.
   */
  readonly trustedOrigins?: readonly string[] | undefined
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Puts tokens into cookies, which scripts cannot read, and makes `jwtAuthenticator` read them. Requests from other
     * sites (CSRF) are then rejected. Default: the login responds with tokens, which clients send in the header
     * `Authorization`.
     */
    cookies?: true | CookieOptions | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `cookies` is set. */
    cookies: true
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The request comes from another site (CSRF). */
    ERR_AUTH_CROSS_SITE: 403
    /** A browser wants tokens in the body, or sends one there; or the header `Token-Delivery` has another value. */
    ERR_AUTH_TOKEN_DELIVERY: 400
  }
  interface FaultCodes {
    /** The token is larger than a cookie can be. */
    ERR_AUTH_COOKIE: 500
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** Requests from other sites are not accepted. */
    readonly 'auth.cross-site': string
    /** Tokens in the body are only for clients that are not browsers. */
    readonly 'auth.token-delivery': string
  }
}
