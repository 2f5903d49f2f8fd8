import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AuthenticationErrorLike } from './errors.js'
import type { SecurityScheme } from './openapi.js'

/**
 * Finds out who sends a request. Both the built-in authenticators and those of the app implement this interface.
 *
 * The built-in ones do not use `this`, so that an app can wrap one by spreading it:
 * `{ ...jwtAuthenticator(), authenticate(request) { … } }`.
 *
 * @typeParam User - what {@link authenticate} returns
 */
export interface Authenticator<User extends object = object> {
  /**
   * The authentication scheme (RFC 9110 §11.1) of the `Authorization` header that this authenticator
   * reads, such as `Basic` or `Bearer`. It names the challenge of a 401, and where a route accepts
   * several authenticators, the scheme of the request's header picks those that are asked. Leave it
   * out for credentials that come from elsewhere (a cookie, an API-key header): the 401 then has no
   * challenge of this authenticator.
   */
  readonly scheme?: string

  /**
   * `true` lets requests without credentials pass, with `request.user` null, even on routes marked
   * `auth: true`. Credentials that are present and wrong are still
   * refused. Default `false`. The mark `auth: 'optional'` does the same for one route, and types it.
   */
  readonly optional?: boolean

  /**
   * How the credentials are shown in OpenAPI documents. Default: type `http` with {@link scheme}; without
   * a scheme, routes show the refusal and no security requirement.
   */
  readonly openapi?: SecurityScheme

  /**
   * Prepares the authenticator while the app boots. Called once for every registration of the plugin that uses it.
   * What it throws, or rejects with, stops the boot.
   *
   * @param app - the scope in which the plugin was registered; `app.jwtService` is ready
   */
  init?(app: FastifyInstance): void | Promise<void>

  /**
   * Whether the credentials of a request are meant for this authenticator, by their form alone: nothing is verified yet.
   * Where a route accepts several authenticators, the first one that returns true is asked and no other. Default: the scheme
   * of the header decides.
   */
  accepts?(request: FastifyRequest): boolean

  /**
   * Judges a request.
   *
   * @param request - the request, before its body is read
   * @returns the user; or `null` when the request carries no credentials that this authenticator
   * reads. Anything else that is not an object (`undefined`, `false`, a string, an array) is a refusal.
   * @throws `AuthenticationError` to refuse the credentials; anything else that is thrown is a fault
   * and gives a 500 with a neutral message, never a 401
   */
  authenticate(request: FastifyRequest): User | null | Promise<User | null>

  /**
   * Writes the refusal in place of the plugin. It must send before it returns, or return a promise. Where it has sent
   * nothing by then, the plugin's own response goes out, so that no request hangs.
   *
   * `WWW-Authenticate` is set already (RFC 9110 §15.5.2); replace or remove it as you like. An answer with
   * a status that is neither 401 nor that of the error goes without it, unless you set one yourself.
   *
   * It is called for every refusal, also for the 403 of a user who may not do what the route asks for: answer with
   * `error.statusCode`.
   *
   * @param error - what was refused: its `code` is stable, its `message` is in the language of the request
   */
  onUnauthorized?(
    error: AuthenticationErrorLike,
    request: FastifyRequest,
    reply: FastifyReply,
  ): unknown
}
