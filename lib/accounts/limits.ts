import { digestOf } from '../common/digest.js'
import { refusal } from '../errors/errors.js'
import { Counters } from '../throttle/counters.js'
import { clientOf } from '../throttle/throttle.js'
import type { RedisCounters } from '../throttle/redis-counters.js'
import type { ResolvedAccounts } from './options.js'

/**
 * Counts requests for e-mails by client and by recipient. A recipient who has reached the limit is not locked out: the links
 * in the e-mails that were sent still work. Changes of address have counts of their own: to a taken address they send nothing,
 * so they must not use up the e-mails of its user.
 *
 * @param redis - for all processes, beside the counts of this one, which hold while Redis is down
 * @returns a function that counts a request. It rejects with ERR_AUTH_TOO_MANY_MAILS
 */
export function mailLimits(
  { perRecipient, perAddress, window }: ResolvedAccounts['limits'],
  redis: Promise<RedisCounters | null>,
) {
  const memory = new Counters(window)
  return async (email: string, ip: string | undefined, isChange: boolean): Promise<void> => {
    // Redis must not learn addresses.
    const recipient = digestOf(email)
    const to = `mails-${isChange ? 'moved-' : ''}to:${recipient}`
    const by = `mails-by:${clientOf(ip)}`
    // The client first: what it may not send must not count for a recipient.
    const limits: [key: string, limit: number][] = [
      [by, perAddress],
      [to, perRecipient],
    ]
    // At once, so that simultaneous requests do not exceed the limit.
    for (const [key, limit] of limits) {
      const counted = memory.get(key)
      if (counted !== null && counted.consumedPoints >= limit) throw tooMany(counted.msBeforeNext)
    }
    for (const [key] of limits) memory.penalty(key)
    const counters = await redis
    if (counters === null) return
    for (const [key, limit] of limits) {
      const counted = await counters.penalty(key)
      if (counted === null || counted.consumedPoints <= limit) continue
      if (key === by) memory.reward(to)
      else await counters.reward(by)
      throw tooMany(counted.msBeforeNext)
    }
  }
}

const tooMany = (wait: number): Error =>
  refusal('auth.too-many-mails', { retryAfter: Math.max(1, Math.ceil(wait / 1000)) })
