import type { Authenticator } from '../../types/authenticator.js'
import type { SigningMethod } from '../../types/jwt.js'

/**
 * Functions by which the plugin and its test kit, `fastify-authn/testing`, use each other without importing each other.
 * Each is set by the module that it belongs to, when that is loaded.
 */
export const kit: {
  /** The keys of a `JwtService` for a method; undefined for any other object. */
  keysOf?: (service: object, method: SigningMethod | undefined) => unknown
  /** Called when a policy is made. @returns the authenticator to use in place of another one */
  standIn?: (authenticator: Authenticator, scope: object) => Authenticator
} = {}

/** Scopes and roles that a test gives to a request, in place of the results of the functions of `access`. */
export const testGrants = new WeakMap<
  object,
  Readonly<Record<'scopesOf' | 'rolesOf', ReadonlySet<string> | undefined>>
>()
