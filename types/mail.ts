import type { AuthUser } from './user-service.js'

/** The values of an account that the plugin changes. */
export interface AccountValues {
  /** The address in lower case, as browsers send it; null for none. */
  readonly email: string | null
  /** The stored hash; {@link AuthnOptions.hashing} makes new ones. Null for a user without a password. */
  readonly passwordHash: string | null
}

/** A new account, whose address is verified. */
export interface NewAccount extends AccountValues {
  readonly email: string
  /** Null for a sign-up without a password: see the option `mailLogin`. */
  readonly passwordHash: string | null
  /** The `data` of the invitation, for an account that has come by one. */
  readonly invitation?: unknown
}

/** What an e-mail with a link has. */
export interface MailLink {
  /** The address of the button in it. */
  readonly link: string
  /** The token in the link, for links of another form. It is a secret. */
  readonly token: string
  /** Seconds for which the link works. */
  readonly expiresIn: number
}

/** What an e-mail without a link has. */
export type NoMailLink = { readonly [Member in keyof MailLink]?: undefined }

/** The kinds of e-mails, with what each of them has. Each feature adds its own. */
export interface AccountMailKinds {}

/** The purpose of an e-mail. */
export type AccountMailKind = keyof AccountMailKinds

/** What each e-mail has. */
export interface AnyMail<Kind extends AccountMailKind = AccountMailKind> {
  /** The purpose of the e-mail. */
  readonly kind: Kind
  /** The recipient: the stored address of an account. */
  readonly to: string
  /** The language of the request, a tag of BCP 47 such as `de`. */
  readonly lang: string
  /** The user as in `request.user`; null where there is no account. */
  readonly user: AuthUser | null
}

/** An e-mail that the app sends. */
export type AccountMail<Kind extends AccountMailKind = AccountMailKind> = {
  [Each in Kind]: AnyMail<Each> & AccountMailKinds[Each]
}[Kind]
