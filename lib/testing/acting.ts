import { IncomingMessage } from 'node:http'
import { Http2ServerRequest } from 'node:http2'
import { Socket } from 'node:net'
import type { FastifyRequest, InjectOptions } from 'fastify'
import { isError, isThenable } from '../objects.js'
import { misuse } from './error.js'
import type { JwtClaims, RequestExtra } from '../../types/request-extra.js'
import type { AuthUser } from '../../types/user-service.js'

/** What authenticators would have left in `request.extra`. */
export interface ActingOptions {
  /** Claims of a token, for handlers that read `request.extra[EXTRA_JWT_CLAIMS]`. Default: none. */
  readonly claims?: JwtClaims | undefined
  /** More of `request.extra`, such as what an authenticator of the app puts there. */
  readonly extra?: RequestExtra | undefined
}

/** Options of `app.inject`; an object whose identity is all that counts. */
export interface ActingInjection {
  /** The usual behaviour of the stream of the body, which `app.inject` passes on as this very object. */
  readonly simulate: NonNullable<InjectOptions['simulate']>
}

/** Who a request acts as. */
export interface Acting {
  readonly user: object
  readonly options: ActingOptions
}

const key = Symbol.for('fastify-authn.testing.acting')
const shared = globalThis as { [key]?: WeakMap<object, Acting> }
/** One memory a process, as the app may load the CommonJS build of the kit and its tests the ESM one. */
const actings = (shared[key] ??= new WeakMap<object, Acting>())

/**
 * Options that make `app.inject` authenticate as a user on every marked route, whatever authenticator it
 * has: without a password, a token, or a look-up in the user service. Only in apps in which the plugin
 * `authnTesting` is registered; in others it changes nothing.
 *
 * They may be used any number of times, and authenticate by the identity of an object in this process,
 * which nothing that comes over a socket can have.
 *
 * @param user - what the user service would return; `request.user` hides its password hash as always
 * @throws ERR_AUTH_TESTING when the user is no object
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
  // The defaults of inject(): it does not copy this object, and requests from a socket have none.
  const simulate = Object.freeze({ end: true, split: false, error: false, close: false })
  actings.set(simulate, { user, options })
  return { simulate }
}

/** Who a request acts as; undefined for all that was not injected with {@link actingAs}. */
export function actingOf({ raw }: FastifyRequest): Acting | undefined {
  if (!isInjected(raw)) return undefined
  const { _lightMyRequest: injection } = raw as { _lightMyRequest?: { simulate?: object } }
  return injection?.simulate && actings.get(injection.simulate)
}

/** Enough by itself: Node makes all requests that come over a socket, and none of these is one of its. */
function isInjected(raw: object): boolean {
  const isFromNode = raw instanceof IncomingMessage || raw instanceof Http2ServerRequest
  return !isFromNode && !((raw as { socket?: unknown }).socket instanceof Socket)
}
