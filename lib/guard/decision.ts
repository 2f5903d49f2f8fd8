import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import type { RoutePolicy } from '../feature.js'
import type { AuthUser } from '../../types/user-service.js'

/** The key of a {@link Decision} in the `config` of its route. Fastify copies it with the `config`. */
export const kDecision = Symbol('fastify-authn.decision')

/** The decision about a route, made when the app gets ready. */
export interface Decision {
  /** Null for an open route; undefined until the app is ready. */
  policy: RoutePolicy | null | undefined
}

export interface Guarded {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly done: HookHandlerDoneFunction
  readonly policy: RoutePolicy
  readonly started: number
  readonly user: AuthUser | null
  allow(user: AuthUser): void
  /** @param error - what `authenticate`, or a function of `access`, threw or rejected with */
  onError(error: unknown): void
}
