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
import type { Authn } from './authn.js'
import type { JwtServiceLike } from './jwt.js'
import type { AuthMark, RequiredMark } from './marks.js'
import type { AuthnOptions } from './options.js'
import type { AuthnPlugin } from './plugin.js'
import type { RequestExtra } from './request-extra.js'
import type { AuthUser, StoredUser, UnstatedUser } from './user-service.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route: see `AuthMark`. */
    auth?: AuthMark
  }

  interface RegisterOptions {
    /**
     * Who may call the routes of the plugin that is registered: an `AuthMark`, inherited by everything
     * inside. Checked at boot and not by the compiler, since other plugins have options of this name.
     */
    auth?: unknown
  }

  // Without the defaults of the parameters, which differ between versions of Fastify.
  interface FastifyRegister<
    T,
    RawServer extends RawServerBase,
    TypeProviderDefault extends FastifyTypeProvider,
    LoggerDefault extends FastifyBaseLogger,
  > {
    /**
     * Registers fastify-authn. What `findByUsername` of the user service returns types the user of
     * `login.tokenFunc`, and is what `passwordField` is held against.
     */
    <Stored extends StoredUser & object = UnstatedUser>(
      plugin: AuthnPlugin | Promise<{ default: AuthnPlugin }>,
      opts: FastifyRegisterOptions<AuthnOptions<Stored>>,
    ): T
  }

  interface FastifyInstance {
    /** What the nearest registration of fastify-authn offers to the app. */
    authn: Authn
    /** Issues and verifies tokens. */
    jwtService: JwtServiceLike
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
    /** The authenticated user; null when nobody is. Never null on a route marked `auth: true`. */
    user: ContextConfig extends { auth: RequiredMark } ? AuthUser : AuthUser | null
    /** Facts that authenticators leave for later handlers, such as the claims of a valid token. */
    readonly extra: RequestExtra
    /**
     * Language of the localized messages, a BCP 47 tag. Chosen from `Accept-Language` (RFC 4647 §3.4)
     * at the first reading; the app may set it, and then wins.
     */
    lang: string
    /** The Bearer token of the `Authorization` header (RFC 6750 §2.1), or null when there is none. */
    bearerToken(): string | null
  }
}
