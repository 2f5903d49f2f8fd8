import type { ResolvedOptions } from '../options/resolve.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { SigningMethod, VerifyRules } from '../../types/jwt.js'

/**
 * The key under which the authenticators of this package tell about themselves. A global symbol, since an authenticator
 * can come from another copy of the package than the plugin.
 */
export const kFacts: unique symbol = Symbol.for('fastify-authn.facts')

/** The statuses that tell a client to wait: 429 after too many failures, 503 while the server is busy. */
export type BusyStatus = 429 | 503

/** What an authenticator of this package tells about itself. Nothing of it is secret. */
export interface Facts {
  /** The authenticators that it is made of. */
  readonly members?: readonly Authenticator[]
  /** Whether it reads the cookie of the registration where there is no `Authorization` header. */
  readonly readsCookie?: boolean
  /** Where it finds users with passwords; null stands for the user service of the plugin. */
  readonly passwordUsers?: object | null
  /**
   * Which tokens it accepts: the method by which they are verified, undefined for the method of the `JwtService`, and
   * the rules for their claims.
   */
  readonly accepted?: readonly [SigningMethod | undefined, VerifyRules]
  /** With which statuses it lets clients wait. */
  readonly busy?: (options: ResolvedOptions) => readonly BusyStatus[]
}

/** An authenticator that tells about itself. */
export interface KnownAuthenticator<User extends object = object> extends Authenticator<User> {
  readonly [kFacts]: Facts
}

/** What is known of an authenticator; of one that the app wrote itself, nothing. */
export function factsOf(authenticator: Authenticator): Facts {
  return (authenticator as Partial<KnownAuthenticator>)[kFacts] ?? {}
}

/** @returns the members of an `anyOf()`; for any other authenticator, that authenticator alone */
export function membersOf(authenticator: Authenticator): readonly Authenticator[] {
  return factsOf(authenticator).members?.flatMap(membersOf) ?? [authenticator]
}

/** Whether an authenticator reads the cookie of its registration, where that has one. */
export function readsCookie(authenticator: Authenticator): boolean {
  return factsOf(authenticator).readsCookie === true
}

/** With which statuses those whose passwords are compared may have to wait: the throttle says 429, the queue 503. */
export function busyWithPasswords({ throttle }: ResolvedOptions): BusyStatus[] {
  return throttle === false ? [503] : [429, 503]
}

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
    const { passwordUsers } = factsOf(each)
    return (passwordUsers === null ? own : passwordUsers) ?? []
  })
}
