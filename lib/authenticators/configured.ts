import { wrongOption } from '../errors.js'
import { check } from '../options/check.js'
import { authenticatorSchema } from '../options/authenticator-schemas.js'
import { createPlanner } from '../marks/plan.js'
import { basicAuthenticator } from './basic.js'
import { configBasicAuthenticator } from './config-basic.js'
import { jwtAuthenticator } from './jwt.js'
import type { Registration } from '../registration.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtServiceLike } from '../../types/jwt.js'

type Named = ReadonlyMap<string, Authenticator>

/**
 * The built-in authenticators for which the options suffice, and those of the app. Of two with one name,
 * the app's counts. No issuer has a name that is taken.
 *
 * @param issuers - the authenticators of the option `issuers`
 */
export function namedAuthenticators(
  { authenticators, basic, userService }: ResolvedOptions,
  jwtService: JwtServiceLike | null,
  issuers: Readonly<Record<string, Authenticator>> = {},
): Named {
  const builtIn = new Map<string, Authenticator>()
  if (userService !== undefined && jwtService?.canVerify()) builtIn.set('jwt', jwtAuthenticator())
  if (userService !== undefined) builtIn.set('basic', basicAuthenticator())
  if (basic !== undefined) builtIn.set('configBasic', configBasicAuthenticator())
  // Frozen, since the app can get at them by the symbol of its registration.
  for (const authenticator of [...builtIn.values(), ...Object.values(issuers)]) {
    Object.freeze(authenticator)
  }
  return new Map([...builtIn, ...Object.entries({ ...authenticators, ...issuers })])
}

/**
 * The authenticator of marks without `use`; undefined where the app has to say which one that is.
 *
 * @throws ERR_AUTH_OPTION, ERR_AUTH_MARK, and ERR_AUTH_KEY where no key fits `jwt.signingMethod`
 */
export function standardAuthenticator(
  options: ResolvedOptions,
  named: Named,
  jwtService: JwtServiceLike | null,
  combine: (...members: Authenticator[]) => Authenticator,
): Authenticator | undefined {
  const { authenticator } = options
  if (authenticator === undefined) return impliedAuthenticator(options, named, jwtService)
  if (typeof authenticator === 'string' || Array.isArray(authenticator)) {
    const names: string[] = [authenticator].flat() as string[]
    return createPlanner(named, undefined, combine)({ use: names }, 'option "authenticator"')
      .authenticator
  }
  return check(authenticatorSchema, authenticator, 'authenticator')
}

/**
 * With a user service the default is JWT. When its keys are missing, the default must not silently become Basic; the only
 * issuer may be it, whose tokens are verified too. Of several issuers the app has to say which one.
 */
function impliedAuthenticator(
  { userService, issuers = {} }: ResolvedOptions,
  named: Named,
  jwtService: JwtServiceLike | null,
): Authenticator | undefined {
  if (named.has('jwt')) return named.get('jwt')
  if (userService !== undefined) {
    jwtService?.require(undefined, 'verify', 'the authenticator "jwt" (jwt.signingMethod)')
  }
  const names = [...named.keys()].filter(
    (name) => userService === undefined || Object.hasOwn(issuers, name),
  )
  const [first = ''] = names
  const isUnclear = Object.hasOwn(issuers, first) && names.length > 1
  return isUnclear ? undefined : named.get(first)
}

/**
 * Stops the boot where there are users, and nothing says how they prove who they are: most often a file of
 * variables was not loaded. An app with authenticators or with tokens of its own may leave the standard out; a mark
 * without `use` then stops the boot.
 *
 * @throws ERR_AUTH_OPTION
 */
export function requireStandard({ options, standard }: Registration): void {
  const { authenticators, issuers, login, userService } = options
  const ownWay =
    Object.keys({ ...authenticators, ...issuers }).length > 0 || (login && login.tokenFunc)
  if (standard !== undefined || userService === undefined || ownWay) return
  wrongOption(
    'option "userService" is set, but there are no keys for tokens, and no "authenticator" is named. Set "jwt" (is AUTH_JWT_SECRET set? node --env-file=.env loads a file of variables); or, for HTTP Basic on all marked routes, say authenticator: \'basic\'.',
  )
}
