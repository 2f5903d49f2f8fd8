import { wrongOption } from '../errors.js'
import { byFunction, bySubject, type FindUser } from './user.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { ResolvedIssuer } from '../options/resolve-issuers.js'

/** How the users of each issuer are found. */
export interface UserFinders {
  /** @throws ERR_AUTH_OPTION where nothing says how */
  finderOf(issuer: ResolvedIssuer): FindUser
  /**
   * @param by - what finds users by their names, for the error
   * @param service - the user service in which it finds them
   * @throws ERR_AUTH_OPTION where an issuer's users are found there too
   */
  requireOwnUsers(by: string, service: object | undefined): void
}

/**
 * Says how the users of issuers are found. Where an issuer has no `user`, it is by `sub` in the user service, and that only
 * where nobody else gives names to the users there: the "admin" of an issuer, that of another one, and the one who has a
 * password here are three people.
 */
export function userFinders(
  { userService, userServiceTimeout }: ResolvedOptions,
  issuers: readonly ResolvedIssuer[],
): UserFinders {
  return {
    finderOf({ name, user }) {
      if (user !== undefined) return byFunction(user, userServiceTimeout)
      if (userService === undefined) missing(name, 'and there is no "userService"')
      if (issuers.length > 1) {
        missing(name, 'and of several issuers, each may call other people by the same "sub"')
      }
      return bySubject(userService, userServiceTimeout)
    },
    requireOwnUsers(by, service) {
      if (service !== userService) return
      const issuer = issuers.find(({ user }) => user === undefined)
      if (issuer === undefined) return
      const why = `and ${by} finds users in the "userService" by names, so that the "sub" of a token could be the name of somebody else`
      missing(issuer.name, why)
    },
  }
}

function missing(name: string, why: string): never {
  wrongOption(
    `option "issuers.${name}.user" is missing, ${why}. Give it a function (claims, request) that returns the user of a token, or null.`,
  )
}
