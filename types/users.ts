import type { FastifyRequest } from 'fastify'
import type { NewAccount } from './accounts.js'
import type { OfRegistration } from './events.js'
import type { IdTokenClaims } from './login-with.js'
import type { AuthMark } from './marks.js'
import type { Passkey } from './passkeys.js'
import type { AuthUser } from './user-service.js'

/** A user of the table, as `request.user` shows it: for `interface AuthUser extends TableUser {}`. */
export interface TableUser {
  /** A UUID in lower case, which is the claim `sub` too. */
  readonly id: string
  /** The address in lower case, as browsers send it. It is unique; null for none. */
  readonly email: string | null
  /** At most 200 characters; null for none. */
  readonly name: string | null
  /** At most 100, each of 1 to 100 characters. */
  readonly roles: readonly string[]
  readonly createdAt: Date
}

/** A row of the table, with the columns that the app has added, as the driver gives them. */
export interface UserRow extends TableUser {
  /** The password hash; null for none. */
  readonly password: string | null
  /** What the option `secondFactor` stores; null for none. */
  readonly secondFactor: string | null
  /** Since when the user is disabled; null for a user who may log in. */
  readonly disabledAt: Date | null
  readonly [column: string]: unknown
}

/** A user as `app.authn.users` returns it. */
export type FoundUser = TableUser & AuthUser & Pick<UserRow, 'disabledAt'>

/** Columns that the app has added, by their names. */
export type UserColumns = Readonly<Record<string, unknown>>

/** The account of a user at a provider. */
export interface Identity {
  /** The name of the provider in the option `loginWith`. */
  readonly provider: string
  /** The issuer (OpenID Connect Core §2). */
  readonly issuer: string
  /** The claim `sub` of the issuer. */
  readonly subject: string
}

/** An {@link Identity} as it is stored. */
export interface UserIdentity extends Identity {
  readonly created: Date
}

/** The option `users`. */
export interface UsersOptions {
  /** Where users are kept: `sqlUsers()` or `memoryUsers()` of `fastify-authn/users`, or a store of the app. */
  store: UserStoreFactory
  /**
   * Returns more columns of a new user: `name`, and columns that the app has added. Not called by `app.authn.users.create()`.
   *
   * @returns no `roles`, unless an admin has invited the user
   * @throws AuthenticationError to reject the sign-up
   */
  newUser?(account: NewUserAccount, request: FastifyRequest): UserColumns | Promise<UserColumns>
  /** `false`: a login at a provider makes no account (403). See `accounts.signUp` too. Default `true`. */
  signUp?: boolean | undefined
  /** The routes of an admin API. Default: none. */
  admin?: UsersAdminOptions | undefined
}

/** What is known of a new user. */
export interface NewUserAccount extends Pick<NewAccount, 'invitation' | 'admin'> {
  /** The address, which is verified; null for none. */
  readonly email: string | null
  /** The name of the provider in `loginWith`, for a first login there. */
  readonly provider?: string
  /** The claims of that provider. */
  readonly claims?: IdTokenClaims
}

/** The admin API: see the guide "Users and admins". */
export interface UsersAdminOptions {
  /** The mark of its routes, with a scope or a role. */
  auth: AuthMark
  /** The path below which the routes are, with a leading slash and no trailing one. Default `/admin/users`. */
  path?: string | undefined
}

/** Which users {@link Users.list} returns. */
export interface UserFilter {
  /** The `next` of an earlier page. */
  readonly after?: string | undefined
  /** Users of a page, 1 to 200. Default 50. */
  readonly limit?: number | undefined
  /** The beginning of addresses. Then users are listed by their addresses. */
  readonly email?: string | undefined
  readonly disabled?: boolean | undefined
  /** A role that they have. Unlike the other filters, it has no index. */
  readonly role?: string | undefined
}

