import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { StoreResult } from './store-result.js'
import type { AccountMail, AccountValues, MailLink, NewAccount, NoMailLink } from './mail.js'
import type { StoredUser } from './user-service.js'
import type { OfRegistration } from './events.js'

/** Accounts over the table of the app: the option `accounts`. */
export interface AccountsOptions<Stored extends object = StoredUser> {
  /**
   * The address of the app's pages: https, or http to a loopback address, without query, fragment and credentials. Links in
   * e-mails are `<url>/sign-up#<token>`, `<url>/reset#<token>`, `<url>/email#<token>` and `<url>/set#<token>`; browsers do
   * not send what follows the `#`, so the token is in no log.
   */
  url: string
  /**
   * Stores a new account.
   *
   * @param request - the request of the sign-up; its body may have more members
   * @returns whether it was stored; it is not if the address is taken (`on conflict do nothing`)
   */
  create(account: NewAccount, request: FastifyRequest): StoreResult | PromiseLike<StoreResult>
  /**
   * Stores `after` if `before` is still what is stored (compare-and-swap). In `before`, null stands for what is absent:
   * compare with `is not distinct from` in SQL.
   *
   * @param user - the object that `findByUsername` returned
   * @returns whether it was stored
   */
  update(
    user: Stored,
    after: AccountValues,
    before: AccountValues,
  ): StoreResult | PromiseLike<StoreResult>
  /** Sends an e-mail. What it throws is logged, without addresses and tokens. */
  sendMail(mail: AccountMail): unknown
  /** Deletes an account. Without it there is no route that does. */
  remove?(user: Stored, request: FastifyRequest): unknown
  /**
   * Whether a new password, in NFC, may be used, such as a look-up among leaked ones. Anything but `true` rejects it. It
   * is asked after the rules of the plugin; `email` is empty for a user without an address.
   */
  acceptPassword?(
    password: string,
    email: string,
    request: FastifyRequest,
  ): boolean | Promise<boolean>
  /** `false`: new accounts need an invitation. Default `true`. */
  signUp?: boolean | undefined
  /** Code points that a new password needs, 8 to 64. Default 15 (NIST SP 800-63B-4 §3.1.1.2). */
  minPasswordLength?: number | undefined
  /** The field of the stored user with the address. Default `email`. */
  emailField?: string | undefined
  /** Seconds for which links work, 300 to 86,400. Default 3600. */
  linkExpiry?: number | undefined
  /** How many e-mails may be requested. */
  limits?: AccountLimits | undefined
  /** More options of the routes, such as hooks that check a CAPTCHA. */
  routeOptions?: Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'> | undefined
}

/** How many e-mails may be requested, in this process and, with `throttle.redis`, in all of them. */
export interface AccountLimits {
  /**
   * E-mails to the mailbox of one account, requested by all clients together; changes of address and `set-password` by
   * user, and twice as many changes by new address. Default 3.
   */
  perRecipient?: number | undefined
  /** E-mails requested by one client: an IPv4 address or an IPv6 /64, with more for its wider networks. Default 30. */
  perAddress?: number | undefined
  /** Seconds after the first one until the count is reset; for a mailbox at most `linkExpiry`. Default 3600. */
  window?: number | undefined
}

/** `app.authn.accounts`. */
export interface Accounts {
  /**
   * Invites someone: the e-mail `invitation` has a link by which they choose a password.
   *
   * @param request - of the user who invites; its language is that of the e-mail
   * @param options - `data`: what `create` gets as `invitation`. The recipient can read it, but not change it.
   * `expiresIn`: seconds for which the link works, 60 to 2,592,000; default 604,800, which are 7 days
   * @returns false for an address that has an account, to which nothing is sent
   * @throws (rejects) what `sendMail` throws; ERR_AUTH_CLAIMS for what is no e-mail address, for `data` that cannot be
   * written as JSON, and for another `expiresIn`; AuthenticationFault
   */
  invite(
    email: string,
    request: FastifyRequest,
    options?: { data?: unknown; expiresIn?: number | undefined },
  ): Promise<boolean>
  /** Resolves when all e-mails that were begun are sent: for tests, and before a function on AWS Lambda freezes. */
  settled(): Promise<void>
}

/** Counts of the accounts of a registration, since this process has started. */
export interface AccountStats {
  /** Accounts that were created. */
  readonly created: number
  /** E-mails that `sendMail` has sent. */
  readonly mails: number
  /** E-mails for which `sendMail` has failed. */
  readonly mailsFailed: number
}

/** Published when an account was created, changed or deleted. */
export interface AccountEvent extends OfRegistration {
  /** The action that the user has completed. */
  readonly action: 'created' | 'password-reset' | 'password-changed' | 'email-changed' | 'deleted'
  /** The claim `sub` of the tokens of the user. */
  readonly sub: string
  /** The request. It holds what the client sent, passwords and tokens included: never log it whole. */
  readonly request: FastifyRequest
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Sign-up, forgotten passwords, and changes of password and address. The table is the app's; the plugin stores
     * nothing. Needs `sessions`, `userService` and `login.subject`. Default: none.
     */
    accounts?: AccountsOptions<Stored> | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `accounts` is set. */
    accounts: true
  }
  interface AuthnStats {
    /** Set only with the option `accounts`. */
    readonly accounts?: AccountStats
  }
  interface Authn {
    /**
     * Invites users, and waits for e-mails.
     *
     * @throws ERR_AUTH_OPTION when it is read without the option `accounts`; {@link Authn.features} says whether it is set
     */
    readonly accounts: Accounts
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The link was changed, has expired, was used, or is for something else; or its account has changed. */
    ERR_AUTH_LINK_INVALID: 400
    /** The new password is shorter than `accounts.minPasswordLength`. */
    ERR_AUTH_PASSWORD_TOO_SHORT: 400
    /** The new password has more bytes than are hashed. */
    ERR_AUTH_PASSWORD_TOO_LONG: 400
    /** The new password is easy to guess, or `acceptPassword` has rejected it. */
    ERR_AUTH_PASSWORD_GUESSABLE: 400
  }
  interface FaultCodes {
    /** A function of the option `accounts` has failed. */
    ERR_AUTH_ACCOUNTS: 500
  }
}

declare module './mail.js' {
  interface AccountMailKinds {
    /** Link to finish a sign-up. */
    'sign-up': MailLink
    /** Someone has signed up with the address of an account; link to reset the password. */
    'account-exists': MailLink
    /** The account has no password. */
    'no-password': NoMailLink
    /** Link to reset the password. */
    reset: MailLink
    /** Link to finish a sign-up. */
    invitation: MailLink
    /** To the new address; link to confirm it. */
    'email-confirm': MailLink
    /** To the old address at the same time; link to reset the password, which stops the change. */
    'email-change': MailLink | NoMailLink
    /** Link to set the first password. */
    'set-password': MailLink
    /** The password was changed. */
    'password-changed': NoMailLink
    /** To the old address. */
    'email-changed': NoMailLink
    /** The account was deleted. */
    'account-deleted': NoMailLink
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** This link is not valid any more. Please ask for another one. */
    readonly 'auth.link-invalid': string
    /** This password is too short. Please use at least {minPasswordLength} characters. */
    readonly 'auth.password-too-short': string
    /** This password is too long. */
    readonly 'auth.password-too-long': string
    /** This password is easy to guess. Please choose another one. */
    readonly 'auth.password-guessable': string
  }
}

declare module './events.js' {
  interface AuthnEvents {
    /** An account was created, changed or deleted. */
    readonly account: AccountEvent
  }
}
