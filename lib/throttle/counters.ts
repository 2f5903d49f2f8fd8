// Imported by file: the main file of the package loads the clients of a dozen databases.
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js'
import type { Suspect } from './client-key.js'
import type { ResolvedThrottle } from '../options/resolve.js'

/** What failures are counted for. */
type Kind = keyof Suspect

/** What a counter tells of a key. */
interface Counted {
  readonly consumedPoints: number
  readonly msBeforeNext: number
}

/** What is used of a limiter of rate-limiter-flexible. */
interface Limiter {
  get(key: string): Promise<Counted | null>
  penalty(key: string, points?: number): Promise<Counted>
  reward(key: string, points?: number): Promise<Counted>
  delete(key: string): Promise<boolean>
}

/** A counter for each kind. */
export type Counters = Readonly<Record<Kind, Limiter>>

/** A number for each kind: failures, or milliseconds. */
export type Numbers = Readonly<Record<Kind, number>>

/** Counters in the memory of this process. */
export function localCounters(settings: ResolvedThrottle): Counters {
  return counters(settings, (options) => new RateLimiterMemory(options))
}

interface CounterOptions {
  readonly points: number
  readonly duration: number
  readonly keyPrefix: string
}

/** @param create - makes one counter */
export function counters(
  settings: ResolvedThrottle,
  create: (options: CounterOptions) => Limiter,
): Counters {
  const { window: duration, keyPrefix } = settings
  const limits = limitsOf(settings)
  return {
    username: create({ points: limits.username, duration, keyPrefix: `${keyPrefix}:user` }),
    address: create({ points: limits.address, duration, keyPrefix: `${keyPrefix}:address` }),
    network: create({ points: limits.network, duration, keyPrefix: `${keyPrefix}:network` }),
  }
}

export function limitsOf({ perUsername, perAddress }: ResolvedThrottle): Numbers {
  return { username: perUsername, address: perAddress, network: perAddress * 10 }
}

/** Counts one failure more, or as many as are given. @returns how many there are */
export function count(counters: Counters, who: Suspect, failures?: Numbers): Promise<Numbers> {
  return each(who, async (kind, key) =>
    pointsOf(await counters[kind].penalty(key, failures?.[kind] ?? 1)),
  )
}

/** Lowers a counter by one, unless it is 0. */
export async function uncount(counters: Counters, who: Suspect): Promise<void> {
  await each(who, async (kind, key) => {
    const points = pointsOf(await counters[kind].get(key))
    return points > 0 ? pointsOf(await counters[kind].reward(key)) : 0
  })
}

/** Takes what is counted out of counters in memory: nobody else finds it there meanwhile. */
export async function take(counters: Counters, who: Suspect): Promise<Numbers> {
  return each(who, async (kind, key) => {
    const counted = counters[kind].get(key)
    void counters[kind].delete(key)
    return pointsOf(await counted)
  })
}

/** Counted failures. */
export function read(counters: Counters, who: Suspect): Promise<Numbers> {
  return each(who, async (kind, key) => pointsOf(await counters[kind].get(key)))
}

/** @returns milliseconds until the client may try again; 0 while there are not too many failures */
export function waitsOf(
  counters: Counters,
  who: Suspect,
  settings: ResolvedThrottle,
): Promise<Numbers> {
  const limits = limitsOf(settings)
  return each(who, async (kind, key) => {
    const counted = await counters[kind].get(key)
    return counted !== null && pointsOf(counted) >= limits[kind] ? counted.msBeforeNext : 0
  })
}

function pointsOf(counted: Counted | null): number {
  const points = counted?.consumedPoints ?? 0
  if (!Number.isFinite(points)) throw new TypeError('a counter holds no number')
  return points
}

/** Does something with each counter that somebody has. @returns the numbers, 0 where there is none */
async function each(
  { username, address, network }: Suspect,
  work: (kind: Kind, key: string) => Promise<number>,
): Promise<Numbers> {
  const [byUsername, byAddress, byNetwork] = await Promise.all([
    work('username', username),
    work('address', address),
    network === null ? 0 : work('network', network),
  ])
  return { username: byUsername, address: byAddress, network: byNetwork }
}
