import type {
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerBase,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteOptions,
  RouteShorthandOptions,
  RouteShorthandOptionsWithHandler,
} from 'fastify'
import type { AuthMark, NoPlural, RequiredMark } from './marks.js'
import type { AuthUser } from './user-service.js'

/** `config` of a route on which there is always a user. */
export interface RequiredConfig {
  /** The mark. */
  auth: RequiredMark
}

/** `config` of a route with a mark. */
interface AuthConfig {
  /** The mark. */
  auth: AuthMark
  /** Never set. It makes a wrong mark one type error, instead of a second one at `request.user`. */
  readonly [unread]?: true
}

declare const unread: unique symbol

/**
 * Stands in for the type of `config` where only the type argument of the route is written down, because TypeScript
 * then infers no other one. Marks that require a user fit it; all others fit the overloads of Fastify, under which
 * `request.user` may be null. No `config` fits the second member: by it, editors complete all marks.
 */
type DefaultConfig = RequiredConfig | (AuthConfig & { readonly [unread]: true })

/**
 * The declared members of the `config` of a marked route. The types of `auth` are not those of Fastify's `config`: the compiler
 * would combine each form of a mark with the one that is written, and complete and report that.
 */
type Declared<Config extends AuthConfig> = Omit<FastifyContextConfig, 'auth'> &
  Config &
  // The plurals are declared only if one is written, so that editors offer none.
  ([keyof Config['auth'] & keyof NoPlural] extends [never] ? unknown : { auth: NoPlural })

/** The type of `request.user` under a `config`, for the compiler; no object has this property. */
interface Marked<User> {
  // The name is a string, because a symbol would differ in another copy of the package.
  /** The type of `request.user`. */
  readonly 'marked, says fastify-authn'?: User
}

/**
 * The type of a `config` that a route really has. A `config` that is only a type argument does not have the property of
 * `Marked`, so it cannot make `request.user` non-null.
 */
export type MarkedConfig<Config> = Config &
  Marked<
    Config extends DefaultConfig
      ? AuthUser
      : keyof AuthConfig extends keyof Config
        ? AuthUser
        : AuthUser | null
  >

/**
 * The type of `request.user` on a route with this `config`. It is not a conditional type: TypeScript 5 would
 * then treat the requests of two different `config` types as incompatible.
 */
export type UserUnder<Config> = (Config & Marked<AuthUser | null>)['marked, says fastify-authn'] &
  // An intersection with `object` would not be the same type as AuthUser.
  ({} | null)

/**
 * The request of a protected route, for handlers and functions in other files.
 *
 * @typeParam Route - body, parameters and the like, as in `app.get<Route>()`
 */
// The type argument of `config` is left out: Fastify would infer it from the handler, also on a route without a mark.
export type AuthenticatedRequest<Route extends RouteGenericInterface = RouteGenericInterface> =
  FastifyRequest<Route> & {
    /** The authenticated user. */
    user: AuthUser
  }

/**
 * The handler of a protected route in another file.
 *
 * @typeParam Route - body, parameters and the like, as in `app.get<Route>()`
 */
export type AuthenticatedHandler<Route extends RouteGenericInterface = RouteGenericInterface> = (
  this: FastifyInstance,
  request: AuthenticatedRequest<Route>,
  reply: FastifyReply<Route>,
) => ReturnType<
  RouteHandlerMethod<
    RawServerDefault,
    RawRequestDefaultExpression,
    RawReplyDefaultExpression,
    Route
  >
>

declare module 'fastify' {
  // Fastify infers the type of `config` from hooks as well, and the usual type of a hook would make `request.user`
  // nullable in the handler. Here it is inferred from `config` alone.
  interface RouteShorthandMethod<
    RawServer extends RawServerBase,
    RawRequest extends RawRequestDefaultExpression<RawServer>,
    RawReply extends RawReplyDefaultExpression<RawServer>,
    TypeProvider extends FastifyTypeProvider,
    Logger extends FastifyBaseLogger,
  > {
    /** Declares a route with a mark: it decides whether `request.user` may be null. */
    <
      RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
      const Config extends AuthConfig = DefaultConfig,
      const SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      path: string,
      opts: Omit<
        RouteShorthandOptions<
          RawServer,
          RawRequest,
          RawReply,
          RouteGeneric,
          MarkedConfig<NoInfer<Config>>,
          SchemaCompiler,
          TypeProvider,
          Logger
        >,
        'config'
      > & { config: Declared<Config> },
      handler: RouteHandlerMethod<
        RawServer,
        RawRequest,
        RawReply,
        RouteGeneric,
        MarkedConfig<NoInfer<Config>>,
        SchemaCompiler,
        TypeProvider,
        Logger
      >,
    ): FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider>
    /** The same with the handler among the options. */
    <
      RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
      const Config extends AuthConfig = DefaultConfig,
      const SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      path: string,
      opts: Omit<
        RouteShorthandOptionsWithHandler<
          RawServer,
          RawRequest,
          RawReply,
          RouteGeneric,
          MarkedConfig<NoInfer<Config>>,
          SchemaCompiler,
          TypeProvider,
          Logger
        >,
        'config'
      > & { config: Declared<Config> },
    ): FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider>
  }

  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider> {
    /** Declares a route with a mark: it decides whether `request.user` may be null. */
    route<
      RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
      const Config extends AuthConfig = DefaultConfig,
      const SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      opts: Omit<
        RouteOptions<
          RawServer,
          RawRequest,
          RawReply,
          RouteGeneric,
          MarkedConfig<NoInfer<Config>>,
          SchemaCompiler,
          TypeProvider,
          Logger
        >,
        'config'
      > & { config: Declared<Config> },
    ): FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider>
  }
}
