/** Tokens in cookies, for apps in browsers: the option `cookies`. */
export interface CookieOptions {
  /**
   * A part of the names of the cookies: `shop` makes `__Host-shop-token` and `__Host-shop-refresh`. Two registrations
   * with cookies on one host need different names. At most 64 letters, digits, `-`, `_` and `.`. Default: none, which
   * makes `__Host-token` and `__Host-refresh`.
   */
  readonly name?: string | undefined
  /**
   * The attribute `SameSite` of the access token's cookie. With `'lax'`, a user who follows a link on another site is
   * logged in on the page that opens; with `'strict'` not. The cookie of the refresh token is always `Strict`. Default
   * `'lax'`.
   */
  readonly sameSite?: 'lax' | 'strict' | undefined
  /**
   * Other origins whose pages may send requests that change something, as browsers send them: `https://shop.example`,
   * without a path and without the default port. Default: none.
   */
  readonly trustedOrigins?: readonly string[] | undefined
}
