import type { CredentialCache } from './credential-cache.js'
import type { HashingQueue } from './queue.js'
import type { Throttle } from '../throttle/throttle.js'
import type { UserService } from '../../types/user-service.js'

export interface CheckTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly userServiceTimeout: number | undefined
  readonly maxPasswordBytes: number | false
  readonly cost: number
  readonly maxCost: number
  readonly queue: HashingQueue
  readonly throttle: Throttle | null
  /** Only for Basic, which sends the password with every request. */
  readonly cache: CredentialCache | null
}
