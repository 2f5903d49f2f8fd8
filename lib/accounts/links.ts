import { randomBytes } from 'node:crypto'
import { rejection } from '../errors/errors.js'
import { stepTokens, type StepKeys } from '../tokens/step.js'
import type { ResolvedAccounts } from './options.js'
import type { NewAccount } from '../../types/mail.js'
import type { MailLink } from '../../types/mail.js'

export type LinkPurpose = 'sign-up' | 'reset' | 'email' | 'set'

export interface LinkClaims {
  /** The address of a new account, or the new address of an account. */
  readonly email?: string
  readonly sub?: string | number
  /** {@link accountDigest} of the account: the link dies when that changes. */
  readonly state?: string | undefined
  readonly invitation?: unknown
  /** What an admin has given to an invited user: no option of `invite()` sets it. */
  readonly admin?: NewAccount['admin']
}

export interface OpenedLink extends LinkClaims {
  readonly jti: string
  readonly exp: number
}

export type Links = ReturnType<typeof accountLinks>

/**
 * Links in e-mails. Apps with the same keys tell their links apart by the address of the pages, `url`, and registrations
 * by the path of the login.
 */
export function accountLinks(
  keys: StepKeys,
  { url, linkExpiry }: Pick<ResolvedAccounts, 'url' | 'linkExpiry'>,
) {
  const tokens = stepTokens<LinkClaims & { page: LinkPurpose; url: string; jti: string }>(keys, {
    option: 'accounts',
    typ: 'account+jwt',
    foreign: 'it is of another purpose',
    invalid: linkInvalid,
  })
  return {
    make(page: LinkPurpose, claims: LinkClaims, expiresIn = linkExpiry): MailLink {
      // Without an id, two links of one second would be the same, and be used together.
      const jti = randomBytes(12).toString('base64url')
      const token = tokens.make({ ...claims, page, url, jti }, expiresIn)
      return { link: `${url}/${page}#${token}`, token, expiresIn }
    },
    read: (page: LinkPurpose, token: string): OpenedLink =>
      tokens.read(token, (of) => of.page === page && of.url === url) as never,
  }
}

export const linkInvalid = (cause: string): Error => rejection('auth.link-invalid', { cause })
