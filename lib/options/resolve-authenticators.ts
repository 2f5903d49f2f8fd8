import { check } from './check.js'
import { defaults, filled, type Resolved } from './resolve.js'
import {
  authenticatorSchema,
  basicAuthenticatorSchema,
  jwtAuthenticatorSchema,
} from './authenticator-schemas.js'
import { basicSchema } from './schemas.js'
import type {
  BasicAuthenticatorOptions,
  BasicConfig,
  JwtAuthenticatorOptions,
} from '../../types/options.js'

/** @throws ERR_AUTH_OPTION */
export function checkBasicConfig(config: unknown): Required<BasicConfig> {
  return check(basicSchema, config, 'basic')
}

/** @throws ERR_AUTH_OPTION */
export function resolveJwtAuthenticatorOptions(
  options: unknown,
): Resolved<JwtAuthenticatorOptions, typeof defaults.jwtAuthenticator> {
  const checked = check<JwtAuthenticatorOptions>(
    jwtAuthenticatorSchema,
    options,
    'jwtAuthenticator',
  )
  return filled(defaults.jwtAuthenticator, checked)
}

/** @throws ERR_AUTH_OPTION */
export function resolveBasicAuthenticatorOptions(
  options: unknown,
): Resolved<BasicAuthenticatorOptions, typeof defaults.basicAuthenticator> {
  const checked = check<BasicAuthenticatorOptions>(
    basicAuthenticatorSchema,
    options,
    'basicAuthenticator',
  )
  return filled(defaults.basicAuthenticator, checked)
}

/** @throws ERR_AUTH_OPTION */
export function checkAuthenticator(value: unknown, where: string): void {
  check(authenticatorSchema, value, where)
}
