// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.
import type { SessionResult } from './browser.js'

/**
 * The passkeys of the user of a session. Its functions work without `this`. They never reject: where the user cancels, the
 * result has the status 0 and the error null.
 */
export interface Passkeys {
  /** Whether this browser has passkeys. Pages over plain http have none, but for `http://localhost`. */
  readonly isSupported: boolean
  /** Shows the passkeys of this site, and logs in by the one that the user chooses. Call it in a click. */
  logIn(): Promise<SessionResult>
  /**
   * Offers the passkeys in the list that the browser shows at a field with `autocomplete="username webauthn"`, and logs in by the
   * one that the user chooses. Call it once when the page shows its login form. Until the user chooses, it does nothing else:
   * where passkeys cannot be offered, and as soon as `logIn`, `confirm`, `add` or `autofill` is called, it resolves as if the user had
   * cancelled. So do all four of them while `logIn`, `confirm` or `add` asks the user.
   */
  autofill(): Promise<SessionResult>
  /**
   * Has the user of the session prove by a passkey that it is them, as `confirm` of the session does by a password or a code. Call it in
   * a click.
   */
  confirm(): Promise<SessionResult>
  /** Makes a passkey, and stores it. The `body` is the {@link ListedPasskey}. @param name - shown in the list, at most 64 characters */
  add(name?: string): Promise<PasskeyResult>
  /** Reads the passkeys of the user. The `body` is a {@link PasskeyList}. The browser offers no others from then on, but those that were just added. */
  list(): Promise<SessionResult>
  /** Removes a passkey. The browser offers it no longer. @param id - of the passkey */
  remove(id: string): Promise<SessionResult>
  /** Gives a passkey another name. */
  rename(id: string, name: string): Promise<SessionResult>
}

/** The result of `add`. */
export interface PasskeyResult extends SessionResult {
  /** Set if this device has a passkey of this user already. The `error` is in English: show a text of your own. */
  readonly code?: 'exists'
}

/** The passkeys of a user. */
export interface PasskeyList {
  /** The domain of the passkeys. */
  readonly rpId: string
  /** The id by which browsers know the user, in base64url. */
  readonly userId: string
  /** All passkeys of the user. */
  readonly passkeys: readonly ListedPasskey[]
}

/** A passkey of the user, as `list` and `add` show it. */
export interface ListedPasskey {
  /** Its id, in base64url. */
  readonly id: string
  /** The name that the user has given it. */
  readonly name: string
  /** The kind of the authenticator, as a UUID; zeros where it does not tell. */
  readonly aaguid: string
  /** How browsers reach it, such as `internal` or `usb`. */
  readonly transports: readonly string[]
  /** Whether it is synced to other devices. */
  readonly backedUp: boolean
  /** When it was added, as an ISO date. */
  readonly created: string
  /** When it was used last; null if it never was. */
  readonly lastUsed: string | null
}
