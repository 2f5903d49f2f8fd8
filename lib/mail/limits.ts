import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { rejection } from '../errors/errors.js'
import { badRequest } from '../http/query.js'
import { optional, options, whole } from '../options/check.js'
import { longestTolerance } from '../options/jwt-schemas.js'
import { withDefaults } from '../options/defaults.js'
import { Counters } from '../throttle/counters.js'
import { networksOf, sharedCounters, widened } from '../throttle/throttle.js'
import { emailOf } from './email.js'
import type { ResolvedOptions } from '../options/resolve.js'

/** A limit on how often something may be done in so many seconds, from the first time on. */
export type Quota = Readonly<Record<'most' | 'seconds', number> & { key: string }>

/** The most passwords that can be tried with one link. */
const mostTries = 10

const number = whole(1, 1_000_000)

export const limitsSchema = optional(
  options({ perRecipient: number, perAddress: number, window: whole(1, 31_536_000) }),
)

type Limits = Record<'perRecipient' | 'perAddress' | 'window', number>

export const limitsOf = (given: Partial<Record<keyof Limits, number | undefined>> = {}): Limits =>
  withDefaults({ perRecipient: 3, perAddress: 30, window: 3600 }, given)

export type MailLimits = ReturnType<typeof mailLimits>

/**
 * Counts requests for e-mails and uses of links, in this process and, while Redis is there, in all of them.
 * @param path - of the login or of a route, which tells the counts in Redis from those of other registrations and features
 * @param kinds - of requests by an address: see `asked`
 */
export function mailLimits(
  path: string,
  kinds: readonly string[],
  { limits, linkExpiry }: { readonly limits: Limits; readonly linkExpiry: number },
  { throttle }: ResolvedOptions,
  log: FastifyBaseLogger,
) {
  const { perRecipient, perAddress, window } = limits
  const memory = new Counters(window)
  const redis = throttle ? sharedCounters({ ...throttle, window }, log) : Promise.resolve(null)
  const takeBack = async (...quotas: readonly Quota[]): Promise<void> => {
    for (const { key } of quotas) memory.reward(key)
    const counters = await redis
    for (const { key } of quotas) await counters?.reward(key)
  }
  /** @returns 0 if it was counted; where a limit is reached, it counts for none: milliseconds to wait */
  const count = async (...quotas: Quota[]): Promise<number> => {
    // Counted in memory too, for when Redis does not answer. Otherwise Redis alone knows what others have counted or reset.
    const here = quotas.map(({ key, seconds }) => memory.penalty(key, seconds))
    const counters = await redis
    for (const [at, { key, most, seconds }] of quotas.entries()) {
      const shared = await counters?.penalty(key, seconds)
      if (shared) memory.set(key, shared.consumedPoints, shared.msBeforeNext)
      if ((shared?.consumedPoints ?? Number(here[at])) <= most) continue
      const wait = memory.get(key)?.msBeforeNext ?? 0
      for (const other of quotas) memory.reward(other.key)
      for (const other of quotas.slice(0, at + 1)) await counters?.reward(other.key)
      return Math.max(1, wait)
    }
    return 0
  }
  const clients = (ip: string | undefined): Quota[] =>
    networksOf(ip).map((network, at) => {
      return { key: `${path}:mails-by:${network}`, most: widened(perAddress, at), seconds: window }
    })
  /** The count of a recipient ends with the links, or it would lock the recipient out. Redis must not learn addresses. */
  const recipient = (kind: string, ...of: string[]): Quota => {
    const key = `${path}:mails-${kind}:${digestOf(JSON.stringify(of))}`
    return { key, most: perRecipient, seconds: Math.min(window, linkExpiry) }
  }
  const mailbox = (address: string, sub?: string | number): Quota =>
    recipient('to', address.toLowerCase(), String(sub))
  const asked = (kind: string, { ip, hostname }: FastifyRequest, address: string): Quota =>
    recipient(kind, String(networksOf(ip)[0]), hostname, address.toLowerCase())
  /** @param quota - null for a wrong address, and where only the client has a limit. @throws (rejects) ERR_AUTH_TOO_MANY_MAILS */
  const request = async ({ ip }: FastifyRequest, quota: Quota | null): Promise<void> => {
    const wait = await count(...clients(ip), ...(quota === null ? [] : [quota]))
    if (wait === 0) return
    throw rejection('auth.too-many-mails', { retryAfter: Math.max(1, Math.ceil(wait / 1000)) })
  }
  const forgetAll = async (...quotas: readonly Quota[]): Promise<void> => {
    const keys = quotas.map(({ key }) => key)
    for (const key of keys) memory.delete(key)
    const counters = await redis
    if (counters !== null) await Promise.all(keys.map((key) => counters.delete(key)))
  }
  return {
    count,
    request,
    /** Resolves when Redis is there. */
    ready: redis,
    /** Limits e-mails that any client can request, by mailbox and account: it may have accounts at several tenants. */
    mailbox,
    /** Limits changes to an address, by all accounts: no account alone may keep another one from it. */
    newMailbox: (address: string) => ({ ...recipient('new', address), most: 2 * perRecipient }),
    /** By client and host, since some send nothing: a stranger, maybe at another tenant, must not use up the owner's. */
    asked,
    /** The names of a client and a mailbox in {@link daily}. */
    dayNames: ({ ip }: FastifyRequest, address: string): string[] =>
      networksOf(ip).map((network) => digestOf(JSON.stringify([network, address])).slice(0, 16)),
    /** Limits the e-mails of a day to a mailbox that one client can request. */
    daily: (names: readonly string[]): Quota[] =>
      names.map((name, at) => {
        const most = widened(Math.ceil((perRecipient * 10) / 3), at)
        return { key: `${path}:mails-day:${name}`, most, seconds: 86_400 }
      }),
    takeBack,
    ofUser: (kind: string, sub: string | number) => recipient(kind, String(sub)),
    /** Limits the uses of a link, for as long as it works with the longest `clockTolerance`. */
    link: ({ jti, exp }: { readonly jti: string; readonly exp: number }): Quota => {
      const seconds = Math.ceil(exp - Date.now() / 1000) + longestTolerance
      return { key: `link:${jti}`, most: mostTries, seconds }
    },
    /**
     * Counts a request for an e-mail to an address of its body, a wrong one too.
     * @returns the address @throws (rejects) ERR_AUTH_TOO_MANY_MAILS; an Error with the status 400
     */
    async requested(of: FastifyRequest, text: string, quotaOf?: (email: string) => Quota) {
      const email = emailOf(text)
      await request(of, email === null ? null : (quotaOf?.(email) ?? null))
      return email ?? badRequest('body/email must be an e-mail address')
    },
    async useUp({ key, most, seconds }: Quota): Promise<void> {
      memory.set(key, most, seconds * 1000)
      await (await redis)?.penalty(key, seconds, most)
    },
    /**
     * Deletes the counts of a mailbox whose links have become invalid. Changes of address still count: with new passwords in
     * between, an account could have any number of e-mails sent to a stranger.
     */
    async forget(email: string, sub: string | number, by: FastifyRequest): Promise<void> {
      const asks = kinds.map((kind) => asked(kind, by, email))
      await forgetAll(mailbox(email), mailbox(email, sub), ...asks)
    },
    forgetAll,
  }
}
