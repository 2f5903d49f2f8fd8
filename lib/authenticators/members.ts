import type { Authenticator } from '../../types/authenticator.js'

/**
 * The key of the members of an `anyOf()`. A global symbol: `anyOf` may come from the ESM build, and the
 * plugin from the CommonJS build.
 */
export const kMembers: unique symbol = Symbol.for('fastify-authn.members')

/**
 * Marks authenticators that read the cookie of the registration where there is no `Authorization` header. A global
 * symbol for the same reason.
 */
export const kReadsCookie: unique symbol = Symbol.for('fastify-authn.reads-cookie')

/** Whether an authenticator reads the cookie of its registration, where that has one. */
export function readsCookie(authenticator: Authenticator): boolean {
  return (authenticator as { [kReadsCookie]?: unknown })[kReadsCookie] === true
}

/**
 * Where an authenticator with passwords tells where it finds users; undefined for the user service of the plugin. Global,
 * since it can come from the other build of the package than the plugin.
 */
export const kUsers: unique symbol = Symbol.for('fastify-authn.users')

/** Whether a user service is asked by one of these authenticators for users with passwords. */
export function asksForPasswords(
  service: object | undefined,
  authenticators: readonly Authenticator[],
): boolean {
  return authenticators
    .flatMap(membersOf)
    .some((each) => kUsers in each && (each[kUsers] ?? service) === service)
}

/** @returns the members of an `anyOf()`; for any other authenticator, that authenticator alone */
export function membersOf(authenticator: Authenticator): readonly Authenticator[] {
  const members = (authenticator as { [kMembers]?: readonly Authenticator[] })[kMembers]
  return members?.flatMap(membersOf) ?? [authenticator]
}
