import type { FastifyRequest } from 'fastify'
import { declaredProperty, isDeclared } from '../common/objects.js'
import { digestOf } from '../common/digest.js'
import { isStored, notFound } from '../common/stored.js'
import { askApp } from '../errors/ask.js'
import { faultOf, isAuthenticationError } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { claimsMaker, noClaims } from './token.js'
import { noPasswordField } from '../passwords/check.js'
import { asUnknown, findForLogin, findUserOf } from '../users/user.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { AccountValues, NewAccount } from '../../types/mail.js'

export interface Account {
  /** The user that `findByUsername` has returned. */
  readonly user: object
  /** The address, or else the name by which the user was found. */
  readonly name: string
  readonly values: AccountValues
  readonly hasPassword: boolean
}

/** What reading and making accounts needs of the option `accounts`. */
interface AccountsSettings {
  readonly given: { create(account: NewAccount, request: FastifyRequest): unknown }
  readonly emailField: string
}

export const askAccounts = <T>(work: () => T | Promise<T>): Promise<T> =>
  askApp('ERR_AUTH_ACCOUNTS', work)

const fault = (cause: unknown): Error => faultOf('ERR_AUTH_ACCOUNTS', cause)

/** The digest reveals nothing, since the hash contains a salt. */
export function accountDigest({ email, passwordHash }: AccountValues): string {
  return digestOf(JSON.stringify([email, passwordHash]))
}

const unseen =
  'accounts.create() has stored an account, but findByUsername does not find it, so its user was not logged in. It may ask a replica that is behind: here it has to see the last write'

/** The accounts of the app, for features that send e-mails to them. */
export class StoredAccounts {
  /** Whether users have no passwords, and log in by e-mails. A hash that is stored is of no use then. */
  readonly isPasswordless: boolean
  readonly #claimsOf: ReturnType<typeof claimsMaker>

  constructor(
    readonly registration: Registration,
    private readonly accounts: AccountsSettings,
  ) {
    const login = registration.options.login as ResolvedLogin
    this.#claimsOf = claimsMaker(login, () => [login.subject])
    this.isPasswordless = registration.features.some((feature) => feature.replacesPasswords)
  }

  async find(
    name: string | number,
    request: FastifyRequest,
    find = findUserOf,
  ): Promise<Account | null> {
    const user = await find(this.registration.options, name, request)
    return user === null ? null : this.accountOf(user, name)
  }

  /** Whether an address has an account, also where the app rejects its user. */
  async isTaken(email: string, request: FastifyRequest): Promise<boolean> {
    const isRejected = (error: unknown): boolean => asUnknown(request)(error) === null
    return this.find(email, request, findForLogin).then(Boolean, isRejected)
  }

  /** Reads the account of a user. @throws ERR_AUTH_ACCOUNTS, ERR_AUTH_PASSWORD_FIELD if the user lacks a field */
  accountOf(user: object, found: string | number): Account {
    const { emailField } = this.accounts
    const { options, passwords } = this.registration
    const { passwordField } = options
    // A look-up by id may leave the hash out. Such a user would be asked for no current password.
    if (declaredProperty(user, passwordField) === undefined) throw noPasswordField(passwordField)
    const [email, hash] = [emailField, passwordField].map((field) => {
      const value = declaredProperty(user, field)
      return typeof value === 'string' ? value : null
    }) as [string | null, string | null]
    const hasPassword = !this.isPasswordless && passwords.hasPassword(user)
    const name = email || String(found)
    if (isDeclared(user, emailField))
      return { user, name, values: { email, passwordHash: hash }, hasPassword }
    const text = `The user has no field ${JSON.stringify(emailField)}. Return it from findByUsername, or name the field with the address in the option "accounts.emailField".`
    throw fault(new TypeError(text))
  }

  /** The name of a user in tokens. @throws (rejects) AuthenticationFault; and what `login.claims` rejects with, unless `claims` take its place */
  async subOf({ user, name, values }: Account, request: FastifyRequest, claims?: typeof noClaims) {
    const { sub } = await this.#claimsOf(name, request, user).catch((error: unknown) => {
      if (claims === undefined || !isAuthenticationError(error)) throw error
      return this.#claimsOf(name, request, user, claims)
    })
    if (String(sub).toLowerCase() !== values.email?.toLowerCase()) return sub
    const text =
      'login.subject returned the address, so that the next user of that address would find the sessions of this one. Return an id from it, by which findByUsername finds the user too.'
    throw fault(new TypeError(text))
  }

  /**
   * Makes an account, whose address is verified.
   * @param forget - called with the `sub`: ends the counts of e-mails
   * @returns false if the address is taken; null where the account is not found yet, so that it has to log in later
   */
  async create(
    account: NewAccount,
    request: FastifyRequest,
    forget: (sub: string | number) => Promise<void>,
  ): Promise<Account | false | null> {
    const { email, passwordHash } = account
    const result = await askAccounts<unknown>(() => this.accounts.given.create(account, request))
    if (!isStored(result, 'ERR_AUTH_ACCOUNTS', 'accounts.create')) return false
    const created = await this.find(email, request)
    // `create` may have returned an older row. The client would be logged in to the account that has the address.
    if (created !== null && created.values.passwordHash !== passwordHash)
      throw notFound('ERR_AUTH_ACCOUNTS', 'accounts.create', 'findByUsername')
    const later = (): null => {
      request.log.error({ authenticator: 'account' }, unseen)
      return null
    }
    if (created === null) return later()
    const sub = await this.subOf(created, request, noClaims)
    const { name: registration } = this.registration
    const event = { action: 'created', sub: String(sub), request, registration } as const
    channelOf('account').publish(event)
    await forget(sub)
    // Another replica may be asked this time.
    return (await this.find(email, request)) ?? later()
  }
}
