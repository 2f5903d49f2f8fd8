import { AsyncResource, type AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyRequest } from 'fastify'
import type { ExtraJwtClaimsKey, JwtClaims } from '../../types/request-extra.js'
import type { AuthUser } from '../../types/user-service.js'

/** Global, since `storedUser` may come from another copy of the package than the plugin. */
export const kRequestState: unique symbol = Symbol.for('fastify-authn.request-state')

/** What the plugin keeps on a request. */
interface RequestState {
  /** `request.user`: the user without the password hash. */
  user: AuthUser | null
  /** What the user service returned. */
  stored: object | null
  claims: JwtClaims | null
  /** Whether the claims are those of a token of our own keys. */
  isOwn: boolean
  extra: Record<string, unknown> | null
  lang: string | null
}

interface Stateful {
  [kRequestState]?: RequestState
}

export function stateOf(request: FastifyRequest): RequestState | undefined {
  return (request as Stateful)[kRequestState]
}

/**
 * The state of a request, created when it is missing. One property for all: V8 slows down objects that get several
 * more.
 */
export function ensureState(request: FastifyRequest): RequestState {
  return ((request as Stateful)[kRequestState] ??= {
    user: null,
    stored: null,
    claims: null,
    isOwn: false,
    extra: null,
    lang: null,
  })
}

/** Sets `request.user`, and keeps what the user service returned for {@link storedUser}. */
export function setUser(request: FastifyRequest, user: AuthUser, stored: object): void {
  const state = ensureState(request)
  state.user = user
  state.stored = stored
}

const claimsKey: ExtraJwtClaimsKey = 'jwtClaims'

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
  if (state.extra !== null) state.extra[claimsKey] = claims
}

/** The claims in `request.extra`, which authenticators of the app may have set. */
export function claimsOf(request: FastifyRequest): unknown {
  const { claims = null, extra = null } = stateOf(request) ?? {}
  return extra === null ? claims : extra[claimsKey]
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
  if (state.claims !== null) extra[claimsKey] = state.claims
  state.extra = extra
  return extra
}

/** What the `AsyncLocalStorage` holds. */
export interface Store {
  readonly user: AuthUser | null
}

const key = Symbol.for('fastify-authn.context')
const shared = globalThis as { [key]?: AsyncLocalStorage<Store> }

/**
 * Makes the one storage of the process, unless it is there already. Only the entry point `fastify-authn/context` calls
 * this: on Node 20 and 22 a storage that is in use slows down every request of the process.
 */
export function switchOn(create: () => AsyncLocalStorage<Store>): AsyncLocalStorage<Store> {
  return (shared[key] ??= create())
}

/** Calls `next` with the user in the context. */
export function runWithUser(request: FastifyRequest, user: AuthUser, next: () => void): void {
  const storage = shared[key]
  if (storage === undefined) next()
  else run(storage, request, user, next)
}

/**
 * Calls `next` without a user in the context, which may have one where a handler calls `app.inject()` or where the
 * server was started inside of `runAs`.
 */
export function runWithoutUser(request: FastifyRequest, next: () => void): void {
  const storage = shared[key]
  if (storage?.getStore() === undefined) next()
  else run(storage, request, null, next)
}

function run(
  storage: AsyncLocalStorage<Store>,
  { raw }: FastifyRequest,
  user: AuthUser | null,
  next: () => void,
): void {
  storage.run({ user }, () => {
    // Node emits the events of a body in the context of the connection. Without this, a content-type parser would see
    // the user or not, depending on how the body arrives.
    const mayHaveBody = raw.method !== 'GET' && raw.method !== 'HEAD'
    if (mayHaveBody) raw.emit = AsyncResource.bind(raw.emit.bind(raw))
    next()
  })
}
