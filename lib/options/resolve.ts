import { ifUnset, wrongOption } from '../errors/errors.js'
import { declaredProperty } from '../common/objects.js'
import { check } from './check.js'
import { defaults, withDefaults } from './defaults.js'
import { pluginSchema } from './schemas.js'
import type { AuthnOptions } from '../../types/options.js'

export type ResolvedOptions = ReturnType<typeof resolveOptions>
export type ResolvedLogin = Exclude<ResolvedOptions['login'], false>
export type ResolvedThrottle = Exclude<ResolvedOptions['throttle'], false>

/**
 * Adds no defaults to `jwt`, which {@link JwtService} resolves, nor to `hashing`, whose defaults come from the first
 * registration of the app.
 * @param hasLogin - whether the app has set the option `login`, of which a feature may have supplied a part. Default: if it is set
 * @throws ERR_AUTH_OPTION for the first option that is wrong or unknown
 */
export function resolveOptions(
  options: unknown,
  ofFeatures: readonly string[] = [],
  hasLogin?: boolean,
) {
  const schema = pluginSchema(ofFeatures)
  const checked = check<AuthnOptions>(schema, options)
  const inherited = Object.keys(schema.properties).find(
    (name) => !Object.hasOwn(checked, name) && declaredProperty(checked, name) !== undefined,
  )
  if (inherited !== undefined) {
    wrongOption(
      `option "${inherited}": found in the prototype or the class of the options, where it has no effect, expected a plain object with all options.`,
    )
  }
  if (checked.jwt !== undefined && checked.jwtService !== undefined) {
    wrongOption(
      'options "jwt" and "jwtService" are both set. The service has its own configuration: leave "jwt" out.',
    )
  }
  if (checked.errorSchema !== undefined && checked.errorBody === undefined) {
    wrongOption(
      'option "errorSchema" describes what "errorBody" returns, but "errorBody" is not set. Set it in the same registration, or leave "errorSchema" out.',
    )
  }
  const resolved = withDefaults(defaults.plugin, checked)
  const { requireMarks, login, credentialCache, throttle } = checked
  if (throttle && throttle.redis !== undefined && throttle.keyPrefix === undefined) {
    wrongOption(
      `option "throttle.keyPrefix" is missing${'keyPrefix' in throttle ? ifUnset : ''} beside "throttle.redis", and two apps with one Redis would share their counts. Expected the name of the app, as in throttle: { redis, keyPrefix: 'shop' }.`,
    )
  }
  return {
    ...resolved,
    requireMarks: requireMarks === true ? {} : requireMarks,
    // If the app has set the option, startup fails where the route could not work.
    login:
      login !== false &&
      Object.assign(withDefaults(defaults.login, login), {
        isExplicit: hasLogin ?? login !== undefined,
      }),
    credentialCache:
      credentialCache !== false && withDefaults(defaults.credentialCache, credentialCache),
    throttle: throttle !== false && withDefaults(defaults.throttle, throttle),
  }
}
