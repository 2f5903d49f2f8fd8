import { withoutUndefined } from '../common/objects.js'
import { rejection, rejectionOrFault } from '../errors/errors.js'
import { withUserTimeout } from '../users/user.js'
import type { Exchanged } from './exchange.js'
import type { Routes } from './provider.js'
import type { Profile } from '../../types/login-with.js'

/** What the option `claims` cannot change. */
const fixed = 'iss sub aud exp iat auth_time'.split(' ')

/** The own enumerable members of what the app has returned, but for accessors and `__proto__`. */
export function dataOf(given: unknown): Record<string, unknown> {
  const all = Object.entries(Object.getOwnPropertyDescriptors(Object(given) as object))
  return withoutUndefined(
    Object.fromEntries(
      all.flatMap(([name, { enumerable, value }]) =>
        enumerable === true && name !== '__proto__' ? [[name, value as unknown]] : [],
      ),
    ),
  )
}

/**
 * Asks the options `tenants` and `claims`. @param user - the parameter of the callback
 * @throws (rejects) ERR_AUTH_LOGIN_REFUSED for a tenant that is not let in; what the app throws
 */
export async function accept(
  { registration, provider }: Routes,
  found: Exchanged,
  user: string | null,
): Promise<Exchanged> {
  const { options } = provider
  const { claims } = found
  const ask = async (): Promise<Profile> => {
    const isLetIn: unknown = (await options.tenants?.(String(claims.tid))) ?? !options.tenants
    if (isLetIn !== true) {
      const cause = 'tenants() does not let this tenant in'
      throw rejection('auth.forbidden', { code: 'ERR_AUTH_LOGIN_REFUSED', cause })
    }
    if (options.claims === undefined) return claims
    const given: unknown = await options.claims(claims, { user })
    if (given instanceof Error) throw given
    if (typeof given !== 'object' || given === null) {
      throw new TypeError(`loginWith.${options.name}.claims() returned no object.`)
    }
    const own = Object.fromEntries(fixed.map((name) => [name, claims[name]]))
    // Not deeply: an object in it may be one that the app goes on to use.
    return Object.freeze(withoutUndefined({ ...dataOf(given), ...own }) as unknown as Profile)
  }
  try {
    const { userServiceTimeout } = registration.options
    return { ...found, claims: await withUserTimeout(ask(), userServiceTimeout) }
  } catch (error) {
    throw rejectionOrFault('ERR_AUTH_USER_SERVICE', error)
  }
}
