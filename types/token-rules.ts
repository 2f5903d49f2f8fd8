/** Rules that a token has to meet besides its signature. */
export interface TokenRules {
  /** Seconds by which clocks may differ, 0 to 300. Default 0. */
  clockTolerance?: number | undefined
  /** `false` accepts tokens without `exp`. Default `true`. */
  requireExp?: boolean | undefined
  /** The `iss` claim that a token must have (RFC 7519 §4.1.1). Default: not checked. */
  issuer?: string | undefined
  /** A token must have one of these in its `aud` claim (RFC 7519 §4.1.3). Default: not checked. */
  audience?: string | readonly string[] | undefined
}

/** What one verifier of tokens asks for, besides the rules of the configuration. */
export interface VerifyRules extends TokenRules {
  /**
   * The purpose of the tokens that are accepted: their header must have one of these as its `typ` (RFC 7515 §4.1.9).
   * Letters are compared in any case, with or without `application/`. Default: `JWT`, `at+jwt` (RFC 9068 §2.1), or none
   * at all; where this is set, a token without `typ` is refused.
   */
  typ?: string | readonly string[] | undefined
}

/** What a token says of itself in its header. */
export interface TokenHeaderOptions {
  /**
   * Its purpose, such as `reset+jwt`: the header's `typ` (RFC 7515 §4.1.9). Default `JWT`. Only `JWT` and `at+jwt` are
   * accepted where no other is asked for.
   */
  typ?: string | undefined
}
