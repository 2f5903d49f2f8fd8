import type { CredentialCache } from './credential-cache.js'
import type { Hashing } from './verify.js'
import type { Throttle } from '../throttle/throttle.js'
import type { UserService } from '../../types/user-service.js'

export interface CheckTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly userServiceTimeout: number | undefined
  readonly hashing: Hashing
  readonly throttle: Throttle | null
  /** Only for Basic, which sends the password with every request. */
  readonly cache: CredentialCache | null
}
