import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AuthenticationErrorLike } from './errors.js'
import type { SecurityScheme } from './openapi.js'

/**
 * Authenticates requests. Both the built-in authenticators and those of the app implement this interface.
 *
 * The built-in ones do not use `this`, so that an app can wrap one by spreading it:
 * `{ ...jwtAuthenticator(), authenticate(request) { … } }`.
 *
 * @typeParam User - what {@link authenticate} returns
 */
export interface Authenticator<User extends object = object> {
  /**
   * The authentication scheme (RFC 9110 §11.1) of the `Authorization` header that this authenticator
   * reads, such as `Basic` or `Bearer`. It names the challenge of a 401. If a route accepts
   * several authenticators, the scheme of the request's header chooses the one that is asked. Leave it
   * out for credentials that come from elsewhere (a cookie, an API-key header): the 401 then has no
   * challenge of this authenticator.
   */
  readonly scheme?: string

  /** The authenticators that this one chooses from, as `anyOf()` does. The challenges name their schemes. */
  readonly members?: readonly Authenticator[]

  /**
   * `true` lets requests without credentials pass, with `request.user` null, even on routes marked `auth: true`. Wrong
   * credentials are still rejected. Default `false`. The mark `auth: 'optional'` does the same for one route, and types
   * it.
   */
  readonly optional?: boolean

  /**
   * Describes the credentials in OpenAPI documents: a scheme, or several alternatives by their names. Default: type `http` with {@link scheme}; without a scheme, routes
   * have no security requirement.
   */
  readonly openapi?: SecurityScheme | Readonly<Record<string, SecurityScheme>>

  /**
   * Prepares the authenticator at startup. Called once for every registration of the plugin that uses it. Startup fails
   * with what it throws or rejects with.
   *
   * @param app - the scope in which the plugin was registered; `app.jwtService` is ready
   */
  init?(app: FastifyInstance): void | Promise<void>

  /**
   * Whether the credentials of a request are meant for this authenticator, without verifying them. Called only if a
   * route accepts several authenticators. Default: the `Authorization` header has {@link scheme}.
   */
  accepts?(request: FastifyRequest): boolean

  /**
   * Authenticates a request.
   *
   * @param request - the request, before its body is read
   * @returns the user; or `null` when the request has no credentials that this authenticator reads. Anything else that
   * is not an object (`undefined`, `false`, a string, an array) is rejected.
   * @throws `AuthenticationError` to reject the credentials; anything else that is thrown gives a 500 with a neutral
   * message, never a 401
   */
  authenticate(request: FastifyRequest): User | null | Promise<User | null>

  /**
   * Sends the response to a rejected request. It must send before it returns, or return a promise. If it has sent
   * nothing by then, the plugin sends its own response, so that no request hangs.
   *
   * `WWW-Authenticate` is set already (RFC 9110 §15.5.2); you may replace or remove it. It is removed from a response
   * whose status is neither 401 nor that of the error, unless you have set it yourself.
   *
   * It is also called for the 403 of a missing scope or role: respond with `error.statusCode`.
   *
   * @param error - its `code` is stable, its `message` is in the language of the request
   */
  onUnauthorized?(
    error: AuthenticationErrorLike,
    request: FastifyRequest,
    reply: FastifyReply,
  ): unknown
}
