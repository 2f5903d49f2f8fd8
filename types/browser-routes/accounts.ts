// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.

/** The members of the bodies of requests to the routes of the option `accounts`. */
export interface AccountFields {
  /** The address of a mailbox. */
  email: string
  /** The token of the link in an e-mail: the part after its `#`. */
  token: string
  /** The new password. */
  password: string
  /** The password that is replaced. A user who has none leaves it out, soon after a login. */
  currentPassword?: string
}

declare module '../browser.js' {
  interface PostBodies {
    /** Sends a link to sign up. */
    'sign-up': Pick<AccountFields, 'email'>
    /** Makes the account of such a link, and logs in. */
    'sign-up/finish': Pick<AccountFields, 'token' | 'password'>
    /** Sends a link to choose a new password. */
    'password/forgot': Pick<AccountFields, 'email'>
    /** Stores the password that was chosen by such a link. It begins no session. */
    'password/reset': Pick<AccountFields, 'token' | 'password'>
    /** Sends a link to set the first password, soon after a login. */
    'password/set': object
    /** Replaces the password, or sets the first one by the token of a link. All sessions are revoked, and a new one begins. */
    'password/change': Pick<AccountFields, 'password'> & Partial<Omit<AccountFields, 'email'>>
    /** Sends a link to a new address. */
    'email/change': Pick<AccountFields, 'email' | 'currentPassword'>
    /** Stores the new address of such a link. */
    'email/confirm': Pick<AccountFields, 'token'>
    /** Deletes the account, and logs out. */
    'account/delete': Pick<AccountFields, 'currentPassword'>
  }
}
