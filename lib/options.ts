import { AuthnUsageError } from './errors.js'
import { isQuotable } from './http/challenge.js'
import { check } from './options/check.js'
import { jwtSchema, tokenRulesSchema } from './options/jwt-schemas.js'
import {
  authenticatorSchema,
  basicAuthenticatorSchema,
  basicSchema,
  jwtAuthenticatorSchema,
  pluginSchema,
} from './options/schemas.js'
import type { JwtConfig, TokenRules } from '../types/jwt.js'
import type {
  AuthnOptions,
  BasicAuthenticatorOptions,
  BasicConfig,
  JwtAuthenticatorOptions,
} from '../types/options.js'

/** @throws ERR_AUTH_OPTION */
export function checkJwtConfig(config: unknown): JwtConfig {
  const checked = check<JwtConfig>(jwtSchema, config, 'jwt')
  const { secret, rsa, ecdsa, eddsa } = checked
  if (!(secret !== undefined || rsa || ecdsa || eddsa)) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'option "jwt": no key is set. Set jwt.secret (is the environment variable that it comes from set?), jwt.rsa, jwt.ecdsa or jwt.eddsa, or leave "jwt" out.',
    )
  }
  return checked
}

/** @throws ERR_AUTH_OPTION */
export function checkTokenRules(rules: unknown): TokenRules {
  return check(tokenRulesSchema, rules, 'rules')
}

/** @throws ERR_AUTH_OPTION */
export function checkBasicConfig(config: unknown): Required<BasicConfig> {
  return check(basicSchema, config, 'basic')
}

/** @throws ERR_AUTH_OPTION */
export function checkJwtAuthenticatorOptions(options: unknown): JwtAuthenticatorOptions {
  return check(jwtAuthenticatorSchema, options, 'jwtAuthenticator')
}

/** @throws ERR_AUTH_OPTION */
export function checkBasicAuthenticatorOptions(options: unknown): BasicAuthenticatorOptions {
  return check(basicAuthenticatorSchema, options, 'basicAuthenticator')
}

/** @throws ERR_AUTH_OPTION */
export function checkAuthenticator(value: unknown, where: string): void {
  check(authenticatorSchema, value, where)
}

/** Options of the plugin with every default in place: what the rest of the code sees. */
export interface ResolvedOptions extends Omit<AuthnOptions, 'passwordField'> {
  passwordField: string
  maxPasswordBytes: number | false
  asyncContext: boolean
  realm: string
  defaultLanguage: string
}

/**
 * Checks the options of the plugin and puts the defaults in.
 *
 * @throws ERR_AUTH_OPTION for the first option that is wrong or unknown
 */
export function resolveOptions(options: unknown): ResolvedOptions {
  const checked = check<AuthnOptions>(pluginSchema, options)
  if (checked.jwt !== undefined && checked.jwtService !== undefined) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'options "jwt" and "jwtService" are both set. The service has its own configuration: leave "jwt" out.',
    )
  }
  const { realm = 'Authorization required' } = checked
  if (!isQuotable(realm)) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'option "realm": found characters that cannot stand in a header, expected Latin-1 without control characters.',
    )
  }
  return {
    ...checked,
    realm,
    asyncContext: checked.asyncContext ?? true,
    passwordField: checked.passwordField ?? 'password',
    maxPasswordBytes: checked.maxPasswordBytes ?? 72,
    defaultLanguage: checked.defaultLanguage ?? 'en',
  }
}
