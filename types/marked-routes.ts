import type {
  FastifyBaseLogger,
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
import type { RequiredMark } from './marks.js'
import type { AuthUser } from './user-service.js'

/** `config` of a route on which there is always a user. */
export interface RequiredConfig {
  /** The mark. */
  auth: RequiredMark
}

/** What the compiler knows of a `config`; no object has this property. */
interface Marked<User> {
  // The name is a string, because a symbol would differ in another copy of the package.
  /** The type of `request.user`. */
  readonly 'marked, says fastify-authn'?: User
}

/**
 * The type of a `config` that a route really has. A `config` that is only a type argument does not have the property of
 * `Marked`, so it cannot make `request.user` non-null.
 */
export type MarkedConfig<Config> = Config & Marked<AuthUser>

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
// Not the type argument of `config`: Fastify would infer it from the handler, also on a route without a mark.
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
    /** Declares a route on which there is always a user. */
    <
      RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
      const Config extends RequiredConfig = RequiredConfig,
      const SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      path: string,
      opts: RouteShorthandOptions<
        RawServer,
        RawRequest,
        RawReply,
        RouteGeneric,
        MarkedConfig<NoInfer<Config>>,
        SchemaCompiler,
        TypeProvider,
        Logger
      > & { config: Config },
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
      const Config extends RequiredConfig = RequiredConfig,
      const SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      path: string,
      opts: RouteShorthandOptionsWithHandler<
        RawServer,
        RawRequest,
        RawReply,
        RouteGeneric,
        MarkedConfig<NoInfer<Config>>,
        SchemaCompiler,
        TypeProvider,
        Logger
      > & { config: Config },
    ): FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider>
  }

  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider> {
    /** Declares a route on which there is always a user. */
    route<
      RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
      const Config extends RequiredConfig = RequiredConfig,
      const SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      opts: RouteOptions<
        RawServer,
        RawRequest,
        RawReply,
        RouteGeneric,
        MarkedConfig<NoInfer<Config>>,
        SchemaCompiler,
        TypeProvider,
        Logger
      > & { config: Config },
    ): FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider>
  }
}
