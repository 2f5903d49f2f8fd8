import type { FastifyRequest } from 'fastify'
import type { AccountsOptions } from './accounts.js'
import type { NewAccount } from './mail.js'
import type { ApiKeysOptions } from './api-keys.js'
import type { OfRegistration } from './events.js'
import type { LoginOptions } from './login.js'
import type { IdTokenClaims, LoginProviderOptions } from './login-with.js'
import type { AuthMark } from './marks.js'
import type { AuthnOptions } from './options.js'
import type { Passkey, PasskeysOptions } from './passkeys.js'
import type { ResourceServerOptions } from './resource.js'
import type { SecondFactorOptions } from './second-factor.js'
import type { AuthUser, StoredUser } from './user-service.js'

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
  /** When the user was stored. */
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
  /** When it was stored. */
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
  /** Disabled users alone, or others alone. Default: both. */
  readonly disabled?: boolean | undefined
  /** A role that they have. Unlike the other filters, it has no index. */
  readonly role?: string | undefined
}

/** Users of a list. */
export interface UserPage<User> {
  /** At most as many as were asked for. */
  readonly users: readonly User[]
  /** The `after` of the next page; null at the end. */
  readonly next: string | null
}

/** `app.authn.users`. All methods reject with ERR_AUTH_STORE_UNAVAILABLE (503) or ERR_AUTH_USERS (500) where the store fails. */
export interface Users {
  /** The user of an id, also a disabled one; null for none. */
  find(id: string): Promise<FoundUser | null>
  /** The user of an address, also a disabled one; null for none. */
  findByEmail(email: string): Promise<FoundUser | null>
  /** A page of users, the newest first, or by address with `email`. @throws (rejects) ERR_AUTH_CLAIMS for a wrong filter */
  list(filter?: UserFilter): Promise<UserPage<FoundUser>>
  /**
   * Stores a user. One without a password chooses it by `POST /password/forgot`.
   *
   * @param columns - with columns that the app has added
   * @param request - null outside of a request
   * @returns null if the address is taken
   * @throws (rejects) ERR_AUTH_CLAIMS for what is no address, name or role
   */
  create(columns: NewUserColumns, request: FastifyRequest | null): Promise<FoundUser | null>
  /** Changes columns of a user. @returns whether there is one @throws (rejects) ERR_AUTH_CLAIMS for a wrong name or role */
  update(
    id: string,
    columns: Partial<Pick<TableUser, 'name' | 'roles'>> & UserColumns,
    request: FastifyRequest | null,
  ): Promise<boolean>
  /** Rejects a user from the next request on, and revokes all sessions. @returns whether there is such a user */
  disable(id: string, request: FastifyRequest | null): Promise<boolean>
  /** Lets a disabled user log in again. @returns whether there is such a user */
  enable(id: string, request: FastifyRequest | null): Promise<boolean>
  /** Deletes a user, with sessions and API keys. @returns whether there was one */
  remove(id: string, request: FastifyRequest | null): Promise<boolean>
  /** The accounts of a user at providers, the oldest first. */
  identities(id: string): Promise<readonly UserIdentity[]>
}

/** The columns of a new user for {@link Users.create}. */
export interface NewUserColumns {
  /** The address; null for none. */
  readonly email: string | null
  /** At most 200 characters. */
  readonly name?: string | null | undefined
  /** At most 100, each of 1 to 100 characters. */
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
  /** Whether a password does. */
  readonly password: boolean
  /** Whether passkeys do. */
  readonly passkeys: boolean
  /** The issuers of the providers that are configured. */
  readonly issuers: readonly string[]
}

/** `last`: it is the only way in that is left, and was not removed. `unknown`: the user has no such one. */
export type Removed = 'removed' | 'unknown' | 'last'

/**
 * A store of users. Each method is one atomic step, whatever other processes do, and rejects where the store cannot be
 * reached. Ids are UUIDs in lower case, addresses are as the plugin has made them. Disabled users are found too.
 */
export interface UserStore {
  /** The names of the columns that the app has added; null for any name. */
  columns(): Promise<readonly string[] | null>
  /** The user of an id; null for none, as in the next two. */
  find(id: string): Promise<UserRow | null>
  /** The user of an address. */
  findByEmail(email: string): Promise<UserRow | null>
  /** The user of an account at a provider. */
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
  /** Disables or enables a user. @returns whether something has changed; null for an unknown user */
  setDisabled(id: string, isDisabled: boolean): Promise<boolean | null>
  /** Deletes a user, with identities and passkeys. @returns whether there was one */
  remove(id: string): Promise<boolean>
  /** A page of users, the newest first, or by address with `email`. @throws (rejects) RangeError for an `after` that is no `next` */
  list(filter: UserFilter & { readonly limit: number }): Promise<UserPage<UserRow>>
  /** The accounts of a user at providers, the oldest first. */
  identities(id: string): Promise<readonly UserIdentity[]>
  /** Stores an identity. @returns whether it belongs to this user now, also if it did before: it is never moved */
  link(id: string, identity: Identity): Promise<boolean>
  /** Removes an identity, unless it is the last way in. @param ways - null: it may be the last one */
  unlink(id: string, issuer: string, subject: string, ways: WaysIn | null): Promise<Removed>
  /** The passkeys of a user, the oldest first. */
  passkeys(id: string): Promise<readonly Passkey[]>
  /** Stores a passkey. @returns false if its `id` is taken, by any user, or the user is gone */
  addPasskey(id: string, passkey: Passkey): Promise<boolean>
  /** Stores `after` if `before` is still stored. @returns whether it was */
  swapPasskey(id: string, after: Passkey, before: Passkey): Promise<boolean>
  /** Removes a passkey, unless it is the last way in. @param ways - null: it may be the last one */
  removePasskey(id: string, passkey: string, ways: WaysIn | null): Promise<Removed>
}

