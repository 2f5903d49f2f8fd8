import type { FastifyBaseLogger } from 'fastify'
import RateLimiterRedis from 'rate-limiter-flexible/lib/RateLimiterRedis.js'
import { onceAMinute } from '../common/once-a-minute.js'
import { withTimeout } from '../common/timeout.js'
import type { ResolvedThrottle } from '../options/resolve.js'

/** Milliseconds that a request waits for Redis. */
const patience = 500

const failing = 'Redis does not count failed attempts; until it does, this process counts alone'

/** Clients whose last answer was late. Until one comes in time, no request waits: it may have several questions. */
const slow = new WeakSet<object>()

export type RedisCounters = ReturnType<typeof openRedisCounters>

/**
 * The counters that processes share. They return null when Redis fails or does not answer in time. There is no
 * `insuranceLimiter`: each process counts in memory too, and that option would keep the error out of the log.
 */
export function openRedisCounters(
  { window: duration, keyPrefix }: ResolvedThrottle,
  redis: { readonly status?: string; connect?(): Promise<unknown> },
  log: FastifyBaseLogger,
) {
  const client = { storeClient: redis, rejectIfRedisNotReady: true, keyPrefix: String(keyPrefix) }
  const limiter = new RateLimiterRedis({ ...client, points: 0, duration })
  const isReportDue = onceAMinute()
  const ask = async <T>(answer: PromiseLike<T>): Promise<T | null> => {
    const begun = performance.now()
    const settled = Promise.resolve(answer).finally(() => {
      if (performance.now() - begun < patience) slow.delete(redis)
    })
    try {
      return await withTimeout(settled, slow.has(redis) ? 1 : patience, () => {
        slow.add(redis)
        return new Error(`no answer in ${patience} ms`)
      })
    } catch (error) {
      // The log gets the message alone: ioredis adds the command to its errors, with keys made from usernames.
      const { message } = error as Error
      if (isReportDue()) log.error({ err: { message } }, failing)
      return null
    }
  }
  // A client with `lazyConnect` connects at its first command, and the limiter sends none before it is ready.
  if (redis.status === 'wait' && redis.connect !== undefined) void ask(redis.connect())
  return {
    get: (key: string) => ask(limiter.get(key)),
    penalty: (key: string, seconds = duration, points = 1) =>
      ask(limiter.penalty(key, points, { customDuration: seconds })),
    reward: (key: string) => ask(limiter.reward(key)),
    delete: (key: string) => ask(limiter.delete(key)),
  }
}