/** `app.authn.users`. All methods reject with ERR_AUTH_STORE_UNAVAILABLE (503) or ERR_AUTH_USERS (500) where the store fails. */
export interface Users {
  find(id: string): Promise<FoundUser | null>
  findByEmail(email: string): Promise<FoundUser | null>
  /** @returns a page, the newest first or by address, and where the next one begins @throws (rejects) ERR_AUTH_CLAIMS */
  list(
    filter?: UserFilter,
  ): Promise<{ readonly users: readonly FoundUser[]; readonly next: string | null }>
  /**
   * @param columns - `email`, `name`, `roles`, `password` (hashed here; its length is not checked), and columns that the app has
   * added. A user without `password` chooses one by `POST /password/forgot`
   * @param request - null outside of a request
   * @returns null if the address is taken
   * @throws (rejects) ERR_AUTH_CLAIMS for what is no address, name or role
   */
  create(columns: NewUserColumns, request: FastifyRequest | null): Promise<FoundUser | null>
  /** @returns whether there is such a user @throws (rejects) ERR_AUTH_CLAIMS for what is no name or role */
  update(
    id: string,
    columns: Partial<Pick<TableUser, 'name' | 'roles'>> & UserColumns,
    request: FastifyRequest | null,
  ): Promise<boolean>
  /** The user is rejected from the next request on, and all sessions are revoked. @returns whether there is such a user */
  disable(id: string, request: FastifyRequest | null): Promise<boolean>
  /** @returns whether there is such a user */
  enable(id: string, request: FastifyRequest | null): Promise<boolean>
  /** Deletes a user, with sessions and API keys. @returns whether there was one */
  remove(id: string, request: FastifyRequest | null): Promise<boolean>
  identities(id: string): Promise<readonly UserIdentity[]>
}

/** The columns of a new user for {@link Users.create}. */
export interface NewUserColumns {
  readonly email: string | null
  readonly name?: string | null | undefined
  readonly roles?: readonly string[] | undefined
  /** A password, not a hash. */
  readonly password?: string | undefined
  readonly [column: string]: unknown
}

/** A user that is to be stored. */
export interface NewUser extends Pick<UserRow, 'id' | 'email' | 'name' | 'roles' | 'password'> {
  /** The columns that the app has added. They are among {@link UserStore.columns}. */
  readonly columns: UserColumns
}

/** What a compare-and-swap changes. Members that are left out are neither compared nor changed. */
export type UserSecrets = Partial<Pick<UserRow, 'email' | 'password' | 'secondFactor'>>

/** What counts as a way to log in beside those that are removed. */
export interface WaysIn {
  readonly password: boolean
  readonly passkeys: boolean
  /** The issuers of the providers that are configured. */
  readonly issuers: readonly string[]
}

/** `last`: it is the only way in that is left, and was not removed. `unknown`: the user has no such one. */
export type Removed = 'removed' | 'unknown' | 'last'

/** The filter of a page of a store, checked. */
export interface UserPage extends UserFilter {
  readonly limit: number
}

/**
 * A store of users. Each method is one atomic step, whatever other processes do, and rejects where the store cannot be
 * reached. Ids are UUIDs in lower case, addresses are as the plugin has made them.
 */
