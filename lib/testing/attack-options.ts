import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { parseMark } from '../marks/mark.js'
import type { AccessNeed, NeededNames } from '../../types/marks.js'
import type { VirtualPasskey } from './virtual-passkey.js'
import type { JwtServiceLike, SigningMethod } from '../../types/jwt.js'

/** Headers by lower-case name. */
export type Headers = Readonly<Record<string, string>>

/** An app with tokens, or an inner scope in which the plugin is registered. */
export interface TokenApp {
  /** The service with the signing keys. An app without one gets an error that says so. */
  readonly jwtService?: JwtServiceLike | undefined
}

/** The parts of an app that `authAttacks` uses. */
export interface AttackedApp extends TokenApp {
  /** Boots the app. */
  ready(): PromiseLike<unknown>
  /** Sends a request without a socket. */
  inject(options: InjectOptions): PromiseLike<Pick<LightMyRequestResponse, 'statusCode'>>
}

/** The route to attack, and credentials that it accepts. */
export interface AttackOptions {
  /** URL of the route, with its parameters filled in. */
  readonly url: string
  /** Default `GET`. */
  readonly method?: InjectOptions['method']
  /** A body that the route accepts. */
  readonly payload?: InjectOptions['payload']
  /** Headers of every request, such as `accept`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Credentials that the route accepts: the value of `Authorization`, or headers by name; of several cookies, those of
   * the one with a token, or else the first. Default: a token of `jwtService` for {@link sub}, in the header, and in
   * the cookie too if the plugin reads one there.
   */
  readonly good?: string | Readonly<Record<string, string>> | undefined
  /** The name of an existing user. */
  readonly sub?: string | number | undefined
  /** More claims of good tokens, such as the scope that the route needs. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /** The claim that names the user, as in `jwtAuthenticator`. Default `sub`. */
  readonly claimName?: string | undefined
  /** The signing method, as in `jwtAuthenticator`. Default: `jwt.signingMethod`. */
  readonly algorithm?: SigningMethod | undefined
  /** The `typ` of good tokens, as in `jwtAuthenticator`, but one of them. Default `JWT`. */
  readonly typ?: string | undefined
  /**
   * The name of an issuer in the option `issuers`, whose tokens the route accepts. A key set of the test kit is put in
   * the place of the issuer's for as long as the app lives, and nothing is fetched any more. Default: tokens of the app.
   */
  readonly issuer?: string | undefined
  /** Whether the route also accepts requests without credentials. Then only wrong credentials are sent. */
  readonly optional?: boolean | undefined
  /** Scopes of good tokens for a check of your own, in the forms of a mark. Default: those of the route's mark. */
  readonly scope?: AccessNeed | undefined
  /** More statuses that are rejections, such as 403. Default: only 401, and 403 for users without the scope or role. */
  readonly rejections?: readonly number[] | undefined
  /** Names of cases to leave out, because the app accepts them on purpose. */
  readonly except?: readonly (string | RegExp)[] | undefined
}

export function scopeOf({ scope }: AttackOptions): NeededNames | null {
  return scope === undefined ? null : parseMark({ scope }, 'authAttacks').scope
}

export function givenHeaders({ good = {} }: AttackOptions): Headers {
  if (typeof good === 'string') return { authorization: good }
  return Object.fromEntries(Object.entries(good).map(([name, text]) => [name.toLowerCase(), text]))
}

/** The options of `factorAttacks`. */
export interface FactorAttackOptions {
  /** The body of the login of a user who has a second factor. No other test may log in as this user meanwhile. */
  readonly login: Readonly<Record<string, unknown>>
  /** Returns a code that was not used, at each of six calls: `() => recoveryCodes.pop()`. */
  code(): string | undefined
  /** A passkey of this user, added before. Default: none. */
  readonly passkey?: VirtualPasskey | undefined
}
