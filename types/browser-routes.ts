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

/** The routes of the option `accounts`, with their bodies. */
export interface AccountBodies {
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
  /** Replaces the password, or sets the first one with the token of a link; and all sessions of the user by a new one. */
  'password/change': Pick<AccountFields, 'password'> & Partial<Omit<AccountFields, 'email'>>
  /** Sends a link to a new address. */
  'email/change': Pick<AccountFields, 'email' | 'currentPassword'>
  /** Stores the new address of such a link. */
  'email/confirm': Pick<AccountFields, 'token'>
  /** Deletes the account, and logs out. */
  'account/delete': Pick<AccountFields, 'currentPassword'>
}

/** The members of the bodies of requests to the routes of the options `secondFactor` and `passkeys`. */
export interface FactorFields {
  /** The token of the response before: of the login, the setup or the challenge. */
  token: string
  /** Six digits that an authenticator app shows, or a recovery code. */
  code: string
  /** Whether this device needs no code for some time, where the server allows that. Default false. */
  remember?: boolean
  /** What the browser has made of a challenge, as JSON. */
  response: object
  /** The id of a passkey. */
  id: string
  /** What the user calls a passkey, at most 64 characters. */
  name: string
}

/** The routes of the option `secondFactor`, with their bodies. */
export interface SecondFactorBodies {
  /** Finishes a login that was answered with 202. */
  'login/second-factor': Pick<FactorFields, 'token' | 'code' | 'remember'>
  /** Makes a secret for an authenticator app, a `uri` for a QR code, and a token. */
  'second-factor/setup': object
  /** Switches the second factor on, by a code of that app. The `body` of the response has the recovery codes. */
  'second-factor/enable': Pick<FactorFields, 'token' | 'code'>
  /** Makes new recovery codes in place of the old ones. */
  'second-factor/recovery-codes': object
  /** Has all remembered devices ask for a code again. */
  'second-factor/forget-devices': object
  /** Switches the second factor off. */
  'second-factor/disable': object
}

/** The routes of the option `passkeys`, with their bodies. `createPasskeys()` posts to them. */
export interface PasskeyBodies {
  /** Makes a challenge for a login. */
  'login/passkey/options': object
  /** Logs in, by the response of a passkey. */
  'login/passkey': Pick<FactorFields, 'token' | 'response'>
  /** Makes a challenge for a new passkey. */
  'passkeys/options': object
  /** Stores a new passkey. */
  passkeys: Pick<FactorFields, 'token' | 'response'> & Partial<Pick<FactorFields, 'name'>>
  /** Gives a passkey another name. */
  'passkeys/rename': Pick<FactorFields, 'id' | 'name'>
  /** Removes a passkey. */
  'passkeys/remove': Pick<FactorFields, 'id'>
}

/** The routes of `post`, with their bodies. */
export interface PostBodies extends AccountBodies, SecondFactorBodies, PasskeyBodies {}
