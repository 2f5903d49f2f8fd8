import type { FastifyRequest } from 'fastify'

/**
 * The user as the app's handlers see it in `request.user`. Declare its fields once:
 *
 * ```ts
 * declare module 'fastify-authn' {
 *   interface AuthUser { id: number; name: string }
 * }
 * ```
 */
// Empty: the app fills it in.
export interface AuthUser {}

/**
 * The user as the user service returns it, with the password hash in it where Basic or login are used.
 * What is common with `request.user` comes from {@link AuthUser}; merge the rest into this interface, to
 * have it in `tokenFunc` and `storedUser()`.
 */
// Empty: the app fills it in.
export interface StoredUser extends AuthUser {}

declare const unstated: unique symbol

/** The user of options from which none can be inferred: a {@link StoredUser} of which any field may be meant. */
export interface UnstatedUser extends StoredUser {
  /** Never there. */
  readonly [unstated]?: never
}

/**
 * Names of the fields of a stored user that can hold a password hash: those of type `string`, which may
 * be null or missing. Any name where nobody has said what the users look like.
 *
 * @typeParam Stored - the stored record
 */
export type PasswordFieldOf<Stored extends object> = [keyof Stored] extends [never]
  ? string
  : string extends keyof Stored
    ? string
    : typeof unstated extends keyof Stored
      ? string
      : string &
          {
            [Field in keyof Stored]-?: Stored[Field] extends string | null | undefined
              ? Field
              : never
          }[keyof Stored]

/** The user that `configBasicAuthenticator` sets. */
export interface BasicUser {
  /** The username of the configuration. */
  name: string
}

/**
 * Finds users in the database of the app. Usernames must be unique.
 *
 * @typeParam Stored - the stored record, with the password hash in it where Basic or login are used
 */
export interface UserService<Stored extends object = StoredUser> {
  /**
   * Finds a user by username. Called for every request with a valid token or with Basic credentials, and for
   * every login.
   *
   * @param username - a name that a client claims to have: a non-empty string without control
   * characters, or, from the claim of a token only, a finite number
   * @param request - the request that asks
   * @returns the user, or `null`/`undefined` when there is none
   * @throws any error, or rejects with it, when the look-up fails: the client gets a 500, never a 401
   */
  findByUsername(
    username: string | number,
    request: FastifyRequest,
  ): Stored | null | undefined | Promise<Stored | null | undefined>

  /**
   * Stores a new hash of the same password, after a success with a hash of a lower cost than
   * `hashing.cost`. Store it only where the previous hash still is (`WHERE … AND password_hash = previousHash`),
   * or a password that is changed at the same moment is changed back. A failure is logged and does not fail
   * the login.
   *
   * @param user - as {@link findByUsername} returns it when the new hash is ready; when there is no such user any
   * more, or the hash is another one, this is not called
   * @param passwordHash - a bcrypt hash
   * @param previousHash - the hash that it replaces
   */
  updatePasswordHash?(user: Stored, passwordHash: string, previousHash: string): unknown
}
