import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyPluginCallback,
  FastifyRegisterOptions,
  RegisterOptions,
} from 'fastify'
import type { LoginOptions, TokenFunc } from './login.js'
import type { AnyAuthnOptions, AnyOwnUserOptions, AuthnOptions } from './options.js'
import type { StoredUser } from './user-service.js'

/**
 * The plugin: `await app.register(authn, { userService, jwt: { secret } })`.
 *
 * The overload of `register` that `types/fastify.ts` adds infers the stored user from the user service. When it does
 * not fit, the compiler tries Fastify's own overloads, which look only at the last signature here.
 */
export interface AuthnPlugin {
  (app: FastifyInstance, options: AnyOwnUserOptions): Promise<void>
  <Stored extends StoredUser & object>(
    app: FastifyInstance,
    options: AnyAuthnOptions<Stored>,
  ): Promise<void>
  (app: FastifyInstance, options: RejectedOptions): Promise<void>
  /**
   * The default export that `fastify-plugin` adds. By this property the compiler tells the plugin from all others.
   */
  readonly fastifyAuthn: AuthnPlugin
}

/**
 * The type of options that do not fit the users that `findByUsername` returns. Fastify's own overloads of `register`
 * check them against this type, which is not assignable either, so that the compiler reports what is wrong.
 */
export interface RejectedOptions extends Omit<
  AuthnOptions<StoredUser & object>,
  'passwordField' | 'login'
> {
  /** Field of the stored user that holds the password hash: one of type `string`. Default `password`. */
  // The default `password` is accepted here, so that the compiler reports the option that is really wrong.
  passwordField?: 'password' | 'a field of type string of what findByUsername returns' | undefined
  /** The login route; `false` for none. */
  login?: RejectedLoginOptions | false | undefined
}

/** {@link LoginOptions} of {@link RejectedOptions}. */
export interface RejectedLoginOptions extends Omit<
  LoginOptions,
  'tokenFunc' | 'claims' | 'subject' | 'body'
> {
  /** Claims of the app for tokens of sessions. */
  claims?: LoginOptions['claims']
  /** The name of a user in tokens and sessions. */
  subject?: LoginOptions['subject']
  /** The body of the responses to logins and refreshes. */
  body?: LoginOptions['body']
  /** Makes the token of a user that `findByUsername` returned. */
  // A property and not a method: TypeScript compares the parameters of methods in both directions.
  tokenFunc?: TokenFunc
}

/**
 * The last overload of `register`, whose error is the one that the compiler shows. It accepts nothing that the others do
 * not: it is there for its error, which can name the option that was meant.
 */
export interface RejectedRegister<T> {
  /** Registers a plugin. */
  <Plugin, Users = undefined>(
    plugin: Plugin & ([RejectedBy<Plugin, Users>] extends [never] ? FastifyPluginAsync : unknown),
    opts: RejectedBy<Plugin, Users>,
  ): T
}

/** The options of a plugin, for {@link RejectedRegister}. */
type RejectedBy<Plugin, Users> = Plugin extends AuthnPlugin | Promise<{ default: AuthnPlugin }>
  ? // The function that Fastify accepts too is left out: beside it, the compiler suggests no names.
    RegisterOptions &
      ([Users] extends [undefined] ? RejectedOptions & { users?: Users } : AnyOwnUserOptions)
  : Plugin extends
        | FastifyPluginCallback<infer Options>
        | FastifyPluginAsync<infer Options>
        | Promise<{ default: FastifyPluginCallback<infer Options> }>
        | Promise<{ default: FastifyPluginAsync<infer Options> }>
    ? FastifyRegisterOptions<Options>
    : never
