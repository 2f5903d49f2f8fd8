import type { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { MALFORMED, parseBearer } from '../http/authorization.js'
import { registrationOf, type Registration } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { ExtraJwtClaimsKey, JwtClaims } from '../../types/request-extra.js'
import type { AuthUser, StoredUser } from '../../types/user-service.js'

/** The key under which `request.extra` holds the claims of a valid token. */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'

/** Global, since `storedUser` may come from another copy of the package than the plugin. */
const kRequestState: unique symbol = Symbol.for('fastify-authn.request-state')

/** What the plugin keeps on a request. One property for all: V8 slows down objects that get several more. */
function createState() {
  return {
    /** `request.user`: the user without the password hash. */
    user: null as AuthUser | null,
    /** What the user service returned. */
    stored: null as object | null,
    claims: null as JwtClaims | null,
    /** Whether the claims are those of a token of our own keys. */
    isOwn: false,
    extra: null as Record<string, unknown> | null,
    /** To which the user is limited, in place of those of the claims; null for no limit. */
    scopes: null as ReadonlySet<string> | null,
    /** The member of an `anyOf()` that was asked. */
    asked: null as Authenticator | null,
    /** The name of the authenticator that has accepted the user. */
    authenticator: null as string | null,
    /** What events and log lines say of the credentials. */
    credential: null as Readonly<Record<string, string>> | null,
    lang: null as string | null,
  }
}

type RequestState = ReturnType<typeof createState>
type Stateful = FastifyRequest & { [kRequestState]?: RequestState }

/** The state of a request; undefined where nothing was set yet. */
export function stateOf(request: Stateful): Readonly<RequestState> | undefined {
  return request[kRequestState]
}

function ensureState(request: Stateful): RequestState {
  return (request[kRequestState] ??= createState())
}

/** Sets `request.user`, and keeps what the user service returned for {@link storedUser}. */
export function setUser(
  request: FastifyRequest,
  user: AuthUser,
  stored: object,
  authenticator: string,
): void {
  const state = ensureState(request)
  state.user = user
  state.stored = stored
  state.authenticator = authenticator
  if (state.extra !== null) state.extra.authenticator = authenticator
}

/** Keeps which member of an `anyOf()` was asked. */
export function setAsked(request: FastifyRequest, member: Authenticator): void {
  ensureState(request).asked = member
}

/**
 * @param claims - undefined for none, after all
 * @param isOwn - whether a key of our own has verified the token
 */
export function setClaims(
  request: FastifyRequest,
  claims: JwtClaims | undefined,
  isOwn = false,
): void {
  const state = ensureState(request)
  state.claims = claims ?? null
  state.isOwn = isOwn
  if (state.extra !== null) state.extra[EXTRA_JWT_CLAIMS] = claims
}

/** Describes credentials that are no token: see {@link RequestState}. */
export function setCredential(
  request: FastifyRequest,
  scopes: ReadonlySet<string> | null,
  credential: Readonly<Record<string, string>>,
): void {
  Object.assign(ensureState(request), { scopes, credential })
}

/** The claims in `request.extra`, which authenticators of the app may have set. */
export function claimsOf(request: FastifyRequest): unknown {
  const { claims, extra } = ensureState(request)
  return extra === null ? claims : extra[EXTRA_JWT_CLAIMS]
}

/** The claims of a user who was authenticated by a token of our own keys; null in all other requests. */
export function ownClaimsOf(request: FastifyRequest): JwtClaims | null {
  const { claims = null, isOwn, stored = null } = stateOf(request) ?? {}
  return isOwn === true && stored !== null ? claims : null
}

/** The `request.extra` of a request, created at the first call. It has no prototype. */
export function extraOf(request: FastifyRequest): Record<string, unknown> {
  const state = ensureState(request)
  if (state.extra !== null) return state.extra
  const extra = Object.create(null) as Record<string, unknown>
  if (state.authenticator !== null) extra.authenticator = state.authenticator
  if (state.claims !== null) extra[EXTRA_JWT_CLAIMS] = state.claims
  state.extra = extra
  return extra
}

/**
 * Adds `user`, `extra`, `lang` and `bearerToken()` to the requests of a scope, once.
 *
 * @throws ERR_AUTH_DECORATOR when another plugin has one of the names; `lang` of an i18n plugin stays instead
 */
export function decorateRequests(app: FastifyInstance): void {
  if (app.hasRequestDecorator(kRequestState)) return
  const taken = ['user', 'extra', 'bearerToken'].find((name) => app.hasRequestDecorator(name))
  if (taken !== undefined) {
    throw new AuthnUsageError(
      'ERR_AUTH_DECORATOR',
      `another plugin also decorates requests with "${taken}". Rename its decorator: @fastify/jwt takes { decoratorName: 'jwtUser' }, for example.`,
    )
  }
  app.decorateRequest(kRequestState, undefined)
  // Getters, because scopes that were made before the plugin was registered inherit them, but not values.
  app.decorateRequest('user', {
    getter(this: FastifyRequest): AuthUser {
      return (stateOf(this)?.user ?? null) as AuthUser
    },
    setter(this: FastifyRequest, user: AuthUser): void {
      ensureState(this).user = user
    },
  })
  app.decorateRequest('extra', {
    getter(this: FastifyRequest): Record<string, unknown> {
      return extraOf(this)
    },
    // Where a scope has called `decorateRequest('extra', null)` before, Fastify assigns that to each of its requests. Without
    // a setter that throws where nothing catches it, and ends the process.
    setter(this: FastifyRequest, extra: unknown): void {
      if (typeof extra === 'object' && extra !== null) {
        throw new TypeError('request.extra cannot be replaced: put something into it.')
      }
    },
  })
  app.decorateRequest('bearerToken', function bearerToken(this: FastifyRequest): string | null {
    const token = parseBearer(this.headers.authorization)
    return token === MALFORMED ? null : token
  })
  if (app.hasRequestDecorator('lang')) return
  app.decorateRequest('lang', {
    getter(this: FastifyRequest): string {
      const { translator } = registrationOf(this.server) as Registration
      return (ensureState(this).lang ??= translator.negotiate(this.headers['accept-language']))
    },
    setter(this: FastifyRequest, language: string): void {
      ensureState(this).lang = language
    },
  })
}

/**
 * The user as the user service returned it, with the password hash, which `request.user` hides. Never send it.
 *
 * @returns null in anonymous requests
 */
export function storedUser<Stored extends object = StoredUser>(
  request: FastifyRequest,
): Stored | null {
  return (stateOf(request)?.stored ?? null) as Stored | null
}

/**
 * The key under which the one `AsyncLocalStorage` of the process is, with the user. Only the entry point
 * `fastify-authn/context` makes it: on Node 20 and 22 a storage that is in use slows down every request of the process.
 */
export const kContext = Symbol.for('fastify-authn.context')
export const shared = globalThis as {
  [kContext]?: AsyncLocalStorage<{ readonly user: AuthUser | null }>
}
