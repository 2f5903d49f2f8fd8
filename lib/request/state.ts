import type { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { parseCookies, type Cookies } from '../http/cookie.js'
import type { MALFORMED } from '../http/authorization.js'
import type { LevelRules } from './level-rules.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { ExtraJwtClaimsKey, JwtClaims } from '../../types/request-extra.js'
import type { AuthUser, StoredUser } from '../../types/user-service.js'

/** The key under which `request.extra` holds the claims of a valid token. */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'

/** The symbol is global, since `storedUser` may come from another copy of the package than the plugin. */
export const kRequestState: unique symbol = Symbol.for('fastify-authn.request-state')

/** The scopes and roles that the credentials of a request give, in place of the claims and of the user. */
export interface Grants {
  readonly scopes?: ReadonlySet<string> | undefined
  readonly roles?: ReadonlySet<string> | undefined
  /** True if the functions of `access` cannot give more than these. */
  readonly isLimit: boolean
}

const none: readonly string[] = []

/** The state of the plugin on a request. It is one property, because V8 slows down objects that get several more. */
function createState() {
  return {
    /** `request.user`: the user without the password hash. */
    user: null as AuthUser | null,
    /** The user as the user service returned it. */
    stored: null as object | null,
    claims: null as JwtClaims | null,
    /** Whether the claims are those of a token of our own keys. */
    isLocal: false,
    extra: null as Record<string, unknown> | null,
    grants: null as Grants | null,
    level: null as LevelRules | null,
    /** The member of an `anyOf()` that was asked. */
    asked: null as Authenticator | null,
    /** The name of the authenticator that has accepted the user. */
    authenticator: null as string | null,
    /** The members of events and log lines that describe the credentials. */
    logFields: null as Readonly<Record<string, string>> | null,
    /** The members of `request.extra` that describe the credentials. */
    extraKeys: none,
    lang: null as string | null,
    cookies: null as Cookies | null,
    /** Set for a request with a body. */
    again: null as Again | null,
  }
}

/** Since when a request waits for its body, and how to authenticate it again. */
interface Again {
  readonly since: number
  isRevoked(): boolean
  beginAgain(done: HookHandlerDoneFunction): void
}

type RequestState = ReturnType<typeof createState>
type Stateful = FastifyRequest & { [kRequestState]?: RequestState }

export function stateOf(request: Stateful): Readonly<RequestState> | undefined {
  return request[kRequestState]
}

export function ensureState(request: Stateful): RequestState {
  return (request[kRequestState] ??= createState())
}

/** The cookies of a request, whose header is read once. */
export function cookiesOf(request: FastifyRequest): Cookies {
  return (ensureState(request).cookies ??= parseCookies(request.headers.cookie ?? ''))
}

/** The value of one cookie: null when it is missing or empty; MALFORMED when it was sent twice. */
export function cookieOf(request: FastifyRequest, name: string): string | typeof MALFORMED | null {
  return cookiesOf(request).get(name) || null
}

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

/** Forgets all that authenticators have found. What other hooks have put into `request.extra` stays. */
export function forgetUser(request: FastifyRequest): void {
  const state = ensureState(request)
  const { extra, lang, cookies, extraKeys } = state
  Object.assign(state, createState(), { extra, lang, cookies })
  if (extra === null) return
  for (const key of [EXTRA_JWT_CLAIMS, 'authenticator', ...extraKeys])
    Reflect.deleteProperty(extra, key)
}

export function setAsked(request: FastifyRequest, member: Authenticator): void {
  ensureState(request).asked = member
}

/** @param claims - undefined removes claims that were set before */
export function setClaims(request: FastifyRequest, claims: JwtClaims | undefined, isLocal = false) {
  const state = ensureState(request)
  state.claims = claims ?? null
  state.isLocal = isLocal
  if (state.extra !== null) state.extra[EXTRA_JWT_CLAIMS] = claims
}

export function setGrants(request: FastifyRequest, grants: Grants | null): void {
  ensureState(request).grants = grants
}

export function setLevel(request: FastifyRequest, level: LevelRules): void {
  ensureState(request).level = level
}

export function setCredential(
  request: FastifyRequest,
  grants: Grants | null,
  logFields: Readonly<Record<string, string>>,
  extra: object = {},
): void {
  Object.assign(ensureState(request), { grants, logFields, extraKeys: Object.keys(extra) })
  Object.assign(extraOf(request), extra)
}

/** The claims in `request.extra`, which authenticators of the app may have set. */
export function claimsOf(request: FastifyRequest): unknown {
  const { claims, extra } = ensureState(request)
  return extra === null ? claims : extra[EXTRA_JWT_CLAIMS]
}

/** The claims of a user who was authenticated by a token of our own keys; null in all other requests. */
export function localClaimsOf(request: FastifyRequest): JwtClaims | null {
  const { claims = null, isLocal, stored = null } = stateOf(request) ?? {}
  return isLocal === true && stored !== null ? claims : null
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
 * The user as the user service returned it, with the password hash, which `request.user` hides. Never send it.
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
