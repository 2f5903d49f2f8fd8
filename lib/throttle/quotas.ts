import type { FastifyBaseLogger } from 'fastify'
import type { Counted, Counters } from './counters.js'
import type { RedisCounters } from './redis-counters.js'
import { sharedCounters } from './throttle.js'
import type { ResolvedOptions } from '../options/resolve.js'

type Redis = Promise<RedisCounters | null>

/** The Redis of the option `throttle`. @param window - seconds for which it counts where a limit has no other time */
export const redisOf = (
  { throttle }: ResolvedOptions,
  window: number,
  log: FastifyBaseLogger,
): Redis => (throttle ? sharedCounters({ ...throttle, window }, log) : Promise.resolve(null))

/** A limit on how often something may be done in so many seconds, from the first time on. */
export type Quota = Readonly<Record<'most' | 'seconds', number> & { key: string }>

export type Quotas = ReturnType<typeof quotasIn>

/** Counts in this process and, while Redis is there, in all of them. */
export function quotasIn(memory: Counters, redis: () => Redis) {
  /** Redis may have lost counts. Where this process keeps all, no other one resets them, unless it has no room (Infinity). */
  const pointsOf = (here: number, shared: Counted | null | undefined): number => {
    if (!shared) return here
    const known = memory.keepsAll && here < Infinity ? here : 0
    return Math.max(known, shared.consumedPoints)
  }
  return {
    /** Resolves when Redis is there. */
    ready: redis,
    /** @returns 0 if it was counted; where a limit is reached, it counts for none: milliseconds to wait */
    async count(...quotas: Quota[]): Promise<number> {
      // Counted in memory too, for when Redis does not answer.
      const here = quotas.map(({ key, seconds }) => memory.penalty(key, seconds))
      const counters = await redis()
      for (const [at, { key, most, seconds }] of quotas.entries()) {
        const shared = await counters?.penalty(key, seconds)
        if (shared && !memory.keepsAll) memory.set(key, shared.consumedPoints, shared.msBeforeNext)
        if (pointsOf(Number(here[at]), shared) <= most) continue
        const wait = memory.get(key)?.msBeforeNext ?? 0
        for (const other of quotas) memory.reward(other.key)
        for (const other of quotas.slice(0, at + 1)) await counters?.reward(other.key)
        return Math.max(1, wait)
      }
      return 0
    },
    async takeBack(...quotas: readonly Quota[]): Promise<void> {
      for (const { key } of quotas) memory.reward(key)
      const counters = await redis()
      for (const { key } of quotas) await counters?.reward(key)
    },
    async useUp({ key, most, seconds }: Quota): Promise<void> {
      memory.set(key, most, seconds * 1000)
      await (await redis())?.penalty(key, seconds, most)
    },
    async forgetAll(...quotas: readonly Quota[]): Promise<void> {
      const keys = quotas.map(({ key }) => key)
      for (const key of keys) memory.delete(key)
      const counters = await redis()
      if (counters !== null) await Promise.all(keys.map((key) => counters.delete(key)))
    },
  }
}
