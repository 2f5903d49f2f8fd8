import { isIPv4 } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import ipaddr from 'ipaddr.js'
import { digestOf } from '../common/digest.js'
import type { ResolvedThrottle } from '../options/resolve.js'
import { Counters } from './counters.js'
import type { RedisCounters } from './redis-counters.js'

/** A /56 has so many times the limit of a /64, and a /48 that of a /56: whoever uses up its own leaves most to others. */
const widening = 4

/** Counts failed attempts in memory and, where configured, in Redis. Limits hold while Redis is down or read-only. */
export class Throttle {
  throttled = 0
  readonly memory: Counters

  /** @param space - what its keys in Redis begin with: failures of other users and of another kind are counted apart */
  constructor(
    private readonly settings: ResolvedThrottle,
    readonly redis: RedisCounters | null,
    private readonly space = '',
  ) {
    this.memory = new Counters(settings.window)
  }

  hasFailed(ip: string | undefined): boolean {
    return !this.memory.isEmpty && this.memory.get(clientOf(ip)) !== null
  }

  /** `username` and `address` have a key for each of {@link networksOf}. `failing` exists while the widest has a failure. */
  keysOf(name: string, ip: string | undefined) {
    const networks = networksOf(ip)
    // Redis must not learn usernames.
    const start = `${this.space}user:${digestOf(spellingOf(name))}`
    const username = networks.map((network) => `${start}@${network}`)
    const address = networks.map((network) => `${this.space}address:${network}`)
    return { username, address, all: [...username, ...address], failing: clientOf(ip) }
  }

  count({ all, failing }: FailureKeys): void {
    for (const key of all) this.memory.penalty(key)
    this.memory.set(failing, 1, this.settings.window * 1000)
  }

  /** Counts a failure in Redis too, from which this process learns what others have counted. */
  async share({ all }: FailureKeys): Promise<void> {
    const { redis, memory } = this
    if (redis === null) return
    const share = async (key: string): Promise<void> => {
      const counted = await redis.penalty(key)
      // Redis has a lower count where a success in another process has reset it.
      if (counted?.consumedPoints) memory.set(key, counted.consumedPoints, counted.msBeforeNext)
    }
    await Promise.all(all.map(share))
  }

  /** Milliseconds until the next attempt, by username and address. @param everywhere - also ask Redis: a round trip */
  waits({ username, address }: FailureKeys, everywhere: boolean): Promise<[number, number]> {
    const { perUsername, perAddress } = this.settings
    const asked = everywhere && this.redis !== null ? [this.memory, this.redis] : [this.memory]
    const wait = async (keys: readonly string[], limit: number): Promise<number> => {
      const waits = keys.flatMap((key, at) =>
        asked.map(async (limiter) => {
          const { consumedPoints = 0, msBeforeNext = 0 } = (await limiter.get(key)) ?? {}
          return consumedPoints >= widened(limit, at) ? msBeforeNext : 0
        }),
      )
      return Math.max(...(await Promise.all(waits)))
    }
    return Promise.all([wait(username, perUsername), wait(address, perAddress)])
  }
}

export async function sharedCounters(settings: ResolvedThrottle, log: FastifyBaseLogger) {
  if (settings.redis === undefined) return null
  const { openRedisCounters } = await import('./redis-counters.js')
  return openRedisCounters(settings, settings.redis, log)
}

export type FailureKeys = ReturnType<Throttle['keysOf']>

/** Made at its first use: from a literal, V8 would make the set of characters when it loads the package. */
let ignored: RegExp | undefined

/** The longest name that a user service may get is no longer than that in UTF-16 units: see `isUsableName`. */
const longestName = 1024

/** A name in upper case, without accents and invisible characters: many databases treat such spellings as one name. */
export function spellingOf(name: string): string {
  if (name.length > longestName) return name
  ignored ??= new RegExp(String.raw`[\p{M}\p{Default_Ignorable_Code_Point}]`, 'gu')
  // Before as well, since normalizing takes the square of the combining marks.
  const bare = name.replace(ignored, '').normalize('NFKD')
  return bare.replace(ignored, '').trim().toUpperCase()
}

/** The limit of the network at a place in {@link networksOf}. */
export const widened = (limit: number, at: number): number => limit * widening ** at

/** An IPv4 address, or an IPv6 /48, which one customer may have as a whole. Clients on Unix sockets count as one. */
export const clientOf = (ip: string | undefined): string => networksOf(ip).at(-1) as string

/** The longest address that is read, with a zone and a port. */
const longest = 64

/** IPv4 clients behind NAT64 (RFC 6052 §2.1). */
const nat64 = ipaddr.IPv6.parse('64:ff9b::')

/** @returns an IPv4 address, or the /64, /56 and /48 of an IPv6 address. One host has all addresses of a /64 */
export function networksOf(ip: string | undefined): string[] {
  if (ip !== undefined && isIPv4(ip)) return [ip]
  // Some proxies append the port. Anything but an address shares one key, or a client could invent a new one each time.
  if (ip === undefined || ip.length > longest) return ['unknown']
  const bare = ip.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!ipaddr.isValid(bare)) return ['unknown']
  const address = ipaddr.process(bare)
  if (address instanceof ipaddr.IPv4) return [address.toString()]
  if (address.match(nat64, 96)) return [address.toByteArray().slice(12).join('.')]
  const [a, b, c, d = 0] = address.parts
  const network = (bits: number, ...parts: (number | undefined)[]): string =>
    `${parts.map((part) => part?.toString(16)).join(':')}::/${bits}`
  return [network(64, a, b, c, d), network(56, a, b, c, d & 0xff00), network(48, a, b, c)]
}
