import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../types/authenticator.js'

/** What becomes of a request once an authenticator has made up its mind. */
export interface Verdict {
  /** @param outcome - what `authenticate` returns, or what its promise resolves to */
  judge(outcome: unknown): void
  /** @param user - a user that needs no more judging */
  pass(user: object): void
  /** @param error - what `authenticate` throws, or what its promise rejects with */
  fail(error: unknown): void
}

/** Does what `authenticate` does, and hands the outcome on in place of a promise of it. Never throws. */
export type Direct = (request: FastifyRequest, verdict: Verdict) => void

const directs = new WeakMap<Authenticator['authenticate'], Direct>()

/**
 * Gives an `authenticate` its direct way, which saves the guard a promise. By the function and not on the
 * authenticator: who spreads one and writes another `authenticate` must not have that one passed over.
 */
export function setDirect(authenticate: Authenticator['authenticate'], direct: Direct): void {
  directs.set(authenticate, direct)
}

/** The direct way of an authenticator, if it has one. */
export function directOf({ authenticate }: Authenticator): Direct | undefined {
  return directs.get(authenticate)
}
