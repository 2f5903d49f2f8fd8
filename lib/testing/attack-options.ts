import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { misuse } from './error.js'
import type { JwtServiceLike, SigningMethod } from '../../types/jwt.js'

/** What of an app is needed. */
export interface AttackedApp {
  /** What signs a good token; not needed where {@link AttackOptions.good} is given. */
  readonly jwtService?: JwtServiceLike
  /** Waits for the boot. */
  ready(): PromiseLike<unknown>
  /** Plays a request without a socket. */
  inject(options: InjectOptions): PromiseLike<Pick<LightMyRequestResponse, 'statusCode'>>
  /** Serves a request of a server of Node.js. */
  routing(request: never, reply: never): void
}

/** A route that requires a user, and how a user gets in. */
export interface AttackOptions {
  /** Of the route, with parameters filled in. */
  readonly url: string
  /** Default `GET`. */
  readonly method?: InjectOptions['method']
  /** A body that the route accepts. */
  readonly payload?: InjectOptions['payload']
  /** Headers of every request, such as `accept`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Credentials that are let in: the value of `Authorization`, or headers by name. Default: a token of
   * `jwtService` for {@link sub}.
   */
  readonly good?: string | Readonly<Record<string, string>> | undefined
  /** A user that there is. */
  readonly sub?: string | number | undefined
  /** More claims of good tokens. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /** The claim that names the user, as in `jwtAuthenticator`. Default `sub`. */
  readonly claimName?: string | undefined
  /** As in `jwtAuthenticator`. Default: `jwt.signingMethod`. */
  readonly algorithm?: SigningMethod | undefined
  /** Whether the route is open to nobody: only credentials that are present and wrong are played. */
  readonly optional?: boolean | undefined
  /** More statuses that are refusals, such as the 403 of an authenticator of yours. Default: only 401. */
  readonly refusals?: readonly number[] | undefined
  /** Cases to leave out, by name: those that the app accepts on purpose. */
  readonly except?: readonly (string | RegExp)[] | undefined
  /** Whether to play also what takes a socket, on a port of 127.0.0.1. Default `true`. */
  readonly sockets?: boolean | undefined
}

/** @throws ERR_AUTH_TESTING */
export function checkAttackOptions(options: AttackOptions): void {
  const { good, url } = options
  if (typeof url !== 'string')
    misuse('authAttacks: expected "url", the route to attack, as a text.')
  const values: unknown[] = typeof good === 'object' ? Object.values(good) : [good ?? '']
  if (values.every((value) => typeof value === 'string')) return
  misuse('authAttacks: "good": expected the value of Authorization, or an object of headers.')
}
