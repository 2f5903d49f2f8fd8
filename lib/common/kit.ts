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
 * Connects the plugin with its test kit, `fastify-authn/testing`. The test kit may read signing keys and may
 * replace authenticators. Nobody else may, so nothing here can be reached from outside of the package by a name or
 * a symbol.
 *
 * Each function is put here by the module that it belongs to, when that is loaded.
 */
export const kit: {
  /** The keys of a `JwtService` for a method; undefined for a service that the app wrote itself. */
  keysOf?: (service: object, method: SigningMethod | undefined) => unknown
  /**
   * Puts a key set of the test kit in the place of an issuer's, and says what its tokens have to look like; undefined
   * for an authenticator that is not an issuer's.
   */
  replaceKeys?: (
    authenticator: object,
    makeKeys: (issuer: IssuerFacts) => object,
  ) => IssuerFacts | undefined
  /** What the test kit puts in the place of an authenticator in a scope. Called when a plan is made, not at requests. */
  standIn?: (authenticator: Authenticator, scope: object) => Authenticator
} = {}

/** For the test kit: the user that a request acts as, by an object that only the test holds. */
export const actings = new WeakMap<object, object>()

/** Scopes and roles that the test kit gives to a request, by the function of `access` that is not asked then. */
export interface TestGrants {
  readonly scopesOf: ReadonlySet<string> | undefined
  readonly rolesOf: ReadonlySet<string> | undefined
}

/** For the test kit: what the user of a request may do, where a test has said so. */
export const testGrants = new WeakMap<object, TestGrants>()