export interface UserStore {
  /** The names of the columns that the app has added; null for any name. */
  columns(): Promise<readonly string[] | null>
  /** Finds disabled users too, as do the next two. */
  find(id: string): Promise<UserRow | null>
  findByEmail(email: string): Promise<UserRow | null>
  findByIdentity(issuer: string, subject: string): Promise<UserRow | null>
  /** Stores a user, with an identity. @returns null if the address, the id or the identity is taken: then nothing is stored */
  create(user: NewUser, identity: Identity | null): Promise<UserRow | null>
  /** Changes what is given. @returns whether there is such a user */
  update(
    id: string,
    change: Partial<Pick<UserRow, 'name' | 'roles'>> & { readonly columns: UserColumns },
  ): Promise<boolean>
  /** Stores `after` if `before` is still stored. @returns whether it was; false also if the new address is taken */
  swap(id: string, after: UserSecrets, before: UserSecrets): Promise<boolean>
  /** @returns whether something has changed; null for an unknown user */
  setDisabled(id: string, isDisabled: boolean): Promise<boolean | null>
  /** Deletes a user, with identities and passkeys. @returns whether there was one */
  remove(id: string): Promise<boolean>
  /** A page of users, the newest first, or by address with `email`; `next` is null at the end. @throws (rejects) RangeError for an `after` that is no `next` */
  list(
    page: UserPage,
  ): Promise<{ readonly users: readonly UserRow[]; readonly next: string | null }>
  /** The oldest first. */
  identities(id: string): Promise<readonly UserIdentity[]>
  /** @returns whether the identity belongs to this user now, also if it did before: it is never moved */
  link(id: string, identity: Identity): Promise<boolean>
  unlink(id: string, issuer: string, subject: string, ways: WaysIn): Promise<Removed>
  /** The oldest first. */
  passkeys(id: string): Promise<readonly Passkey[]>
  /** @returns false if its `id` is taken, by any user, or the user is gone */
  addPasskey(id: string, passkey: Passkey): Promise<boolean>
  /** Stores `after` if `before` is still stored. @returns whether it was */
  swapPasskey(id: string, after: Passkey, before: Passkey): Promise<boolean>
  /** @param ways - null: it may be the last way in */
  removePasskey(id: string, passkey: string, ways: WaysIn | null): Promise<Removed>
}

/** Opens a store of users. Registrations with the same object have the same users. */
export interface UserStoreFactory {
  /** The name of the app. */
  readonly prefix: string
  /** Whether users are in the memory of this process. */
  readonly isLocal: boolean
  open(): UserStore
}

/** Published when a user was created, changed or deleted. */
export interface UserEvent extends OfRegistration {
  /** What has happened. */
  readonly action: 'created' | 'updated' | 'disabled' | 'enabled' | 'removed'
  /** The id of the user. */
  readonly sub: string
  /** The request, which holds what the client sent: never log it whole. Null outside of one. */
  readonly request: FastifyRequest | null
}

declare module './accounts.js' {
  interface NewAccount {
    /** What an admin has given to an invited user by the admin API of the option `users`. */
    readonly admin?: Partial<Pick<TableUser, 'name' | 'roles'>>
  }
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /** A table of users, in place of `userService`. Default: none. */
    users?: UsersOptions | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `users` is set. */
    users: true
  }
  interface Authn {
    /** @throws ERR_AUTH_OPTION when it is read without the option `users`; {@link Authn.features} says whether it is set */
    readonly users: Users
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** There is an account with the address of a first login at a provider, or of a new user. */
    ERR_AUTH_ACCOUNT_EXISTS: 409
    /** The user is disabled, and has proved who they are. */
    ERR_AUTH_ACCOUNT_DISABLED: 403
    /** The identity is the only way in that the user has. */
    ERR_AUTH_IDENTITY_LAST: 409
    /** An admin has asked for a change of the own account that could lock them out. */
    ERR_AUTH_OWN_ACCOUNT: 409
    /** There is no such user, or the user has no such identity. */
    ERR_AUTH_NOT_FOUND: 404
  }
  interface FaultCodes {
    /** The store of users has failed, or `users.newUser` has returned what cannot be stored. */
    ERR_AUTH_USERS: 500
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** There is an account with this address. Log in to it, and connect the provider there. */
    readonly 'auth.account-exists': string
    /** This account is suspended. Please contact support. */
    readonly 'auth.account-disabled': string
    /** This is your only way to log in. Please set a password or add a passkey first. */
    readonly 'auth.identity-last': string
    /** Another admin has to do this for your own account. */
    readonly 'auth.own-account': string
    /** This does not exist. */
    readonly 'auth.not-found': string
  }
}

declare module './events.js' {
  interface AuthnEvents {
    /** A user of the table was created, changed or deleted. */
    readonly user: UserEvent
  }
}
