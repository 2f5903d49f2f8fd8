import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { StoreResult } from './store-result.js'
import type { StoredUser } from './user-service.js'
import type { OfRegistration } from './events.js'

/** Passkeys over a table of the app: the option `passkeys` (WebAuthn Level 3). */
export interface PasskeysOptions<Stored extends object = StoredUser> {
  /**
   * The origins of the pages: `https://…`, `http://localhost` with any port, or `android:apk-key-hash:…` of an app.
   * Compared character by character with what the browser has signed.
   */
  origin: string | readonly string[]
  /**
   * The domain of the passkeys, without scheme and port. With another one, all of them are lost. Default: the host of the
   * first origin; required if that is an app.
   */
  rpId?: string | undefined
  /** The name of the app, which browsers show. */
  name: string
  /**
   * Finds the passkeys of a user.
   *
   * @param user - the object that `findByUsername` returned
   * @returns all of them, as they were stored
   */
  list(user: Stored): readonly Passkey[] | Promise<readonly Passkey[]>
  /**
   * Stores a new passkey.
   *
   * @returns whether it was stored; it is not if its `id` is taken, by this user or by another one
   */
  add(user: Stored, passkey: Passkey): StoreResult | PromiseLike<StoreResult>
  /**
   * Stores `after` if `before` is still what is stored (compare-and-swap); both have the same `id`. Without the comparison,
   * a response of a passkey works several times.
   *
   * @returns whether it was stored
   */
  update(user: Stored, after: Passkey, before: Passkey): StoreResult | PromiseLike<StoreResult>
  /**
   * Deletes a passkey of this user.
   *
   * @param mayBeLast - whether support removes it, or a passkey that was not added completely
   * @returns whether it was deleted. If not, or if it returns nothing, `list` is asked whether it is still there (500)
   */
  remove(
    user: Stored,
    id: string,
    mayBeLast: boolean,
  ): StoreResult | void | PromiseLike<StoreResult | void>
  /** The field of the stored user that browsers show beside a passkey. Default `email`; without a text there, the `sub`. */
  accountField?: string | undefined
  /**
   * Finds the name of a user by the handle of a passkey that another system has made, before its own are tried. Clients may make
   * up any handle.
   *
   * @param handle - 1 to 64 bytes
   * @returns a name for `findByUsername`; null or undefined for other handles
   */
  username?:
    | ((
        handle: Uint8Array,
      ) => string | number | null | undefined | Promise<string | number | null | undefined>)
    | undefined
  /** Passkeys that a user may have, 1 to 100. Default 20. */
  most?: number | undefined
  /**
   * Whether a passkey is a second factor too: a login with one meets the mark `mfa`, and its user needs `mfa` to change how
   * they log in. With false, it is a way to log in as a password is. Default true.
   */
  mfa?: boolean | undefined
  /** More options of the routes, such as hooks. */
  routeOptions?: Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'> | undefined
}

/** A passkey as the app stores it: plain JSON, of which nothing is secret. */
export interface Passkey {
  /** The credential ID in base64url, at most 1,364 characters. It is unique among all users. */
  readonly id: string
  /** The public key (COSE, RFC 9052) in base64url. */
  readonly publicKey: string
  /** The signature counter at the last use; 0 for a passkey that has none. */
  readonly counter: number
  /** The time of the last challenge that it has signed, in microseconds since 1970; 0 for none. */
  readonly at: number
  /**
   * The challenges that it has signed, at most 32, so that each works once. Without it, a challenge that is older than
   * {@link at} is rejected.
   */
  readonly used?: readonly string[] | undefined
  /** The user handle that it keeps, in base64url. Without it: the `sub` of the user as JSON. */
  readonly handle?: string | undefined
  /** How browsers reach it, such as `internal` or `hybrid`. */
  readonly transports: readonly string[]
  /** The model of the authenticator or password manager: a UUID, of zeros where it is not told. */
  readonly aaguid: string
  /** Whether it is synchronized, so that it survives the loss of a device. */
  readonly backedUp: boolean
  /** The name that the user has given it, at most 64 characters. It may be empty. */
  readonly name: string
  /** When it was added (ISO 8601). */
  readonly created: string
  /** When it was used for the last time (ISO 8601); null for never. */
  readonly lastUsed: string | null
}

/** The functions of `app.authn.passkeys`, for support. */
export interface Passkeys {
  /**
   * Removes all passkeys of a user who has lost them: for support, which has to know the user by other means. Sessions stay.
   *
   * @param name - as for `findByUsername`
   * @param request - of the person who does it; the events have it
   * @returns how many there were; 0 for an unknown user
   * @throws (rejects) AuthenticationFault
   */
  removeAll(name: string | number, request: FastifyRequest): Promise<number>
}

/** Published when a passkey was added, used for a login, or removed. */
export interface PasskeyEvent extends OfRegistration {
  /** The action that is completed. After `used`, the login may still fail. */
  readonly action: 'added' | 'used' | 'removed'
  /** The claim `sub` of the tokens of the user. */
  readonly sub: string
  /** The `id` of the passkey. */
  readonly id: string
  /** The request. It holds what the client sent, tokens included: never log it whole. */
  readonly request: FastifyRequest
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Log-in with passkeys. The table is the app's; the plugin stores nothing. Needs `sessions`, `userService`,
     * `login.subject` and the package `@simplewebauthn/server`. Default: none.
     */
    passkeys?: PasskeysOptions<Stored> | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `passkeys` is set. */
    passkeys: true
  }
  interface Authn {
    /** Reading it without the option throws ERR_AUTH_OPTION. */
    readonly passkeys: Passkeys
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The response of an authenticator is not valid, or the passkey is unknown. */
    ERR_AUTH_PASSKEY_INVALID: 403
    /** The passkey is the only way in that the user has. */
    ERR_AUTH_PASSKEY_LAST: 409
  }
  interface FaultCodes {
    /** A function of the option `passkeys` has failed, or has returned what is no passkey. */
    ERR_AUTH_PASSKEYS: 500
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** This passkey was not accepted. Please try again. */
    readonly 'auth.passkey-invalid': string
    /** This is your only way to log in. Please set a password or add another passkey first. */
    readonly 'auth.passkey-last': string
  }
}

declare module './events.js' {
  interface AuthnEvents {
    /** A passkey was added, used or removed. */
    readonly passkey: PasskeyEvent
  }
}
