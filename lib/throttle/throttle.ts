import { isIPv4 } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import ipaddr from 'ipaddr.js'
import { digestOf } from '../common/digest.js'
import type { ResolvedThrottle } from '../options/resolve.js'
import { Counters, type Counted } from './counters.js'
import type { RedisCounters } from './redis-counters.js'

/** A /48 of which so many /64 have failed counts as one address. Until then, one host locks out none of its neighbours. */
const mostNetworks = 16

/** Counts failed attempts in memory and, where configured, in Redis. Limits hold while Redis is down or read-only. */
export class Throttle {
  throttled = 0
  readonly memory: Counters

  /** @param space - what its keys in Redis begin with: failures of another kind are counted apart */
  constructor(
    private readonly settings: ResolvedThrottle,
    readonly redis: RedisCounters | null,
    private readonly space = '',
  ) {
    this.memory = new Counters(settings.window)
  }

  hasFailed(ip: string | undefined): boolean {
    return !this.memory.isEmpty && this.memory.get(failingAt(this.#placeOf(ip).place)) !== null
  }

  keysOf(name: string, ip: string | undefined): FailureKeys {
    const { place, networks } = this.#placeOf(ip)
    // Redis must not learn usernames.
    const username = `${this.space}user:${digestOf(spellingOf(name))}@${place}`
    const address = `${this.space}address:${place}`
    return { username, address, networks, failing: failingAt(place) }
  }

  #placeOf(ip: string | undefined) {
    const address = addressOf(ip)
    const wide = clientOf(ip)
    if (wide === address) return { place: address, networks: null }
    const networks = `${this.space}networks:${wide}`
    const isWide = (this.memory.get(networks)?.consumedPoints ?? 0) >= mostNetworks
    return isWide ? { place: wide, networks: null } : { place: address, networks }
  }

  count({ username, address, networks, failing }: FailureKeys): void {
    const { memory } = this
    memory.penalty(username)
    const isFirst = memory.penalty(address) === 1
    if (isFirst && networks !== null) memory.penalty(networks)
    memory.set(failing, 1, this.settings.window * 1000)
  }

  /** Counts a failure in Redis too, from which this process learns what others have counted. */
  async share({ username, address, networks }: FailureKeys): Promise<void> {
    const { redis, memory } = this
    if (redis === null) return
    const learn = (key: string, counted: Counted | null): void => {
      if (counted?.consumedPoints) memory.set(key, counted.consumedPoints, counted.msBeforeNext)
    }
    const [ofName, ofAddress] = await Promise.all([redis.penalty(username), redis.penalty(address)])
    // Redis has a lower count where a success in another process has reset it.
    learn(username, ofName)
    const isFirst = networks !== null && ofAddress?.consumedPoints === 1
    if (isFirst) learn(networks, await redis.penalty(networks))
  }

  /** Milliseconds until the next attempt, by username and address. @param everywhere - also ask Redis: a round trip */
  waits({ username, address }: FailureKeys, everywhere: boolean): Promise<[number, number]> {
    const { perUsername, perAddress } = this.settings
    const asked = everywhere && this.redis !== null ? [this.memory, this.redis] : [this.memory]
    const wait = async (key: string, limit: number): Promise<number> => {
      const counts = await Promise.all(asked.map(async (limiter) => limiter.get(key)))
      const waits = counts.map((counted) =>
        counted !== null && counted.consumedPoints >= limit ? counted.msBeforeNext : 0,
      )
      return Math.max(0, ...waits)
    }
    return Promise.all([wait(username, perUsername), wait(address, perAddress)])
  }
}

export async function sharedCounters(
  settings: ResolvedThrottle,
  log: FastifyBaseLogger,
): Promise<RedisCounters | null> {
  if (settings.redis === undefined) return null
  const { openRedisCounters } = await import('./redis-counters.js')
  return openRedisCounters(settings, settings.redis, log)
}

export interface FailureKeys {
  /** Counts the failures of a username at an address. */
  readonly username: string
  readonly address: string
  /** Counts the failing /64 networks of one /48; null for IPv4, and once the /48 counts as one address. */
  readonly networks: string | null
  /** A key that exists for as long as a failure of the address is counted. */
  readonly failing: string
}

const failingAt = (place: string): string => `failing:${place}`

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

/** An IPv4 address, or an IPv6 /48, which one customer may have as a whole. Clients on Unix sockets count as one. */
export function clientOf(ip: string | undefined): string {
  return addressOf(ip).replace(/:[^:]*::\/64$/, '::/48')
}

/** The longest address that is read, with a zone and a port. */
const longest = 64

/** @returns an IPv4 address, or the first 64 bits of an IPv6 address, since one host has all of the rest */
function addressOf(ip: string | undefined): string {
  if (ip !== undefined && isIPv4(ip)) return ip
  // Some proxies append the port. Anything but an address shares one key, or a client could invent a new one each time.
  if (ip === undefined || ip.length > longest) return 'unknown'
  const bare = ip.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!ipaddr.isValid(bare)) return 'unknown'
  const address = ipaddr.process(bare)
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
