import type { Authenticator } from '../../types/authenticator.js'
import type { SigningMethod, VerifyRules } from '../../types/jwt.js'

/**
 * Connects the plugin with its test kit, `fastify-authn/testing`. The test kit may read signing keys and may
 * replace authenticators. Nobody else may, so nothing here can be reached from outside of the package by a name or
 * a symbol.
 *
 * This module is built once and shared by the ESM and the CommonJS build (see scripts/build.js), because an app may
 * load one of them and its tests the other.
 */

/** Reads the keys of a `JwtService`; undefined for an object that is not a `JwtService` of this build. */
type ReadKeys = (service: object, method: SigningMethod | undefined) => unknown

/** @returns the replacement of an authenticator, or the authenticator itself where there is none */
type StandIn = (authenticator: Authenticator, scope: object) => Authenticator

/** Returns the kinds of tokens that a `JwtService` accepts; undefined for an object that is not one of this build. */
type TellKinds = (service: object, method: SigningMethod | undefined, rules: VerifyRules) => unknown

/** What tokens of an issuer have to look like. */
export interface IssuerFacts {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly audienceClaim: 'aud' | 'client_id'
  readonly algorithms: readonly SigningMethod[] | undefined
  readonly rules: { readonly typ: ReadonlySet<string | null | undefined> }
}

/**
 * Puts a key set of the test kit in the place of an issuer's, and says what its tokens have to look like; undefined for
 * an authenticator that is not one of an issuer of this build.
 *
 * @param makeKeys - makes the set, by what is known of the issuer
 */
type ReplaceKeys = (
  authenticator: object,
  makeKeys: (issuer: IssuerFacts) => object,
) => IssuerFacts | undefined

const replacers: ReplaceKeys[] = []
const readers: ReadKeys[] = []
const tellers: TellKinds[] = []
const standIns: StandIn[] = []

/** Called by each build of the core, when it is loaded. */
export function offerKeys(read: ReadKeys): void {
  readers.push(read)
}

/** For the test kit: the keys of a service; undefined for a service that the app wrote itself. */
export const keysIn: ReadKeys = (service, method) =>
  readers.map((read) => read(service, method)).find((keys) => keys !== undefined)

/** Called by each build of the core, when its part for issuers is loaded. */
export function offerIssuers(replace: ReplaceKeys): void {
  replacers.push(replace)
}

/** For the test kit: replaces the keys of an issuer, by its authenticator. */
export const replaceKeys: ReplaceKeys = (authenticator, makeKeys) =>
  replacers.map((replace) => replace(authenticator, makeKeys)).find((found) => found !== undefined)

/** Called by each build of the core, when it is loaded. */
export function offerKinds(tell: TellKinds): void {
  tellers.push(tell)
}

/** The kinds of tokens that a service accepts; undefined for a service that the app wrote itself. */
export const kindsOf: TellKinds = (service, method, rules) =>
  tellers.map((tell) => tell(service, method, rules)).find((kinds) => kinds !== undefined)

/** Called by each build of the test kit, when it is loaded. */
export function offerStandIn(standIn: StandIn): void {
  standIns.push(standIn)
}

/**
 * Returns the authenticator, or what the test kit puts in its place. Called when a plan is made, never while requests
 * are served.
 */
export const judgeOf: StandIn = (authenticator, scope) =>
  standIns.reduce((judge, standIn) => standIn(judge, scope), authenticator)

/** For the test kit: the user that a request acts as, by an object that only the test holds. */
export const actings = new WeakMap<object, object>()

/** Scopes and roles that the test kit gives to a request, by the function of `access` that is not asked then. */
export interface TestGrants {
  readonly scopesOf: ReadonlySet<string> | undefined
  readonly rolesOf: ReadonlySet<string> | undefined
}

/** For the test kit: what the user of a request may do, where a test has said so. */
export const testGrants = new WeakMap<object, TestGrants>()
