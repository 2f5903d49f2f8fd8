import type { JwtClaims } from '../../types/request-extra.js'

/** How a request tells the level of its authentication, where that is not by `auth_time` and `amr` of its token. */
export interface LevelRules {
  /** Default: whether `amr` has `mfa`. Anything but `true` counts as no. */
  readonly isMfa?: ((claims: JwtClaims) => unknown) | undefined
  /** What a client asks the issuer for to get there, the `acr_values` of challenges. Default `mfa`. */
  readonly acrValues?: string | undefined
  /** Seconds since 1970. Default: the claim `auth_time`. */
  readonly authTime?: () => number
  /** Seconds. Default 0. */
  readonly clockTolerance?: number
}
