import {
  RateLimiterMemory,
  RateLimiterRedis,
  type RateLimiterAbstract,
  type RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Suspect } from '../suspect.js'

/** The counters of failures, for one username from one address and for one address. */
export interface Counters {
  readonly username: RateLimiterAbstract
  readonly address: RateLimiterAbstract
}

/** How often one may guess. */
export interface ThrottleSettings {
  /** Failures for one username from one address. */
  readonly perUsername: number
  /** Failures from one address. */
  readonly perAddress: number
  /** Seconds after the first failure until they are forgotten. */
  readonly window: number
  /** A client of ioredis, owned by the app, through which several processes share the counters. */
  readonly redis?: object | undefined
  /** What the names of the counters in Redis begin with. */
  readonly keyPrefix: string
}

/** Counters in the memory of this process. */
export function localCounters(settings: ThrottleSettings): Counters {
  const { username, address } = limitsOf(settings)
  return { username: new RateLimiterMemory(username), address: new RateLimiterMemory(address) }
}

/** Counters that processes share. @returns null without a client of ioredis */
export function sharedCounters(settings: ThrottleSettings): Counters | null {
  const { redis } = settings
  if (redis === undefined) return null
  const { username, address } = limitsOf(settings)
  const store = { storeClient: redis, rejectIfRedisNotReady: true }
  return {
    username: new RateLimiterRedis({ ...username, ...store }),
    address: new RateLimiterRedis({ ...address, ...store }),
  }
}

function limitsOf({ perUsername, perAddress, window: duration, keyPrefix }: ThrottleSettings) {
  return {
    username: { points: perUsername, duration, keyPrefix: `${keyPrefix}:user` },
    address: { points: perAddress, duration, keyPrefix: `${keyPrefix}:address` },
  }
}

/** Counts a failure. */
export async function count(counters: Counters, who: Suspect): Promise<void> {
  await Promise.all([
    counters.username.penalty(who.username),
    counters.address.penalty(who.address),
  ])
}

/** Milliseconds that somebody has to wait; 0 for nobody with too many failures. */
export async function waitOf(
  counters: Counters,
  who: Suspect,
  { perUsername, perAddress }: ThrottleSettings,
): Promise<number> {
  const [username, address] = await Promise.all([
    counters.username.get(who.username),
    counters.address.get(who.address),
  ])
  return Math.max(waitFor(username, perUsername), waitFor(address, perAddress))
}

function waitFor(counted: RateLimiterRes | null, limit: number): number {
  if (counted === null) return 0
  if (!Number.isFinite(counted.consumedPoints)) throw new TypeError('a counter holds no number')
  return counted.consumedPoints >= limit ? counted.msBeforeNext : 0
}
