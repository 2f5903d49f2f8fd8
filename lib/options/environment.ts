import { wrongOption } from '../errors.js'
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
 *
 * @param env - default `process.env`
 * @returns only the options whose variables are set
 * @throws ERR_AUTH_OPTION when `AUTH_JWT_EXPIRY` is not a whole number of seconds, ten years at most
 */
export function configFromEnv(env: Environment = process.env): EnvironmentConfig {
  const jwt: JwtConfig = withoutUndefined({
    secret: read(env, 'AUTH_JWT_SECRET'),
    keys: read(env, 'AUTH_JWT_KEYS'),
    expiry: readSeconds(env, 'AUTH_JWT_EXPIRY'),
    rsa: readPair(env, 'AUTH_JWT_RSA'),
    ecdsa: readPair(env, 'AUTH_JWT_ECDSA'),
    eddsa: readPair(env, 'AUTH_JWT_EDDSA'),
  })
  const basic: BasicConfig = withoutUndefined({
    username: read(env, 'AUTH_BASIC_USERNAME'),
    password: read(env, 'AUTH_BASIC_PASSWORD'),
  })
  return withoutUndefined({ jwt: nonEmpty(jwt), basic: nonEmpty(basic) })
}

function read(env: Environment, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name]
}

function readSeconds(env: Environment, name: string): number | undefined {
  const value = read(env, name)
  if (value === undefined) return undefined
  if (/^[1-9]\d*$/.test(value) && Number(value) <= longestExpiry) return Number(value)
  return wrongOption(
    `environment variable ${name}: found ${describe(value)}, expected ${expirySeconds}.`,
  )
}

/** Quotes a value that looks like a time span, such as `15m`. Anything else may be a secret. */
function describe(value: string): string {
  const isLikeSpan = value.length <= 20 && /^[\s\d.+-]*[a-z]{0,3}[\s\d]*$/i.test(value)
  return isLikeSpan ? JSON.stringify(value) : 'an invalid string'
}

function readPair(env: Environment, prefix: string): KeyPairConfig | undefined {
  return nonEmpty(
    withoutUndefined({
      private: read(env, `${prefix}_PRIVATE`),
      public: read(env, `${prefix}_PUBLIC`),
      passphrase: read(env, `${prefix}_PASSPHRASE`),
    }),
  )
}

function nonEmpty<T extends object>(object: T): T | undefined {
  return Object.keys(object).length > 0 ? object : undefined
}
