/**
 * What a route says of its callers, in `config.auth`, in the options of `app.register`, or in the
 * plugin option `auth`; the nearest one counts.
 *
 * - `true`: an authenticated user is required.
 * - `'optional'`: no credentials pass as nobody; wrong ones are a 401.
 * - `'try'`: no credentials and wrong ones pass as nobody.
 * - `false`: open, also inside a protected scope.
 * - `{ mode, use }`: a mode, and the names of the authenticators that are accepted here.
 */
export type AuthMark = AuthMode | AuthMarkObject

/** Whether there has to be a user. Default of the long form: `true`. */
export type AuthMode = boolean | 'optional' | 'try'

/** One or several names of registered authenticators. Default: the authenticator of the scope. */
export type AuthNames = string | readonly string[]

/**
 * The long form of a mark: a mode, names, or both. One of them has to be there, also for the compiler,
 * to which any text would be such an object otherwise.
 */
export type AuthMarkObject =
  | {
      /** Whether there has to be a user. */
      readonly mode: AuthMode
      /** The authenticators that are accepted here. Default: the one of the scope. */
      readonly use?: AuthNames
    }
  | {
      /** Whether there has to be a user. Default `true`. */
      readonly mode?: AuthMode
      /** The authenticators that are accepted here. */
      readonly use: AuthNames
    }

/** The marks under which `request.user` is never null. */
export type RequiredMark =
  | true
  | {
      /** There has to be a user. */
      readonly mode: true
      /** The authenticators that are accepted here. */
      readonly use?: AuthNames
    }
  | {
      /** Left out: there has to be a user. */
      readonly mode?: never
      /** The authenticators that are accepted here. */
      readonly use: AuthNames
    }
