import { IncomingMessage } from 'node:http'
import { Http2ServerRequest } from 'node:http2'
import { Socket } from 'node:net'
import type { FastifyRequest, InjectOptions } from 'fastify'
import { actings, type TestGrants } from '../common/kit.js'
import { isError, isThenable } from '../common/objects.js'
import { isAccessName } from '../marks/access.js'
import { misuse } from './error.js'
import type { JwtClaims, RequestExtra } from '../../types/request-extra.js'
import type { AuthUser } from '../../types/user-service.js'

/** What to put into `request.extra`, as authenticators would, and what the user may do. */
export interface ActingOptions {
  /** Claims of a token, for handlers that read `request.extra[EXTRA_JWT_CLAIMS]`. Default: none. */
  readonly claims?: JwtClaims | undefined
  /** More properties of `request.extra`, such as those that an authenticator of the app sets. */
  readonly extra?: RequestExtra | undefined
  /**
   * The scopes that the user has, in place of those that `access.scopesOf` or the {@link claims} give; `[]` for none.
   * Default: as in production, so that a route with a scope answers 403 where neither gives it.
   */
  readonly scopes?: readonly string[] | undefined
  /** The roles that the user has, in place of those that `access.rolesOf` or the user give; `[]` for none. */
  readonly roles?: readonly string[] | undefined
}

/** Options for `app.inject`. The request is recognised by the identity of the object in `simulate`. */
export interface ActingInjection {
  /** The default behaviour of the body's stream. `app.inject` passes on this very object. */
  readonly simulate: NonNullable<InjectOptions['simulate']>
}

/** The user that a request acts as. */
export interface Acting {
  readonly user: object
  readonly options: Pick<ActingOptions, 'claims' | 'extra'>
  readonly grants: TestGrants
}

const known: ReadonlySet<string> = new Set(['claims', 'extra', 'scopes', 'roles'])

/**
 * Makes options with which `app.inject` is authenticated as a user on every marked route, with any authenticator. It
 * needs no password and no token, and the user service is not asked. It works only in apps in which the plugin
 * `authnTesting` is registered; in others it has no effect.
 *
 * The options may be used any number of times. They are recognised by the identity of an object in this process, so
 * no request from the network can do the same.
 *
 * @param user - what the user service would return; `request.user` hides its password hash as always
 * @throws ERR_AUTH_TESTING when the user is not an object, for an unknown option, and for what is no name of a scope or role
 *
 * @example
 * await app.inject({ url: '/me', ...actingAs({ id: 1, name: 'alice' }) })
 * await app.inject({ url: '/drafts', ...actingAs(alice, { scopes: ['notes:write'], roles: [] }) })
 */
export function actingAs<User extends AuthUser>(
  user: User,
  options: ActingOptions = {},
): ActingInjection {
  if (isThenable(user)) misuse('actingAs: found a promise, expected a user. Await it.')
  if (typeof user !== 'object' || user === null || Array.isArray(user) || isError(user)) {
    misuse('actingAs: expected the user as an object. To act as nobody, leave actingAs out.')
  }
  checkOptions(options)
  const simulate = newSimulate()
  const { claims, extra, scopes, roles } = options
  const acting: Acting = {
    user,
    options: { claims, extra },
    grants: { scopesOf: namesOf('scope', scopes), rolesOf: namesOf('role', roles) },
  }
  actings.set(simulate, acting)
  return { simulate }
}

/** The defaults of inject(), which keeps this object without copying it. Requests from the network have none. */
export function newSimulate(): ActingInjection['simulate'] {
  return Object.freeze({ end: true, split: false, error: false, close: false })
}

function checkOptions(options: unknown): void {
  const keys = typeof options === 'object' && options !== null ? Object.keys(options) : ['options']
  const unknown = keys.find((key) => !known.has(key))
  if (unknown === undefined) return
  misuse(
    `actingAs: found the unknown option ${JSON.stringify(unknown)}, expected claims, extra, scopes or roles.`,
  )
}

/** The names of a mark are checked when the app boots. One that no mark can have is a mistake in the test. */
function namesOf(key: 'scope' | 'role', names: unknown): ReadonlySet<string> | undefined {
  if (names === undefined) return undefined
  const fail = (found: string): never =>
    misuse(`actingAs: "${key}s": found ${found}, expected an array of names, such as ['a', 'b'].`)
  if (!Array.isArray(names)) return fail(names === null ? 'null' : typeof names)
  const checked = Array.from(names as unknown[], (name) =>
    typeof name === 'string' && isAccessName(key, name)
      ? name
      : fail(`${JSON.stringify(name) ?? typeof name}, which cannot be the name of a ${key}`),
  )
  return new Set(checked)
}

/** The user that a request acts as; undefined for a request that was not injected with {@link actingAs}. */
export function actingOf(request: FastifyRequest): Acting | undefined {
  const simulate = simulateOf(request)
  return simulate && (actings.get(simulate) as Acting | undefined)
}

/** The object that `app.inject` was given as `simulate`; undefined for a request from the network. */
export function simulateOf({ raw }: Pick<FastifyRequest, 'raw'>): object | undefined {
  if (!isInjected(raw)) return undefined
  const { _lightMyRequest: injection } = raw as { _lightMyRequest?: { simulate?: object } }
  return injection?.simulate
}

/** Whether a request comes from `app.inject`: the request objects of network requests are made by Node.js itself. */
function isInjected(raw: object): boolean {
  const isFromNode = raw instanceof IncomingMessage || raw instanceof Http2ServerRequest
  return !isFromNode && !((raw as { socket?: unknown }).socket instanceof Socket)
}
