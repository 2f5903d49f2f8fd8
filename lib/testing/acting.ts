import { IncomingMessage } from 'node:http'
import { Http2ServerRequest } from 'node:http2'
import { Socket } from 'node:net'
import type { FastifyRequest, InjectOptions } from 'fastify'
import { actings } from '../common/kit.js'
import { isError, isThenable } from '../common/objects.js'
import { misuse } from './error.js'
import type { JwtClaims, RequestExtra } from '../../types/request-extra.js'
import type { AuthUser } from '../../types/user-service.js'

/** What to put into `request.extra`, as authenticators would. */
export interface ActingOptions {
  /** Claims of a token, for handlers that read `request.extra[EXTRA_JWT_CLAIMS]`. Default: none. */
  readonly claims?: JwtClaims | undefined
  /** More properties of `request.extra`, such as those that an authenticator of the app sets. */
  readonly extra?: RequestExtra | undefined
}

/** Options for `app.inject`. The request is recognised by the identity of the object in `simulate`. */
export interface ActingInjection {
  /** The default behaviour of the body's stream. `app.inject` passes on this very object. */
  readonly simulate: NonNullable<InjectOptions['simulate']>
}

/** The user that a request acts as. */
export interface Acting {
  readonly user: object
  readonly options: ActingOptions
}

/**
 * Makes options with which `app.inject` is authenticated as a user on every marked route, with any authenticator. It
 * needs no password and no token, and the user service is not asked. It works only in apps in which the plugin
 * `authnTesting` is registered; in others it has no effect.
 *
 * The options may be used any number of times. They are recognised by the identity of an object in this process, so
 * no request from the network can do the same.
 *
 * @param user - what the user service would return; `request.user` hides its password hash as always
 * @throws ERR_AUTH_TESTING when the user is not an object
 *
 * @example
 * await app.inject({ url: '/me', ...actingAs({ id: 1, name: 'alice' }) })
 */
export function actingAs<User extends AuthUser>(
  user: User,
  options: ActingOptions = {},
): ActingInjection {
  if (isThenable(user)) misuse('actingAs: found a promise, expected a user. Await it.')
  if (typeof user !== 'object' || user === null || Array.isArray(user) || isError(user)) {
    misuse('actingAs: expected the user as an object. To act as nobody, leave actingAs out.')
  }
  // These are the defaults of inject(), which keeps this object without copying it. Network requests have none.
  const simulate = Object.freeze({ end: true, split: false, error: false, close: false })
  actings.set(simulate, { user, options } satisfies Acting)
  return { simulate }
}

/** The user that a request acts as; undefined for a request that was not injected with {@link actingAs}. */
export function actingOf({ raw }: FastifyRequest): Acting | undefined {
  if (!isInjected(raw)) return undefined
  const { _lightMyRequest: injection } = raw as { _lightMyRequest?: { simulate?: object } }
  return injection?.simulate && (actings.get(injection.simulate) as Acting | undefined)
}

/** Whether a request comes from `app.inject`: the request objects of network requests are made by Node.js itself. */
function isInjected(raw: object): boolean {
  const isFromNode = raw instanceof IncomingMessage || raw instanceof Http2ServerRequest
  return !isFromNode && !((raw as { socket?: unknown }).socket instanceof Socket)
}
