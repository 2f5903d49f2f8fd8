import type { ExtraJwtClaimsKey } from '../types/request-extra.js'

/** Key of the claims of a valid token in `request.extra` (specification, "JWT" 5). */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'
