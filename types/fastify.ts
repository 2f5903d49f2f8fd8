import type {
  ContextConfigDefault,
  FastifyBaseLogger,
  FastifyRegisterOptions,
  FastifySchema,
  FastifyTypeProvider,
  FastifyTypeProviderDefault,
  RawRequestDefaultExpression,
  RawServerBase,
  RawServerDefault,
  RouteGenericInterface,
} from 'fastify'
import type { FastifyRequestType, ResolveFastifyRequestType } from 'fastify/types/type-provider.js'
import type { JwtService } from '../lib/tokens/service.js'
import type { Authn } from './authn.js'
import type { UserUnder } from './marked-routes.js'
import type { RouteMark } from './marks.js'
import type { AnyAuthnOptions, AnyOwnUserOptions } from './options.js'
import type { AuthnPlugin, RejectedRegister } from './plugin.js'
import type { RequestExtra } from './request-extra.js'
import type { StoredUser, UnstatedUser } from './user-service.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The access rule of the route: see `AuthMark`. */
    auth?: RouteMark
  }

  interface RegisterOptions {
    /**
     * The access rule of the routes of the plugin that is registered: an `AuthMark`, inherited by everything inside. Checked
     * at startup and not by the compiler, since other plugins have options of this name.
     */
    auth?: unknown
  }

  // The type parameters have no defaults here, because those differ between versions of Fastify.
  interface FastifyRegister<
    T,
    RawServer extends RawServerBase,
    TypeProviderDefault extends FastifyTypeProvider,
    LoggerDefault extends FastifyBaseLogger,
  > extends RejectedRegister<T> {
    /** Registers fastify-authn with a table of users. The user of functions of the options is a row of it. */
    (
      plugin: AuthnPlugin | Promise<{ default: AuthnPlugin }>,
      opts: RegisterOptions & AnyOwnUserOptions,
    ): T
    /**
     * Registers fastify-authn. The return type of `findByUsername` becomes the type of the user in `login.tokenFunc`,
     * and `passwordField` has to be one of its fields.
     */
    <Stored extends StoredUser & object = UnstatedUser>(
      plugin: AuthnPlugin | Promise<{ default: AuthnPlugin }>,
      opts: FastifyRegisterOptions<AnyAuthnOptions<Stored> | AnyOwnUserOptions<Stored>>,
    ): T
  }

  interface FastifyInstance {
    /** The functions and the state that the nearest registration of fastify-authn offers to the app. */
    authn: Authn
    /**
     * Issues and verifies tokens: the service of the nearest registration of fastify-authn that has one.
     *
     * @throws ERR_AUTH_OPTION when it is read and none has `jwt` or `jwtService`
     */
    jwtService: JwtService
  }

  interface FastifyRequest<
    RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
    RawServer extends RawServerBase = RawServerDefault,
    RawRequest extends RawRequestDefaultExpression<RawServer> =
      RawRequestDefaultExpression<RawServer>,
    SchemaCompiler extends FastifySchema = FastifySchema,
    TypeProvider extends FastifyTypeProvider = FastifyTypeProviderDefault,
    ContextConfig = ContextConfigDefault,
    Logger extends FastifyBaseLogger = FastifyBaseLogger,
    RequestType extends FastifyRequestType = ResolveFastifyRequestType<
      TypeProvider,
      SchemaCompiler,
      RouteGeneric
    >,
  > {
    /** The authenticated user; null in anonymous requests. Never null on a route marked `auth: true`. */
    user: UserUnder<ContextConfig>
    /** Data of authenticators for later handlers, such as the claims of a valid token. */
    readonly extra: RequestExtra
    /**
     * Language of the localized messages, a BCP 47 tag. Chosen from `Accept-Language` (RFC 4647 §3.4)
     * when it is read for the first time; the app may set it to another language.
     */
    lang: string
    /** The Bearer token of the `Authorization` header (RFC 6750 §2.1), or null when there is none. */
    bearerToken(): string | null
  }
}
