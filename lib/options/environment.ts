import { wrongOption } from '../errors/errors.js'
import { withoutUndefined } from '../common/objects.js'
import { expirySeconds, longestExpiry } from './check.js'
import type { JwtConfig, KeyPairConfig } from '../../types/jwt.js'
import type { BasicConfig } from '../../types/options.js'

/** Environment variables, in the form of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The result of {@link configFromEnv}: spread it into the options of the plugin. */
export interface EnvironmentConfig {
  /** The keys and the rules of tokens. */
  jwt?: JwtConfig
  /** Credentials of `configBasic`. */
  basic?: BasicConfig
}

/**
 * Reads the options `jwt` and `basic` from environment variables: `AUTH_JWT_SECRET`, `AUTH_JWT_KEYS` (the path of a key
 * set file), `AUTH_JWT_EXPIRY` (seconds), `AUTH_JWT_{RSA,ECDSA,EDDSA}_{PRIVATE,PUBLIC,PASSPHRASE}`,
 * `AUTH_BASIC_USERNAME` and `AUTH_BASIC_PASSWORD`. An empty variable counts as not set.
 * @param env - default `process.env`
 * @returns only the options whose variables are set
 * @throws ERR_AUTH_OPTION when `AUTH_JWT_EXPIRY` is not a whole number of seconds, ten years at most
 */
export function configFromEnv(env: Environment = process.env): EnvironmentConfig {
  const read = (name: string): string | undefined => env[name] || undefined
  const pair = (prefix: string): KeyPairConfig | undefined =>
    given({
      private: read(`${prefix}_PRIVATE`),
      public: read(`${prefix}_PUBLIC`),
      passphrase: read(`${prefix}_PASSPHRASE`),
    })
  const jwt = given<JwtConfig>({
    secret: read('AUTH_JWT_SECRET'),
    keys: read('AUTH_JWT_KEYS'),
    expiry: seconds(read('AUTH_JWT_EXPIRY')),
    rsa: pair('AUTH_JWT_RSA'),
    ecdsa: pair('AUTH_JWT_ECDSA'),
    eddsa: pair('AUTH_JWT_EDDSA'),
  })
  const basic = given<BasicConfig>({
    username: read('AUTH_BASIC_USERNAME'),
    password: read('AUTH_BASIC_PASSWORD'),
  })
  return given<EnvironmentConfig>({ jwt, basic }) ?? {}
}

function given<T extends object>(members: { [Key in keyof T]: T[Key] | undefined }): T | undefined {
  const set = withoutUndefined(members)
  return Object.keys(set).length === 0 ? undefined : set
}

/** @throws ERR_AUTH_OPTION, which quotes what looks like a time span, such as `15m`; anything else may be a secret */
function seconds(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (/^[1-9]\d*$/.test(value) && Number(value) <= longestExpiry) return Number(value)
  const isLikeSpan = value.length <= 20 && /^[\s\d.+-]*[a-z]{0,3}[\s\d]*$/i.test(value)
  const found = isLikeSpan ? JSON.stringify(value) : 'an invalid string'
  return wrongOption(
    `environment variable AUTH_JWT_EXPIRY: found ${found}, expected ${expirySeconds}.`,
  )
}