/** Opens a store of users. Registrations with the same object have the same users. */
export interface UserStoreFactory {
  /** The name of the app. */
  readonly prefix: string
  /** Whether users are in the memory of this process. */
  readonly isLocal: boolean
  /** Called once. */
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

declare module './mail.js' {
  interface NewAccount {
    /** What an admin has given to an invited user by the admin API of the option `users`. */
    readonly admin?: Partial<
      Pick<TableUser, 'name' | 'roles'> & {
        /** The id of the admin, for an invitation. */
        readonly by: string
      }
    >
  }
}

/** The user that functions of options get beside `users`: the row, with the fields that the app has declared. */
export type StoredTableUser = UserRow & StoredUser

/** Options with members that the table supplies, and without those that it replaces. */
type BesideUsers<
  Options,
  Supplied extends keyof Options,
  Replaced extends keyof Options = never,
> = Omit<Options, Supplied | Replaced> & Partial<Pick<Options, Supplied>>

/** An entry of the option `loginWith` beside `users`. */
export interface ProviderBesideUsers<Stored extends object> extends BesideUsers<
  LoginProviderOptions<Stored>,
  'username',
  'link'
> {
  /** Links an account, in place of the table: see {@link LoginProviderOptions.link}. */
  link?: LoginProviderOptions<Stored>['link']
}

/** The option `accounts` beside `users`. */
export interface AccountsBesideUsers<Stored extends object> extends Omit<
  AccountsOptions<Stored>,
  'create' | 'update' | 'acceptPassword' | 'remove' | 'emailField'
> {
  /** Stores a new account, in place of the table: see {@link AccountsOptions.create}. */
  create?: AccountsOptions<Stored>['create']
  /** Stores a change, in place of the table: see {@link AccountsOptions.update}. */
  update?: AccountsOptions<Stored>['update']
  /** Whether a new password may be used: see {@link AccountsOptions.acceptPassword}. */
  acceptPassword?: AccountsOptions<Stored>['acceptPassword']
  /** Deletes an account; `true`: from the table. Without it there is no route that does. */
  remove?: true | AccountsOptions<Stored>['remove']
}

/** The options that have another type beside `users`. */
export interface OptionsBesideUsers<Stored extends object> {
  /** The table of users, which supplies members of other options. */
  users: UsersOptions
  /** Not allowed beside `users`. */
  userService?: undefined
  /** Not allowed beside `users`. */
  passwordField?: undefined
  /** The login route; `false` for none. The `sub` of a user is the id. */
  login?: BesideUsers<LoginOptions<Stored>, never, 'subject'> | false | undefined
  /** Sign-up, forgotten passwords and changes: see {@link AuthnOptions.accounts}. */
  accounts?: AccountsBesideUsers<Stored> | undefined
  /** OpenID providers: see {@link AuthnOptions.loginWith}. */
  loginWith?: Readonly<Record<string, ProviderBesideUsers<Stored>>> | undefined
  /** Codes after a login: see {@link AuthnOptions.secondFactor}. */
  secondFactor?: BesideUsers<SecondFactorOptions<Stored>, 'update', 'field'> | undefined
  /** Log-in with passkeys: see {@link AuthnOptions.passkeys}. */
  passkeys?: BesideUsers<PasskeysOptions<Stored>, 'list' | 'add' | 'update' | 'remove'> | undefined
  /** API keys: see {@link AuthnOptions.apiKeys}. */
  apiKeys?: Omit<ApiKeysOptions<Stored>, 'user'> | undefined
}

/** {@link AuthnOptions} with `users`. */
export interface UserTableOptions<Stored extends object = StoredTableUser>
  extends
    Omit<AuthnOptions<Stored>, keyof OptionsBesideUsers<Stored>>,
    OptionsBesideUsers<Stored> {}

/** {@link ResourceServerOptions} with `users`. */
export interface UserTableResourceOptions<Stored extends object = StoredTableUser>
  extends
    Omit<ResourceServerOptions<Stored>, keyof OptionsBesideUsers<Stored>>,
    OptionsBesideUsers<Stored> {}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /** A table of users: see {@link UserTableOptions}. */
    users?: undefined
  }
  interface OwnUsers {
    /** With `users`. */
    users: StoredTableUser
  }
  interface OwnUserShapes<Stored extends object> {
    /** With `users`. */
    users: UserTableOptions<Stored>
    /** With `users` and `resource`. */
    usersAndResource: UserTableResourceOptions<Stored>
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `users` is set. */
    users: true
  }
  interface Authn {
    /** The users of the table. @throws ERR_AUTH_OPTION when it is read without the option `users`; {@link Authn.features} says whether it is set */
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
