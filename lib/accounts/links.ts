import { randomBytes } from 'node:crypto'
import { digestOf } from '../common/digest.js'
import { rejection } from '../errors/errors.js'
import type { JwtService } from '../tokens/service.js'
import type { ResolvedAccounts } from './options.js'
import type { AccountValues } from '../../types/accounts.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { SigningMethod } from '../../types/keys.js'

export type Page = 'sign-up' | 'reset' | 'email' | 'set'

export interface LinkClaims {
  /** The address of a new account, or the new address of an account. */
  readonly email?: string
  readonly sub?: string | number
  /** {@link accountDigest} of the account: the link dies when that changes. */
  readonly state?: string | undefined
  readonly invitation?: unknown
}

export interface OpenedLink extends LinkClaims {
  readonly jti: string
  readonly exp: number
}

export interface Link {
  readonly link: string
  readonly token: string
  /** In seconds. */
  readonly expiresIn: number
}

/** Tells these tokens from access tokens (RFC 8725 §3.11). */
const typ = 'account+jwt'

export type Links = ReturnType<typeof accountLinks>

/**
 * Links in e-mails. Their tokens are signed with the keys of the registration, so nothing is stored. Apps with the same
 * keys tell their links apart by the address of the pages, `url`, and registrations by the path of the login.
 */
export function accountLinks(
  service: JwtService,
  method: SigningMethod | undefined,
  { url, linkExpiry }: Pick<ResolvedAccounts, 'url' | 'linkExpiry'>,
  path: string,
) {
  const wanted = 'the option "accounts"'
  service.require(method, 'sign', wanted)
  const verify = service.verifier(method, { typ, requireExp: true }, wanted)
  return {
    make(page: Page, claims: LinkClaims, expiresIn = linkExpiry): Link {
      const exp = Math.floor(Date.now() / 1000) + expiresIn
      // Without an id, two links of one second would be the same, and be used together.
      const jti = randomBytes(12).toString('base64url')
      const all = { ...claims, page, url, path, jti, exp }
      const token = service.generateTokenWithClaims(all, method, { typ })
      return { link: `${url}/${page}#${token}`, token, expiresIn }
    },
    read(page: Page, token: string): OpenedLink {
      let claims: object = {}
      try {
        claims = verify(token)
      } catch (error) {
        throw linkInvalid(`its token: ${(error as AuthenticationErrorLike).code}`)
      }
      const about = claims as Partial<Record<'page' | 'url' | 'path' | 'jti', unknown>>
      const isOurs = about.page === page && about.url === url && about.path === path
      if (isOurs && typeof about.jti === 'string') return claims as OpenedLink
      throw linkInvalid('it is of another purpose')
    },
  }
}

/** The digest reveals nothing, since the hash contains a salt. */
export function accountDigest({ email, passwordHash }: AccountValues): string {
  return digestOf(JSON.stringify([email, passwordHash]))
}

export const linkInvalid = (cause: string): Error => rejection('auth.link-invalid', { cause })
