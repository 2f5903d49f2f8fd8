import type { FastifyRequest, InjectOptions } from 'fastify'
import { isThenable } from '../common/objects.js'
import { isAccessName } from '../marks/access.js'
import { isUsableName } from '../users/user.js'
import { testingError } from './error.js'
import type { RequestApiKey } from '../../types/api-keys.js'
import type { JwtClaims, RequestExtra } from '../../types/request-extra.js'
import type { AuthUser } from '../../types/user-service.js'

/** The API key that a request acts with. */
export interface ActingApiKey {
  /** Default: 16 zeros. */
  readonly id?: string | undefined
  /** Default: `test key`. */
  readonly name?: string | undefined
  /** Default: none. */
  readonly scopes?: readonly string[] | undefined
}

/** The members of `request.extra` that authenticators would set, and what the user may do. */
export interface ActingOptions {
  /**
   * Claims of a token, for handlers that read `request.extra[EXTRA_JWT_CLAIMS]`. With `sub` and `sid`,
   * `app.authn.sessions.of(request)` has a session. Default: none.
   */
  readonly claims?: JwtClaims | undefined
  /**
   * An API key, for handlers that read `request.extra.apiKey`, and to whose scopes the request is limited. Its owner is
   * the `id` of the user, else the `name` or the `username`. Default: none.
   */
  readonly apiKey?: ActingApiKey | undefined
  /** More properties of `request.extra`, such as those that an authenticator of the app sets. */
  readonly extra?: RequestExtra | undefined
  /**
   * The scopes that the user has, instead of those that `access.scopesOf` or the {@link claims} give; `[]` for none.
   * Default: as in production, so that a route with a scope answers 403 if neither gives it.
   */
  readonly scopes?: readonly string[] | undefined
  /** The roles that the user has, instead of those that `access.rolesOf` or the user give; `[]` for none. */
  readonly roles?: readonly string[] | undefined
  /** Whether the user was authenticated with several factors, for the mark `mfa`. Default: as the {@link claims} say. */
  readonly mfa?: boolean | undefined
  /** When the user was authenticated, in seconds since 1970, for the mark `fresh`. Default: now. */
  readonly authTime?: number | undefined
}

/** Options for `app.inject`. The request is recognised by the identity of the object in `simulate`. */
export interface ActingInjection {
  /** The default behaviour of the body's stream. `app.inject` passes on this very object. */
  readonly simulate: NonNullable<InjectOptions['simulate']>
}

export interface Acting extends Pick<ActingOptions, 'claims' | 'extra' | 'mfa' | 'authTime'> {
  readonly user: object
  readonly apiKey: RequestApiKey | undefined
  readonly scopes: ReadonlySet<string> | undefined
  readonly roles: ReadonlySet<string> | undefined
}

const actings = new WeakMap<object, Acting>()

/**
 * Makes options with which `app.inject` is authenticated as a user on every protected route, with any authenticator. It
 * needs no password and no token, and the user service is not asked. It works only in apps in which the plugin
 * `authnTesting` is registered; in others it has no effect.
 *
 * The options may be used any number of times. They are recognised by the identity of an object in this process, so
 * no request from the network can do the same.
 * @param user - what the user service would return; `request.user` hides its password hash as always
 * @throws ERR_AUTH_TESTING when the user is not an object, and for what cannot be the name of a scope or role
 * @example
 * await app.inject({ url: '/me', ...actingAs({ id: 1, name: 'alice' }) })
 * await app.inject({ url: '/drafts', ...actingAs(alice, { scopes: ['notes:write'], roles: [] }) })
 */
export function actingAs<User extends AuthUser>(
  user: User,
  { apiKey, scopes, roles, ...others }: ActingOptions = {},
): ActingInjection {
  if (typeof user !== 'object' || user === null || Array.isArray(user) || isThenable(user)) {
    testingError(
      'actingAs: expected a user, which is an object. For an anonymous request, leave it out.',
    )
  }
  const simulate = newSimulate()
  const names = { scopes: namesOf('scope', scopes), roles: namesOf('role', roles) }
  actings.set(simulate, { ...others, ...names, user, apiKey: apiKey && apiKeyOf(user, apiKey) })
  return { simulate }
}

function apiKeyOf(user: object, apiKey: ActingApiKey): RequestApiKey {
  const { id = '0'.repeat(16), name = 'test key' } = apiKey
  const scopes = Object.freeze([...(namesOf('scope', apiKey.scopes, 'apiKey.scopes') ?? [])])
  const { name: known, username, id: number } = user as Record<string, unknown>
  const owner = [number, known, username].find(isUsableName) ?? 'test owner'
  return Object.freeze({ id, name, owner, scopes })
}

/** The defaults of `app.inject`, which keeps this object without copying it. */
export function newSimulate(): ActingInjection['simulate'] {
  return { end: true, split: false, error: false, close: false }
}

function namesOf(
  key: 'scope' | 'role',
  names: readonly string[] | undefined,
  option = `${key}s`,
): ReadonlySet<string> | undefined {
  if (names === undefined) return undefined
  const isList = Array.isArray(names) && Array.from(names).every((name) => isAccessName(key, name))
  if (isList) return new Set(names)
  return testingError(
    `actingAs: "${option}": expected an array of names that a mark can require, such as ['a', 'b'].`,
  )
}

/** The user that a request acts as; undefined for a request that was not injected with {@link actingAs}. */
export function actingOf(request: FastifyRequest): Acting | undefined {
  const simulate = simulateOf(request)
  return simulate && actings.get(simulate)
}

/** The object that `app.inject` was given as `simulate`; undefined for a request from the network. */
export function simulateOf({ raw }: Pick<FastifyRequest, 'raw'>): object | undefined {
  const { _lightMyRequest: injection } = raw as { _lightMyRequest?: { simulate?: object } }
  return injection?.simulate
}
