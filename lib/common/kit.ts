import type { Authenticator } from '../../types/authenticator.js'
import type { SigningMethod, VerifyRules } from '../../types/jwt.js'

/**
 * Connects the plugin with its test kit, `fastify-authn/testing`. The test kit may read signing keys and may
 * replace authenticators. Nobody else may, so nothing here can be reached from outside of the package by a name or
 * a symbol.
 *
 * Those who know an answer offer a function here; whoever asks gets the first answer that is not undefined.
 */
function meeting<Args extends unknown[], Answer>(): {
  readonly offer: (answer: (...args: Args) => Answer | undefined) => void
  readonly ask: (...args: Args) => Answer | undefined
} {
  const offered: ((...args: Args) => Answer | undefined)[] = []
  return {
    offer: (answer) => void offered.push(answer),
    ask: (...args) =>
      offered.map((answer) => answer(...args)).find((answer) => answer !== undefined),
  }
}

/** The keys of a `JwtService` for a method; of a service that the app wrote itself they are unknown. */
export const { offer: offerKeys, ask: keysIn } = meeting<
  [service: object, method: SigningMethod | undefined],
  unknown
>()

/** The kinds of tokens that a `JwtService` accepts; of a service that the app wrote itself they are unknown. */
export const { offer: offerKinds, ask: kindsOf } = meeting<
  [service: object, method: SigningMethod | undefined, rules: VerifyRules],
  unknown
>()

/** What tokens of an issuer have to look like. */
export interface IssuerFacts {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly audienceClaim: 'aud' | 'client_id'
  readonly algorithms: readonly SigningMethod[] | undefined
  readonly rules: { readonly typ: ReadonlySet<string | null | undefined> }
}

/**
 * Puts a key set of the test kit in the place of an issuer's, and says what its tokens have to look like. The issuer is
 * named by its authenticator; `makeKeys` makes the set, by what is known of the issuer.
 */
export const { offer: offerIssuers, ask: replaceKeys } = meeting<
  [authenticator: object, makeKeys: (issuer: IssuerFacts) => object],
  IssuerFacts
>()

/** What the test kit puts in the place of an authenticator, in the apps in which it is registered. */
const standIns = meeting<[authenticator: Authenticator, scope: object], Authenticator>()
export const offerStandIn = standIns.offer

/** The authenticator that judges in a scope. Called when a plan is made, never while requests are served. */
export function judgeOf(authenticator: Authenticator, scope: object): Authenticator {
  return standIns.ask(authenticator, scope) ?? authenticator
}

/** For the test kit: the user that a request acts as, by an object that only the test holds. */
export const actings = new WeakMap<object, object>()

/** Scopes and roles that the test kit gives to a request, by the function of `access` that is not asked then. */
export interface TestGrants {
  readonly scopesOf: ReadonlySet<string> | undefined
  readonly rolesOf: ReadonlySet<string> | undefined
}

/** For the test kit: what the user of a request may do, where a test has said so. */
export const testGrants = new WeakMap<object, TestGrants>()
