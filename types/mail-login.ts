import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { StoredUser } from './user-service.js'
import type { MailLink } from './mail.js'

/** Logins by an e-mail with a link and a code: the option `mailLogin`. */
export interface MailLoginOptions<Stored extends object = StoredUser> {
  /**
   * Whether a user may log in by an e-mail, since whoever reads the mailbox gets in: such as `(user) => !user.isAdmin`. Asked
   * before an e-mail is sent, and again when its link or code comes. Anything but `true` means no. Default: users with a
   * password; with `signUp`, with `login.passwords: false` and with the option `users`, all with an address.
   *
   * @param user - the object that `findByUsername` returned
   * @param request - the request to the route of the plugin
   */
  accept?(user: Stored, request: FastifyRequest): boolean | Promise<boolean>
  /**
   * Whether an e-mail to an address without an account makes one when its link or code is used: `accounts.create` gets
   * `passwordHash: null`. Default: true with `login.passwords: false`, unless `accounts.signUp` is false.
   */
  signUp?: boolean | undefined
  /** Seconds for which an e-mail works, 120 to 3,000, without a tolerance for clocks. Default 600. */
  expiresIn?: number | undefined
  /** False: e-mails have a link alone, since a phishing page can ask for a code. Default true. */
  code?: boolean | undefined
  /**
   * 1 to 5 secrets of at least 32 bytes: codes are made with the first one, and accepted with all. Default: secrets that are
   * derived from the keys of `jwt`.
   */
  key?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined
  /** More options of the routes, such as hooks that check a CAPTCHA. */
  routeOptions?: Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'> | undefined
}

/** What the e-mail of a login has. */
export interface LogInMail extends MailLink {
  /** Six digits, which work with the token of the client that has asked for the e-mail; undefined with `mailLogin.code: false`. */
  readonly code?: string
  /** Two letters, which the page that has asked for the e-mail shows too. */
  readonly sign: string
  /** The address of the client that has asked for the e-mail. Behind a proxy, it needs Fastify's `trustProxy`. */
  readonly address: string
  /**
   * The header `User-Agent` of that client, cut at 256 characters; empty if there was none. A stranger may have written it:
   * show a browser's name that it contains, and not the text.
   */
  readonly userAgent: string
}

/** Counts of the logins by e-mail of a registration, since this process has started. */
export interface MailLoginStats {
  /** Accounts that were created. */
  readonly created: number
  /** E-mails that `accounts.sendMail` has sent. */
  readonly mails: number
  /** E-mails for which `accounts.sendMail` has failed. */
  readonly mailsFailed: number
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Logins by an e-mail with a link and a code, which `accounts.sendMail` sends; `true` for the defaults. Needs `accounts`
     * and `sessions`. Default: none.
     */
    mailLogin?: true | MailLoginOptions<Stored> | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `mailLogin` is set. */
    mailLogin: true
  }
  interface AuthnStats {
    /** Set only with the option `mailLogin`. */
    readonly mailLogin?: MailLoginStats
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The code of an e-mail is wrong, or was not asked for by this client. */
    ERR_AUTH_MAIL_CODE_INVALID: 403
  }
  interface FaultCodes {
    /** `mailLogin.accept` has failed. */
    ERR_AUTH_MAIL_LOGIN: 500
  }
}

declare module './mail.js' {
  interface AccountMailKinds {
    /** Link and code to log in. For an address without an account, `user` is null, and they make one. */
    'log-in': LogInMail
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** This code is wrong. It works only where its e-mail was asked for. */
    readonly 'auth.mail-code-invalid': string
  }
}
