import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
// Imported by file: the main file of the package loads the clients of a dozen databases.
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js'
import type { ResolvedThrottle } from '../options/resolve.js'
import type { RedisCounters } from './redis-counters.js'

/** Counts failed attempts in memory and, where configured, in Redis. Limits hold while Redis is down or read-only. */
export class Throttle {
  /** Count of rejections, for `app.authn.stats()`. */
  throttled = 0
  readonly memory: RateLimiterAbstract
  /** Addresses with failures in this process. */
  readonly failing: LRUCache<string, true>

  constructor(
    private readonly settings: ResolvedThrottle,
    readonly redis: RedisCounters | null,
  ) {
    const { window, keyPrefix } = settings
    // `points` is not used: `waits` compares.
    this.memory = new RateLimiterMemory({ points: 0, duration: window, keyPrefix })
    this.failing = new LRUCache({ ttl: Math.ceil(window * 1000), ttlAutopurge: true })
  }

  hasFailed(ip: string | undefined): boolean {
    return this.failing.size > 0 && this.failing.has(`address:${addressOf(ip)}`)
  }

  /**
   * @param everywhere - `true`: also ask Redis, which costs a round trip
   * @returns milliseconds until the next attempt, the most of both counts: of the username, and of the address
   */
  waits({ username, address }: FailureKeys, everywhere: boolean): Promise<[number, number]> {
    const { perUsername, perAddress } = this.settings
    const asked = everywhere && this.redis !== null ? [this.memory, this.redis] : [this.memory]
    const wait = async (key: string, limit: number): Promise<number> => {
      const counts = await Promise.all(asked.map((limiter) => limiter.get(key)))
      const waits = counts.map((counted) =>
        counted !== null && counted.consumedPoints >= limit ? counted.msBeforeNext : 0,
      )
      return Math.max(0, ...waits)
    }
    return Promise.all([wait(username, perUsername), wait(address, perAddress)])
  }
}

export type FailureKeys = ReturnType<typeof failureKeys>

/**
 * The keys under which failed attempts are counted: by username and address together, and by address. Spellings that many
 * databases treat as one name, such as another case or accent, share one key.
 *
 * @param space - what the keys begin with: failures of another kind are counted apart
 */
export function failureKeys(username: string, ip: string | undefined, space = '') {
  // Redis must not learn usernames.
  const digest = createHash('sha256').update(spellingOf(username)).digest('base64url')
  const address = addressOf(ip)
  return { username: `${space}user:${digest}@${address}`, address: `${space}address:${address}` }
}

/** Made at its first use: from a literal, V8 would make the set of characters when it loads the package. */
let ignored: RegExp | undefined

/** What all spellings that many databases treat as one name have in common: no accents and no invisible characters. */
export function spellingOf(name: string): string {
  ignored ??= new RegExp(String.raw`[\p{M}\p{Default_Ignorable_Code_Point}]`, 'gu')
  return name.normalize('NFKD').replace(ignored, '').trim().toUpperCase()
}

/** @returns an IPv4 address, or the first 64 bits of an IPv6 address, since one host has all of the rest */
export function addressOf(ip: string | undefined): string {
  if (ip !== undefined && isIPv4(ip)) return ip
  // Some proxies append the port. Anything but an address shares one key, or a client could invent a new one each time.
  const bare = ip?.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (bare === undefined || !ipaddr.isValid(bare)) return 'unknown'
  const address = ipaddr.process(bare)
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
