// The types of the two files of rate-limiter-flexible that lib/throttle/counters.ts and lib/throttle/shared-counters.ts import. The package has types
// for its main file only, so tsconfig.json maps both files to this one.
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible'

interface LimiterOptions extends IRateLimiterOptions {
  readonly storeClient?: object
  readonly rejectIfRedisNotReady?: boolean
}

declare const Limiter: new (options: LimiterOptions) => RateLimiterAbstract
export default Limiter
