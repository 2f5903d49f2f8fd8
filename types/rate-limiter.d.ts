// The types of RateLimiterRedis.js, the file of rate-limiter-flexible that lib/throttle/
// imports. The package has types for its main file only; tsconfig.json maps the file to this one.
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible'

interface LimiterOptions extends IRateLimiterOptions {
  readonly storeClient?: object
  readonly rejectIfRedisNotReady?: boolean
}

declare const Limiter: new (options: LimiterOptions) => RateLimiterAbstract
export default Limiter
