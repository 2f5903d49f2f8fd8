/** `app.authn`: what the nearest registration of the plugin offers to the app. */
export interface Authn {
  /** Names of the authenticators that `use` may name. */
  readonly authenticators: readonly string[]
}
