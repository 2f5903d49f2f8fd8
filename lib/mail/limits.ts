import type { FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { rejection } from '../errors/errors.js'
import { badRequest } from '../http/query.js'
import { optional, options, whole } from '../options/check.js'
import { longestTolerance } from '../options/jwt-schemas.js'
import { withDefaults } from '../options/defaults.js'
import { networksOf, widened } from '../throttle/throttle.js'
import { emailOf } from './email.js'
import type { Quota, Quotas } from '../throttle/quotas.js'

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
  quotas: Quotas,
) {
  const { perRecipient, perAddress, window } = limits
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
    const wait = await quotas.count(...clients(ip), ...(quota === null ? [] : [quota]))
    if (wait === 0) return
    throw rejection('auth.too-many-mails', { retryAfter: Math.max(1, Math.ceil(wait / 1000)) })
  }
  return {
    ...quotas,
    request,
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
    /**
     * Deletes the counts of a mailbox whose links have become invalid. Changes of address still count: with new passwords in
     * between, an account could have any number of e-mails sent to a stranger.
     */
    async forget(email: string, sub: string | number, by: FastifyRequest): Promise<void> {
      const asks = kinds.map((kind) => asked(kind, by, email))
      await quotas.forgetAll(mailbox(email), mailbox(email, sub), ...asks)
    },
  }
}
