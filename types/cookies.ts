/** How tokens travel in cookies, for apps in browsers: the option `cookies`. */
export interface CookieOptions {
  /**
   * Stands before `token` and `refresh` in the names: `shop` gives `__Host-shop-token` and `__Host-shop-refresh`. Two
   * registrations with cookies on one host need different ones. Letters, digits, `-`, `_` and `.`, 64 at most. Default:
   * none.
   */
  readonly name?: string | undefined
  /**
   * `SameSite` of the access token's cookie. `'lax'`: a link on another site opens a page with its user. `'strict'`: it
   * does not. That of the refresh token is always `Strict`. Default `'lax'`.
   */
  readonly sameSite?: 'lax' | 'strict' | undefined
  /**
   * Other origins whose pages may send requests that change something, as browsers write them: `https://shop.example`,
   * without a path and without the default port. Default: none.
   */
  readonly trustedOrigins?: readonly string[] | undefined
}
