/**
 * The access rule of a route, in `config.auth`, in the options of `app.register`, or in the plugin option `auth`; the
 * nearest one counts.
 *
 * - `true`: an authenticated user is required.
 * - `'optional'`: requests without credentials are anonymous; wrong credentials are a 401.
 * - `'try'`: requests without credentials, or with wrong ones, are anonymous.
 * - `false`: open, also inside a protected scope.
 * - `{ mode, use }`: a mode, and the names of the authenticators that are accepted here.
 * - `{ scope, role }`: an authenticated user with these scopes and roles is required; `use` may be added.
 * - `{ mfa, fresh }`: the same for several factors, and for the age of the authentication.
 */
export type AuthMark = AuthMode | AuthMarkObject

/** Whether there has to be a user. Default of the long form: `true`. */
export type AuthMode = boolean | 'optional' | 'try'

/** One or several names of registered authenticators. Default: the authenticator of the scope. */
export type AuthNames = AuthName | readonly AuthName[]

/** The name of a registered authenticator: a built-in one, or any other. */
export type AuthName = keyof BuiltInNames | (string & {})

/** The names of the authenticators that options register. Each feature adds its own. */
export interface BuiltInNames {
  /** JSON Web Tokens of the app. */
  jwt: true
  /** HTTP Basic against the user service. */
  basic: true
  /** HTTP Basic against the option `basic`. */
  configBasic: true
}

/** Names of scopes or roles; at least one. */
export type AccessNames = readonly [string, ...string[]]

/**
 * The scopes or roles that a mark requires: one; each of several; or at least one of several. A bare array is not
 * allowed, since some read it as "all of them" and others as "one of them".
 */
export type AccessNeed =
  | string
  | {
      /** The names of which a user needs all. */
      readonly all: AccessNames
      /** Cannot stand beside `all`. */
      readonly any?: never
    }
  | {
      /** The names of which a user needs at least one. The challenge of a 403 names the first one: list the weakest first. */
      readonly any: AccessNames
      /** Cannot stand beside `any`. */
      readonly all?: never
    }

/** What `grantsOf()` returns. */
export interface Grants {
  /** The scopes of the user. */
  readonly scopes: ReadonlySet<string>
  /** The roles of the user. */
  readonly roles: ReadonlySet<string>
}

/** An {@link AccessNeed} that was read. */
export type NeededNames =
  | {
      /** The names of which a user needs all. */
      readonly all: readonly string[]
    }
  | {
      /** The names of which a user needs at least one. */
      readonly any: readonly string[]
    }

/**
 * A mark in `config.auth`. It may be part of an object in a variable, so names that are easily written instead of `scope`
 * and `role` are errors of their own.
 */
export type RouteMark = AuthMode | (AuthMarkObject & NoPlural)

/** Names that are easily written instead of `scope` and `role`. They are errors for the compiler and at startup. */
export interface NoPlural {
  /** This is no member of a mark: write `scope`. */
  readonly scopes?: never
  /** This is no member of a mark: write `role`. */
  readonly roles?: never
}

/** A mark that requires scopes, and perhaps roles. */
export interface ScopeMark {
  /** There has to be a user: the only mode that `scope` and `role` can have. */
  readonly mode?: true
  /** The authenticators that are accepted here. Default: the one of the scope. */
  readonly use?: AuthNames
  /** Scopes that the user must have. */
  readonly scope: AccessNeed
  /** Roles that the user must have besides. */
  readonly role?: AccessNeed
  /** The user must be authenticated with several factors besides. */
  readonly mfa?: true
  /** The authentication must not be older besides, in seconds. */
  readonly fresh?: number
}

/** A mark that requires roles, and perhaps scopes. */
export interface RoleMark {
  /** There has to be a user: the only mode that `scope` and `role` can have. */
  readonly mode?: true
  /** The authenticators that are accepted here. Default: the one of the scope. */
  readonly use?: AuthNames
  /** Scopes that the user must have besides. */
  readonly scope?: AccessNeed
  /** Roles that the user must have. */
  readonly role: AccessNeed
  /** The user must be authenticated with several factors besides. */
  readonly mfa?: true
  /** The authentication must not be older besides, in seconds. */
  readonly fresh?: number
}

/** A mark that requires several factors (MFA), and perhaps more. */
export interface MfaMark {
  /** There has to be a user: the only mode that `mfa` can have. */
  readonly mode?: true
  /** The authenticators that are accepted here. Default: the one of the scope. */
  readonly use?: AuthNames
  /** Scopes that the user must have besides. */
  readonly scope?: AccessNeed
  /** Roles that the user must have besides. */
  readonly role?: AccessNeed
  /** The user must be authenticated with several factors (RFC 8176): a code, a passkey. */
  readonly mfa: true
  /** The authentication must not be older besides, in seconds. */
  readonly fresh?: number
}

/** A mark that requires an authentication of late (sudo mode), and perhaps more. */
export interface FreshMark {
  /** There has to be a user: the only mode that `fresh` can have. */
  readonly mode?: true
  /** The authenticators that are accepted here. Default: the one of the scope. */
  readonly use?: AuthNames
  /** Scopes that the user must have besides. */
  readonly scope?: AccessNeed
  /** Roles that the user must have besides. */
  readonly role?: AccessNeed
  /** The user must be authenticated with several factors besides. */
  readonly mfa?: true
  /** The age in seconds that the authentication may have, 1 to 2,592,000. A refresh makes nothing fresh. */
  readonly fresh: number
}

/** A mark that requires scopes, roles, several factors or a fresh authentication. */
export type AccessMark = ScopeMark | RoleMark | MfaMark | FreshMark

/** A mark with a mode, which requires nothing else. */
export interface ModeMark {
  /** Whether there has to be a user. */
  readonly mode: AuthMode
  /** The authenticators that are accepted here. Default: the one of the scope. */
  readonly use?: AuthNames
  /** Allowed only with the mode `true`. */
  readonly scope?: never
  /** Allowed only with the mode `true`. */
  readonly role?: never
  /** Allowed only with the mode `true`. */
  readonly mfa?: never
  /** Allowed only with the mode `true`. */
  readonly fresh?: never
}

/** A mark with names of authenticators, which requires nothing else. */
export interface UseMark {
  /** Whether there has to be a user. Default `true`. */
  readonly mode?: AuthMode
  /** The authenticators that are accepted here. */
  readonly use: AuthNames
  /** Allowed only with the mode `true`. */
  readonly scope?: never
  /** Allowed only with the mode `true`. */
  readonly role?: never
  /** Allowed only with the mode `true`. */
  readonly mfa?: never
  /** Allowed only with the mode `true`. */
  readonly fresh?: never
}

/**
 * The long form of a mark: a mode, names of authenticators, scopes, roles, `mfa`, `fresh`. At least one of them is required: if all
 * were optional, the compiler would accept any string as such an object.
 */
export type AuthMarkObject = AccessMark | ModeMark | UseMark

/** The marks under which `request.user` is never null. */
export type RequiredMark =
  | true
  | AccessMark
  | (ModeMark & {
      /** There has to be a user. */
      readonly mode: true
    })
  | (UseMark & {
      /** Left out, which means `true`: there has to be a user. */
      readonly mode?: never
    })
