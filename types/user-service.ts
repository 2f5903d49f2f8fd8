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
 * The user as the user service returns it, with the password hash in it if Basic or login are used.
 * It has the fields of {@link AuthUser}; declare the others here, to have them in `tokenFunc` and `storedUser()`.
 */
// Empty: the app fills it in.
export interface StoredUser extends AuthUser {}

declare const unstated: unique symbol

/** The stored user if the options do not give its type: a {@link StoredUser} that may have other fields. */
export interface UnstatedUser extends StoredUser {
  /** Only the compiler knows this member; no object has it. */
  readonly [unstated]?: never
}

/**
 * Names of the fields of a stored user that can hold a password hash: those of type `string`, also if they may be
 * null or missing. Any name as long as the app has not declared the fields of its users.
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
 * @typeParam Stored - the stored record, with the password hash in it if Basic or login are used
 */
export interface UserService<Stored extends object = StoredUser> {
  /**
   * Finds a user by username. Called for every request with a valid token or with Basic credentials, and for every
   * login; twice with `sessions`, `jwt.validAfterField` or `login.tokenFunc`, where a cache would hide that the password
   * was changed in between.
   *
   * @param username - a name that a client claims to have: a non-empty string without control
   * characters, or, from the claim of a token only, a finite number
   * @param request - the request to authenticate
   * @returns the user, or `null`/`undefined` when there is none
   * @throws any error, or rejects with it, if the lookup fails: the client gets a 500. An AuthenticationError rejects
   * requests with a valid token, with its text; at a login and for Basic, its user counts as unknown
   */
  findByUsername(
    username: string | number,
    request: FastifyRequest,
  ): Stored | null | undefined | Promise<Stored | null | undefined>

  /**
   * Stores a new hash of the same password. Called after a successful login or Basic request whose stored hash is
   * weaker than `hashing` asks for, of another algorithm, or not of the NFC of the password. Store it only if the stored hash is still the previous one
   * (`WHERE … AND password_hash = previousHash`), or a password that is changed at the same moment is changed back. When
   * this throws, the error is logged, and the login succeeds.
   *
   * @param user - looked up again when the new hash is ready. Not called if the user is gone or has another hash
   * by then
   * @param passwordHash - of `hashing.algorithm`: up to 97 characters by default
   * @param previousHash - the hash that it replaces
   */
  updatePasswordHash?(user: Stored, passwordHash: string, previousHash: string): unknown
}
