import { passwordServicesOf } from '../authenticators/facts.js'
import { registrationOf, type Registration } from '../registration.js'
import type { Tree } from './tree.js'
import type { Authenticator } from '../../types/authenticator.js'

/** The registrations of an app, in all of its scopes. */
export function registrationsIn({ registered }: Tree): Registration[] {
  return [...registered].flatMap((scope) => registrationOf(scope) ?? [])
}

/** @throws ERR_AUTH_OPTION where an issuer, of whichever registration, finds users by `sub` in this service too */
export function requireOwnUsers(tree: Tree, by: string, service: object | undefined): void {
  for (const { issuers } of registrationsIn(tree)) issuers?.requireOwnUsers(by, service)
}

/**
 * The same for the authenticators of a mark, where Basic is among them.
 *
 * @param own - the user service of their registration
 * @throws ERR_AUTH_OPTION
 */
export function checkPasswords(
  tree: Tree,
  members: readonly Authenticator[],
  own: object | undefined,
  place: string,
): void {
  for (const service of passwordServicesOf(members, own)) {
    requireOwnUsers(tree, `Basic, which ${place} accepts,`, service)
  }
}
