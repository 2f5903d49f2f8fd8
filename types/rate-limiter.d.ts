// The types of RateLimiterMemory.js and RateLimiterRedis.js, the two files of rate-limiter-flexible that lib/throttle/
// imports. The package has types for its main file only; tsconfig.json maps both files to this one.
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible'

interface LimiterOptions extends IRateLimiterOptions {
  readonly storeClient?: object
  readonly rejectIfRedisNotReady?: boolean
}

declare const Limiter: new (options: LimiterOptions) => RateLimiterAbstract
export default Limiter
