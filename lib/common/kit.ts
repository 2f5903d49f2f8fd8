import type { Authenticator } from '../../types/authenticator.js'
import type { SigningMethod } from '../../types/jwt.js'

/** What tokens of an issuer have to look like. */
export interface IssuerFacts {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly audienceClaim: 'aud' | 'client_id'
  readonly algorithms: readonly SigningMethod[] | undefined
  readonly rules: { readonly typ: ReadonlySet<string | null | undefined> }
}

/**
 * Where the plugin and its test kit, `fastify-authn/testing`, meet. Each function is put here by the module that it
 * belongs to, when that is loaded.
 */
export const kit: {
  /** The keys of a `JwtService` for a method; undefined for a service that the app wrote itself. */
  keysOf?: (service: object, method: SigningMethod | undefined) => unknown
  /**
   * Replaces the key set of an issuer, and says what the issuer's tokens have to look like; undefined for an
   * authenticator that is not an issuer's.
   */
  replaceKeys?: (
    authenticator: object,
    makeKeys: (issuer: IssuerFacts) => object,
  ) => IssuerFacts | undefined
  /** The authenticator that takes the place of another one in a scope. Called when a plan is made, not at requests. */
  standIn?: (authenticator: Authenticator, scope: object) => Authenticator
} = {}

/** Scopes and roles that a test gives to a request, by the function of `access` that is not called then. */
export interface TestGrants {
  readonly scopesOf: ReadonlySet<string> | undefined
  readonly rolesOf: ReadonlySet<string> | undefined
}

/** The {@link TestGrants} of requests. */
export const testGrants = new WeakMap<object, TestGrants>()
