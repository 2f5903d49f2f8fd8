import type { JwtServiceLike } from '../../types/jwt.js'

/** An app with tokens, or an inner scope in which the plugin is registered. */
export interface TokenApp {
  /** The service with the signing keys. An app without one gets an error that says so. */
  readonly jwtService?: JwtServiceLike | undefined
}
