import { wrongOption } from './errors/errors.js'
import { check } from './options/check.js'
import { authenticatorSchema } from './options/authenticator-schemas.js'
import { namedAuthenticator } from './guard/policy.js'
import { combine } from './authenticators/any-of.js'
import { basicAuthenticator } from './authenticators/basic.js'
import { configBasicAuthenticator } from './authenticators/config-basic.js'
import { jwtAuthenticator } from './authenticators/jwt.js'
import type { Feature, Registration } from './feature.js'
import type { JwtService } from './tokens/service.js'
import type { ResolvedOptions } from './options/resolve.js'
import type { Authenticator } from '../types/authenticator.js'

type Named = ReadonlyMap<string, Authenticator>

/** Built-in authenticators with sufficient options, those of features, and the app's, which replace built-in ones. */
export function namedAuthenticators(
  { authenticators, basic, userService }: ResolvedOptions,
  jwtService: JwtService,
  features: readonly Feature[],
): Named {
  const builtIn = new Map<string, Authenticator>()
  if (userService !== undefined && jwtService.canVerify()) builtIn.set('jwt', jwtAuthenticator())
  if (userService !== undefined) builtIn.set('basic', basicAuthenticator())
  if (basic !== undefined) builtIn.set('configBasic', configBasicAuthenticator())
  const ofFeatures = features.flatMap((feature) => Object.entries(feature.authenticators ?? {}))
  return new Map([...builtIn, ...Object.entries(authenticators), ...ofFeatures])
}

/** For marks without `use`; none if the app has to choose. @throws ERR_AUTH_OPTION, ERR_AUTH_MARK, ERR_AUTH_KEY */
export function defaultAuthenticators(
  options: ResolvedOptions,
  named: Named,
  jwtService: JwtService,
  features: readonly Feature[],
): readonly Authenticator[] {
  const { authenticator, userService } = options
  if (typeof authenticator === 'string' || Array.isArray(authenticator)) {
    const names = [authenticator].flat() as string[]
    const members = names.map((name) => namedAuthenticator(named, name, 'option "authenticator"'))
    return members.length === 1 ? members : [combine(members, 'option "authenticator"')]
  }
  if (authenticator !== undefined) {
    return [check<Authenticator>(authenticatorSchema, authenticator, 'authenticator')]
  }
  const jwt = named.get('jwt')
  if (jwt !== undefined) return [jwt]
  // If only the keys are missing, the default must not silently become another authenticator.
  if (userService !== undefined && (options.jwt ?? options.jwtService) !== undefined) {
    jwtService.require(undefined, 'verify', 'the authenticator "jwt" (jwt.signingMethod)')
  }
  const ofFeatures = features.flatMap((feature) => Object.values(feature.authenticators ?? {}))
  const candidates = userService === undefined ? [...named.values()] : ofFeatures
  const [first, ...others] = candidates
  // The app has to choose one of several issuers.
  if (first === undefined || (ofFeatures.includes(first) && others.length > 0)) return []
  return [first]
}

/**
 * Makes startup fail if there are users and no way to authenticate them: most often an env file was not loaded.
 * An app with authenticators or tokens of its own may do without a default. @throws ERR_AUTH_OPTION
 */
export function requireDefault(registration: Registration): void {
  const { options, authenticators, defaultAuthenticators } = registration
  const { login, userService } = options
  const isOwn = (name: string): boolean => name !== 'basic' && name !== 'configBasic'
  const ownWay = [...authenticators.keys()].some(isOwn) || (login && login.tokenFunc)
  if (defaultAuthenticators.length > 0 || userService === undefined || ownWay) return
  wrongOption(
    'option "userService" is set, but there are no keys for tokens, and no "authenticator" is named. Set "jwt" (is AUTH_JWT_SECRET set? node --env-file=.env loads a file of variables), or for HTTP Basic on all protected routes, authenticator: \'basic\'.',
  )
}
