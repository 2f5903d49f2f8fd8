import type { Authenticator } from '../../types/authenticator.js'

/**
 * The key of the members of an `anyOf()`. A global symbol: `anyOf` may come from the ESM build, and the
 * plugin from the CommonJS build.
 */
export const kMembers: unique symbol = Symbol.for('fastify-authn.members')

/** @returns the members of an `anyOf()`; for any other authenticator, that authenticator alone */
export function membersOf(authenticator: Authenticator): readonly Authenticator[] {
  const members = (authenticator as { [kMembers]?: readonly Authenticator[] })[kMembers]
  return members?.flatMap(membersOf) ?? [authenticator]
}
