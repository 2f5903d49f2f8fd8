import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IssueTokens, TokenCarrier } from './login/finish.js'
import type { JwtService } from './tokens/service.js'
import type { ResolvedOptions } from './options/resolve.js'
import type { Plan } from './marks/plan.js'
import type { Registration } from './registration.js'
import type { Authenticator } from '../types/authenticator.js'
import type { NeededNames } from '../types/marks.js'
import type { MessageKey } from '../types/messages.js'
import type { SecurityScheme } from '../types/openapi.js'
import type { JwtClaims } from '../types/request-extra.js'

/** A place besides the `Authorization` header where an access token of our own keys may be. */
export interface TokenSource {
  /**
   * Finds the token of a request that has no such header.
   *
   * @returns null where there is none
   * @throws AuthenticationError for a request that must not use the token
   */
  find(request: FastifyRequest): string | null
  /** For the test kit: the name of the cookie that a request like this one would have the token in. */
  cookieName?(request: FastifyRequest): string
  /** For API documents: the name and the definition of its security scheme. */
  readonly openapi: readonly [string, SecurityScheme]
  /** For API documents: why a request with one of these methods may get a 403; null where it never does. */
  forbidden(methods: readonly string[]): string | null
}

/** Rejects valid tokens of our own keys: `claims` and `user` throw an AuthenticationError. */
export interface TokenCheck {
  /** Before the user is looked up. */
  claims?(claims: JwtClaims): void
  /** With the user of the token. */
  user?(user: object, claims: JwtClaims): void
  /** The least `iat` of tokens that are issued to a user now, in seconds since 1970. @throws AuthenticationFault */
  issuedAfter?(user: object): number
}

/** Called for every request to a protected route that has a user, or may go without one. */
export type OnPass = (request: FastifyRequest, reply: FastifyReply) => void

/** What an option adds to a registration. The core knows features by these members only. */
export interface Feature {
  /** Where `app.authn` and `app.authn.stats()` have {@link api} and {@link stats}. */
  readonly name: string
  readonly authenticators?: Readonly<Record<string, Authenticator>>
  /** The message to credentials for {@link authenticators} on a route that does not accept them. Default: a general one. */
  readonly notAccepted?: MessageKey
  /** For API documents: whether wrong credentials for {@link authenticators} are counted, and too many get a 429. */
  readonly countsFailures?: boolean
  /** Where else a token of our own keys may be found. */
  readonly tokenSources?: readonly TokenSource[]
  readonly tokenChecks?: readonly TokenCheck[]
  /** Replaces the one signed token of a login. At most one feature has it. */
  readonly issueTokens?: IssueTokens
  /** Replaces tokens in a JSON body. At most one feature has it. */
  readonly carrier?: TokenCarrier
  readonly onPass?: OnPass
  /**
   * More parameters of Bearer challenges, with the comma before them (RFC 9110 §11.2).
   *
   * @param scope - what the mark of the route asks for; null for nothing
   */
  challenge?(scope: NeededNames | null): string
  /** Declares routes, after the login route. @throws ERR_AUTH_OPTION */
  routes?(registration: Registration): void
  /**
   * Called at the end of each registration of the app, this one and later ones.
   *
   * @param all - the registrations of the app
   * @throws ERR_AUTH_OPTION
   */
  check?(registration: Registration, all: readonly Registration[]): void
  /** Called when the app gets ready, with the protected routes of the registration. @throws ERR_AUTH_OPTION */
  checkRoutes?(routes: readonly { readonly name: string; readonly plan: Plan }[]): void
  readonly api?: object
  stats?(): object
  /** Called when the app is ready. */
  ready?(): void | Promise<void>
  /** Called when the app begins to close: aborts what requests may be waiting for. */
  stop?(): void
  /** Called when the app has closed. */
  close?(): void | Promise<void>
}

/** What a feature is made from. */
export interface FeatureContext {
  readonly app: FastifyInstance
  readonly root: FastifyInstance
  readonly log: FastifyBaseLogger
  readonly options: ResolvedOptions
  /** Without keys where neither `jwt` nor `jwtService` is set. */
  readonly jwtService: JwtService
  /** The checks of the features further up in the table. */
  readonly tokenChecks: readonly TokenCheck[]
}

interface FeatureRow {
  isSet(options: ResolvedOptions, service: JwtService): boolean
  /** Loads the entry file of the feature. */
  load(): Promise<{
    /** @throws ERR_AUTH_OPTION */
    createFeature(context: FeatureContext): Feature
  }>
}

/** The least `iat` that all checks accept in a token of a user; 0 where all of them accept any. */
export function issuedAfter(checks: readonly TokenCheck[], user: object): number {
  return Math.max(0, ...checks.map((check) => check.issuedAfter?.(user) ?? 0))
}

/** All features, in the order in which they are made. Each is loaded only where its option is set. */
export const features: FeatureRow[] = [
  {
    isSet: (_, service) => service.validAfterField !== undefined,
    load: () => import('./valid-after/feature.js'),
  },
  { isSet: (_, service) => service.publish !== undefined, load: () => import('./jwks/feature.js') },
  {
    isSet: ({ issuers }) => Object.keys(issuers ?? {}).length > 0,
    load: () => import('./issuers/feature.js'),
  },
  { isSet: ({ cookies }) => cookies !== undefined, load: () => import('./cookies/feature.js') },
  { isSet: ({ sessions }) => Boolean(sessions), load: () => import('./sessions/feature.js') },
  { isSet: ({ apiKeys }) => apiKeys !== undefined, load: () => import('./api-keys/feature.js') },
]

/** Makes the features for which the options ask. @throws (rejects) ERR_AUTH_OPTION */
export async function loadFeatures(
  context: Omit<FeatureContext, 'tokenChecks'>,
): Promise<readonly Feature[]> {
  const made: Feature[] = []
  for (const { isSet, load } of features) {
    if (!isSet(context.options, context.jwtService)) continue
    const tokenChecks = made.flatMap((feature) => feature.tokenChecks ?? [])
    made.push((await load()).createFeature({ ...context, tokenChecks }))
  }
  return made
}
