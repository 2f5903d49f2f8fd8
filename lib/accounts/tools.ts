import type { FastifyReply, FastifyRequest } from 'fastify'
import { isStored } from '../common/stored.js'
import { rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import {
  currentPasswordCheck,
  guess,
  requireAlive,
  requireOwnSession,
  requireProof,
} from '../login/proof.js'
import { noClaims } from '../login/token.js'
import {
  accountDigest,
  askAccounts,
  StoredAccounts,
  type Account,
} from '../login/stored-accounts.js'
import { nfcOf } from '../passwords/nfc.js'
import { linkInvalid, type LinkClaims, type Links } from './links.js'
import type { ResolvedAccounts } from './options.js'
import type { Own, Registration } from '../feature.js'
import type { Mails } from '../mail/mails.js'
import type { AccountEvent } from '../../types/accounts.js'
import type { AccountValues } from '../../types/mail.js'
import type { Sessions } from '../../types/session-api.js'

/** With fewer different characters, a password is guessable however long it is. */
const leastDifferent = 5

/** A password is guessable if it is the part of the address before the @ with at most this many more characters. */
const mostAdded = 4

export interface OwnAccount {
  readonly account: Account
  readonly sub: string | number
  readonly own: Own
}

const changed = 'the account has changed meanwhile'

export const notStored = `accounts.update() has stored nothing: ${changed}, or update compares null with "=", or returns nothing`

export class AccountTools extends StoredAccounts {
  created = 0
  readonly #check: ReturnType<typeof currentPasswordCheck>

  constructor(
    readonly resolved: ResolvedAccounts & {
      /** Whether a user has nothing to log in with, and so may choose a first password by a link. Default: no user may. */
      readonly hasNoWayIn: ((user: object) => Promise<boolean>) | undefined
    },
    readonly links: Links,
    readonly mails: Mails,
    registration: Registration,
    readonly sessions: Sessions,
  ) {
    super(registration, resolved)
    this.#check = currentPasswordCheck(registration)
  }

  /** @throws (rejects) ERR_AUTH_LINK_INVALID where the account of a link has changed */
  async ofLink({ sub, state }: LinkClaims, request: FastifyRequest): Promise<Account> {
    const account = sub === undefined ? null : await this.find(sub, request)
    if (account !== null && accountDigest(account.values) === state) return account
    throw linkInvalid('it was used, or the account has changed')
  }

  /** @throws ERR_AUTH_FORBIDDEN without a session of the user, and where another user acts as this one */
  own(request: FastifyRequest): Account {
    const { user, sub } = requireOwnSession(this.registration, request)
    return this.accountOf(user, sub)
  }

  /** The account of a link that only its user can use. @throws (rejects) ERR_AUTH_LINK_INVALID in the session of another */
  async ofOwnLink(claims: LinkClaims, request: FastifyRequest): Promise<OwnAccount> {
    const own = requireOwnSession(this.registration, request)
    const sub = await this.subOf(this.accountOf(own.user, own.sub), request)
    if (String(claims.sub) !== String(sub)) throw linkInvalid('it is of another user')
    return { account: await this.ofLink(claims, request), sub, own }
  }

  /** @throws (rejects) as `requireProof` does; ERR_AUTH_CURRENT_PASSWORD */
  async prove(request: FastifyRequest, password: string | undefined): Promise<OwnAccount> {
    const account = this.own(request)
    const own = await requireProof(this.registration, request, account.hasPassword)
    const sub = await this.subOf(account, request)
    if (!account.hasPassword) return { account, sub, own }
    if (!password) throw rejection('auth.current-password')
    const { user } = await guess(this.registration, request, own, 'password', (isLast) =>
      this.#check(account.name, password, request, isLast),
    )
    // The address may belong to another user by now.
    if (accountDigest(this.accountOf(user, '').values) !== accountDigest(account.values)) {
      throw rejection('auth.current-password', { cause: changed })
    }
    return { account, sub, own }
  }

  /** Hashes a new password that meets the rules of NIST SP 800-63B-4 §3.1.1.2: a length, and not easy to guess. */
  async hash(typed: string, stored: string | null, request: FastifyRequest): Promise<string> {
    const email = stored ?? ''
    const password = nfcOf(typed)
    const { passwords } = this.registration
    const { given, minPasswordLength } = this.resolved
    if (!passwords.fits(password)) throw rejection('auth.password-too-long')
    if (Array.from(password).length < minPasswordLength) throw rejection('auth.password-too-short')
    const text = password.toLowerCase()
    const address = email.toLowerCase()
    const [name = ''] = address.split('@')
    const isNamed =
      text === address || (text.includes(name) && text.length - name.length <= mostAdded)
    const isGuessable = isNamed || new Set(text).size < leastDifferent
    const accept = given.acceptPassword && (() => given.acceptPassword?.(password, email, request))
    if (isGuessable || (accept && (await askAccounts<unknown>(accept)) !== true)) {
      throw rejection('auth.password-guessable')
    }
    return passwords.hashNew(password, request)
  }

  /** @returns whether the account was still the same */
  async update({ user, values }: Account, after: AccountValues, before = values): Promise<boolean> {
    const update = (): unknown => this.resolved.given.update(user, after, before)
    return isStored(await askAccounts(update), 'ERR_AUTH_ACCOUNTS', 'accounts.update')
  }

  /**
   * Stores another password, and revokes all other sessions before and after: a login with the old password may have begun
   * before, and have ended after the first time. @param own - the session that asks for it; null for a link
   * @returns whether the account was still the same
   */
  async setPassword(
    account: Account,
    sub: string | number,
    hash: string,
    request: FastifyRequest,
    own: Own | null,
  ): Promise<boolean> {
    const after = { ...account.values, passwordHash: hash }
    const revoke = () => this.sessions.revoke(own === null ? { sub } : { sub, except: own.sid })
    // Another request may have changed the password while this one was hashing. The session that it began must stay.
    const now = await this.find(sub, request)
    const isSame = now !== null && accountDigest(now.values) === accountDigest(account.values)
    // This proves that the store is available, too.
    if (isSame) await revoke()
    if (own !== null) await requireAlive(this.registration, request)
    if (!(await this.update(account, after))) return false
    try {
      await revoke()
    } catch (error) {
      await this.update(account, account.values, after)
      throw error
    }
    return true
  }

  /** A link to reset the password; undefined for a user who has none: an address from a provider may not be verified. */
  async resetLink(account: Account, request: FastifyRequest) {
    const { hasNoWayIn } = this.resolved
    if (this.isPasswordless) return undefined
    if (!account.hasPassword && !(await hasNoWayIn?.(account.user))) return undefined
    const sub = await this.subOf(account, request, noClaims)
    return this.links.make('reset', { sub, state: accountDigest(account.values) })
  }

  async sendReset(kind: 'reset' | 'account-exists', account: Account, request: FastifyRequest) {
    const { user, values } = account
    const link = await this.resetLink(account, request)
    const sent = link ? kind : 'no-password'
    if (!values.email) return
    const quota = this.mails.limits.mailbox(
      values.email,
      await this.subOf(account, request, noClaims),
    )
    if (await this.mails.hasRoom(request, sent, quota))
      await this.mails.send(request, sent, values.email, user, link ?? {})
  }

  /** Publishes what was done, and tells the mailbox. */
  tell(
    action: AccountEvent['action'],
    kind: 'password-changed' | 'email-changed' | 'account-deleted',
    { user, values }: Account,
    sub: string | number,
    reply: FastifyReply,
  ): void {
    const { request } = reply
    const { name: registration } = this.registration
    channelOf('account').publish({ action, sub: String(sub), request, registration })
    const forgotten = values.email && this.mails.limits.forget(values.email, sub, request)
    this.mails.later(reply, async () => {
      await forgotten
      await this.mails.send(request, kind, values.email, user, {})
    })
  }
}
