import type { FastifyInstance } from 'fastify'
import type { LoginOptions, TokenFunc } from './login.js'
import type { AuthnOptions } from './options.js'
import type { StoredUser } from './user-service.js'

declare const build: unique symbol

/**
 * The plugin: `await app.register(authn, { userService, jwt: { secret } })`.
 *
 * `register` infers the stored user from the user service, by the overload that `fastify.ts` adds to it.
 * Its own overloads take the last signature that stands here; they are tried when ours has refused.
 */
export interface AuthnPlugin {
  <Stored extends StoredUser & object>(
    app: FastifyInstance,
    options: AuthnOptions<Stored>,
  ): Promise<void>
  (app: FastifyInstance, options: RefusedOptions): Promise<void>
  /**
   * The default export that `fastify-plugin` adds. This property distinguishes the type from those of other plugins,
   * and the ES module from CommonJS: a program that loads both has a user type for each.
   */
  readonly fastifyAuthn: AuthnPlugin & {
    /** Not there at run time. */
    readonly [build]: true
  }
}

/**
 * Options that do not fit the users of their user service. What is wrong with them has to be wrong here
 * too, or Fastify's own overloads of `register` would take them; and it is what the compiler then reports.
 */
export interface RefusedOptions extends Omit<
  AuthnOptions<StoredUser & object>,
  'passwordField' | 'login'
> {
  /** Field of the stored user that holds the bcrypt hash: one of type `string`. Default `password`. */
  // The default `password` is accepted here, so that the compiler reports the option that is really wrong.
  passwordField?: 'password' | 'a field of type string of what findByUsername returns' | undefined
  /** The login route; `false` for none. */
  login?: RefusedLoginOptions | false | undefined
}

/** {@link LoginOptions} of {@link RefusedOptions}. */
export interface RefusedLoginOptions extends Omit<LoginOptions, 'tokenFunc' | 'claims'> {
  /** Claims of the app for tokens of sessions. */
  claims?: LoginOptions['claims']
  /** Makes the token of a user that `findByUsername` returned. */
  // A property and not a method: TypeScript compares the parameters of methods in both directions.
  tokenFunc?: TokenFunc
}
