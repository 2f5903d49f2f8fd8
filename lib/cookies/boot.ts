import { membersOf, readsCookie } from '../authenticators/facts.js'
import { wrongOption } from '../errors.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Registration } from '../registration.js'

/**
 * Checks that a registration can do something with cookies, and that nobody else uses the same ones.
 *
 * @param login - the login route that there is; null for none
 * @param others - all registrations of the app
 * @throws ERR_AUTH_OPTION
 */
export function checkCookies(
  registration: Registration,
  login: ResolvedLogin | null,
  others: readonly (Registration | undefined)[],
): void {
  const { cookies, options, authenticators, standard } = registration
  const all = [standard ?? [], ...authenticators.values()].flat().flatMap(membersOf)
  if (!all.some(readsCookie)) {
    refuse('nothing would read them: set "userService" and "jwt", or name a jwtAuthenticator.')
  }
  if (login === null && options.login !== false) {
    refuse(
      'there is no login route to set them: set "jwt" with a key that signs, or login: false where another server on this host sets them.',
    )
  }
  const isSame = (other: Registration | undefined): boolean =>
    other !== undefined && other !== registration && other.cookies?.name === cookies?.name
  if (others.some(isSame)) {
    refuse(
      `another registration in this app has the cookie ${cookies?.name} too, so that a login there would end the one here. Give one of them a name: cookies: { name: 'admin' }.`,
    )
  }
}

function refuse(problem: string): never {
  wrongOption(`option "cookies" is set, but ${problem}`)
}
