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
export type AuthMark = boolean | 'optional' | 'try' | AuthMarkObject

/** The long form of a mark. */
export interface AuthMarkObject {
  /** Default `true`. */
  readonly mode?: boolean | 'optional' | 'try'
  /** One or several names of registered authenticators. Default: the authenticator of the scope. */
  readonly use?: string | readonly string[]
}

/** The marks under which `request.user` is never null. */
export type RequiredMark =
  | true
  | { readonly mode: true; readonly use?: string | readonly string[] }
  | { readonly mode?: never; readonly use: string | readonly string[] }
