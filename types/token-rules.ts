/** Rules that a token has to meet besides a valid signature. */
export interface TokenRules {
  /** Seconds by which clocks may differ, 0 to 300. Default 0. */
  clockTolerance?: number | undefined
  /** `false` accepts tokens without `exp`. Default `true`. */
  requireExp?: boolean | undefined
  /** The `iss` claim that a token must have (RFC 7519 §4.1.1). Default: not checked. */
  issuer?: string | undefined
  /**
   * A token must have one of these in its `aud` claim (RFC 7519 §4.1.3). `false`: the claim is not checked. Default: a
   * token that has the claim is rejected, since it is for another service.
   */
  audience?: string | readonly string[] | false | undefined
}

/** Rules of one verifier. What is left out comes from the configuration. */
export interface VerifyRules extends TokenRules {
  /**
   * The purpose of the tokens that are accepted: their header must have one of these as its `typ` (RFC 7515 §4.1.9).
   * Upper and lower case are equal, and `application/` may be left out. Default: `JWT`, `at+jwt` (RFC 9068 §2.1), or
   * none at all; if this is set, a token without `typ` is rejected.
   */
  typ?: string | readonly string[] | undefined
}

/** Header of a token. */
export interface TokenHeaderOptions {
  /**
   * The purpose of the token, such as `reset+jwt` (RFC 7515 §4.1.9). Default `JWT`. By default, only `JWT` and `at+jwt`
   * are accepted.
   */
  typ?: string | undefined
}
