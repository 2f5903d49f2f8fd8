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

/**
 * The user services that these authenticators ask for users with passwords.
 *
 * @param own - that of the plugin
 */
export function passwordServicesOf(
  authenticators: readonly Authenticator[],
  own: object | undefined,
): object[] {
  return authenticators.flatMap(membersOf).flatMap((each) => {
    const service = kUsers in each ? (each[kUsers] ?? own) : undefined
    return typeof service === 'object' && service !== null ? [service] : []
  })
}

/** @returns the members of an `anyOf()`; for any other authenticator, that authenticator alone */
export function membersOf(authenticator: Authenticator): readonly Authenticator[] {
  const members = (authenticator as { [kMembers]?: readonly Authenticator[] })[kMembers]
  return members?.flatMap(membersOf) ?? [authenticator]
}
