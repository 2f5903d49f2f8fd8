// The files of rate-limiter-flexible that lib/throttle/counters.ts imports, which the package describes only by its
// main file. tsconfig.json maps both to this one.
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible'

interface LimiterOptions extends IRateLimiterOptions {
  readonly storeClient?: object
  readonly rejectIfRedisNotReady?: boolean
}

declare const Limiter: new (options: LimiterOptions) => RateLimiterAbstract
export default Limiter
