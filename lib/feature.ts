import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TProperties, TSchema } from '@sinclair/typebox/type'
import type { Translator } from './http/language.js'
import type { PluginRoute } from './http/plugin-route.js'
import type { Needs } from './marks/access.js'
import type { ResolvedOptions } from './options/resolve.js'
import type { PasswordTools } from './passwords/tools.js'
import type { Attempts, Counted } from './throttle/attempts.js'
import type { Guessed } from './throttle/guesses.js'
import type {
  FinishedLogin,
  IssuedTokens,
  LoginAttempt,
  SecondFactor,
  TokenCarrier,
  TokenCheck,
  TokenSource,
} from './tokens/issued.js'
import type { JwtService } from './tokens/service.js'
import type { Authenticator } from '../types/authenticator.js'
import type { AuthenticationErrorLike } from '../types/errors.js'
import type { AuthMode } from '../types/marks.js'
import type { MessageKey } from '../types/messages.js'
import type { AuthnOptions } from '../types/options.js'

export type { SecondFactor }

/** What the folder of a feature exports for its row in `lib/feature-table.ts`. */
export interface FeatureModule {
  /** The schema of its option, which is checked before the rest is called. */
  readonly schema?: TSchema
  /** Adds defaults for options of other features and of the core, before any is resolved. @throws ERR_AUTH_OPTION */
  supply?(options: AuthnOptions): AuthnOptions
  /** Adds defaults to its option, and checks what the schema cannot. Default: the option. @throws ERR_AUTH_OPTION */
  resolve?(given: never): unknown
  create(context: FeatureContext<never>): Feature
}

/** The resolved options that later features may use. By `declare module`, each feature adds its own. */
export interface ResolvedFeatures {}

export interface FeatureContext<Options = unknown> {
  readonly app: FastifyInstance
  readonly root: FastifyInstance
  /** {@link Registration.name} */
  readonly registration: string
  readonly log: FastifyBaseLogger
  /** What {@link FeatureModule.resolve} has made of its option; without that, the option as it was given. */
  readonly resolved: Options
  /** What the features further up in the table have resolved, by their options: so a feature uses what another one has. */
  readonly resolvedBefore: Readonly<Partial<ResolvedFeatures>>
  readonly options: ResolvedOptions
  /** Without keys where neither `jwt` nor `jwtService` is set. */
  readonly jwtService: JwtService
  /** The checks of the features further up in the table. */
  readonly tokenChecks: readonly TokenCheck[]
}

/** What an option adds to a registration. The core knows features by these members only. */
export interface Feature {
  /** That of its option: also the name of its members of `app.authn` and `app.authn.stats()`. */
  readonly name: string
  readonly authenticators?: Readonly<Record<string, Authenticator>>
  /** Whether a string looks like one of its secrets, which no other server may see. */
  knows?(text: string): boolean
  /** The message to credentials for {@link authenticators} on a route that does not accept them. Default: a general one. */
  readonly notAccepted?: MessageKey
  /** Where else a token of our own keys may be found. */
  readonly tokenSources?: readonly TokenSource[]
  readonly tokenChecks?: readonly TokenCheck[]
  /** Replaces the one signed token of a login. */
  readonly issueTokens?: IssueTokens
  /** Whether a login by its means can meet the mark `mfa`. */
  readonly givesMfa?: boolean | undefined
  /** Whether each of its logins may begin one session, which needs a store that knows `once`. */
  readonly beginsOnce?: boolean
  /**
   * Confirms such a login when a second factor has been shown.
   * @param bound - that of its `once` @throws (rejects) ERR_AUTH_LOGIN_EXPIRED where the user has changed meanwhile
   */
  confirmLogin?(bound: string, request: FastifyRequest): Promise<void>
  /** Whether users log in by its means where the app has no passwords: with `login.passwords: false`. */
  readonly replacesPasswords?: boolean
  /** Whether its means alone let a user log in, as far as that is known. */
  letsIn?(user: object): boolean | Promise<boolean>
  /** Asks users for more than a password. At most one feature has it. */
  readonly secondFactor?: SecondFactor
  /** How users can confirm that it is them: see `lib/login/confirm.ts`. */
  readonly confirmations?: readonly Confirmation[]
  /** Replaces tokens in a JSON body. */
  readonly carrier?: TokenCarrier
  /**
   * Rejects a request before its credentials are read: to a protected route, or a POST to one of the plugin's own. Its
   * open GET routes are not checked: documents for everyone, and the addresses to which providers send browsers back.
   * @param policy - null for one of the plugin's own routes
   * @returns null for a request that passes
   */
  checkRequest?(request: FastifyRequest, policy: RoutePolicy | null): AuthenticationErrorLike | null
  /** Called for every request to a protected route that has a user, or may go without one. */
  onPass?(request: FastifyRequest, reply: FastifyReply): void
  /**
   * More parameters of Bearer challenges (RFC 9110 §11.2), by name, asked once for a code and a route. The Bearer
   * challenge is then the first one.
   * @param about - the status of the response, and the scopes that a client of the route has to request; null for none
   */
  challenge?(about: {
    readonly status: number
    readonly scope: string | null
  }): Readonly<Record<string, string>>
  /** Called with the registration that it belongs to, before authenticators and routes are initialized. */
  open?(registration: Registration): void
  /** Its routes, which are declared after the login route. @throws ERR_AUTH_OPTION */
  routes?(registration: Registration): readonly PluginRoute[]
  /** Called at the end of each registration of the app, this one and later ones. @throws ERR_AUTH_OPTION */
  check?(registration: Registration, all: readonly Registration[]): void
  /**
   * Called when the app gets ready, with the protected routes of the registration, of which those with `isHidden` are in no
   * API document, and with the routes of the app that have no mark. @throws ERR_AUTH_OPTION
   */
  checkRoutes?(
    routes: readonly { name: string; url: string; policy: RoutePolicy; isHidden: boolean }[],
    unmarked: readonly { name: string; url: string }[],
  ): void
  /** For API documents. */
  readonly notes?: {
    /**
     * The responses that it adds to a protected route, or to one of the plugin's own, whose policy is null:
     * descriptions by any status. Those of one status, of other features and of the core, are joined.
     */
    responses(route: {
      readonly methods: readonly string[]
      readonly policy: RoutePolicy | null
    }): Readonly<Record<number, string>>
  }
  readonly api?: object
  /** The values of `{name}` in messages. */
  readonly messageValues?: Readonly<Record<string, string>>
  stats?(): object
  ready?(): void | Promise<void>
  /** Called when the app begins to close: aborts what requests may be waiting for. */
  stop?(): void | Promise<void>
  close?(): void | Promise<void>
  /** For the test kit alone. */
  readonly testing?: object
}

/** Makes the tokens of a user who has logged in. It rejects with an AuthenticationFault or an AuthenticationError. */
export type IssueTokens = (
  username: string | number,
  request: FastifyRequest,
  user: object,
  attempt: LoginAttempt,
  registration: Registration,
) => Promise<IssuedTokens>

/** One way to confirm that it is the user of a session. */
export interface Confirmation {
  /** As `GET /login/confirm` names it. */
  readonly name: Guessed | `provider:${string}`
  /** The methods that it proves (RFC 8176). Without `mfa`, it does not make a session fresh that is `mfa`. */
  readonly amr: readonly string[]
  isOffered(own: Own, request: FastifyRequest): boolean | Promise<boolean>
  /** Missing where the user has to leave the page for it. */
  readonly proves?: {
    /** The members of the body, by which it is chosen. */
    readonly body: TProperties
    readonly counts?: Counted
    /**
     * @param isLast - whether a wrong one is not counted for the user: see `guess` in `lib/login/proof.ts`
     * @returns the user, and whether the user is still the same when the tokens are stored
     * @throws (rejects) what `guess` counts, among others
     */
    check(own: Own, body: never, request: FastifyRequest, isLast: boolean): Promise<Proved>
  }
}

type Proved = Pick<FinishedLogin, 'user' | 'began' | 'confirm' | 'use' | 'once'>

/** A session of the user of a request, and what it has proved. */
export interface Own {
  readonly user: object
  readonly sub: string | number
  readonly sid: string
  /** The methods of RFC 8176. */
  readonly amr: readonly string[]
  /** When the user was authenticated, in seconds since 1970. */
  readonly time: number
  readonly isMfa: boolean
}

/** How the requests of a protected route are authenticated, and what they need. */
export interface RoutePolicy {
  readonly mode: AuthMode
  readonly registration: Registration
  readonly authenticator: Authenticator
  /** The authenticators that the mark names, also where the test kit replaces {@link authenticator}. */
  readonly members: readonly Authenticator[]
  /** {@link names}, joined. */
  readonly name: string
  readonly names: readonly string[]
  /** For logs and events: the name of the authenticator that a request was given to, or else all names. */
  nameFor(request: FastifyRequest): string
  readonly allowsAnonymous: boolean
  readonly readsBasic: boolean
  setChallenges(error: AuthenticationErrorLike, request: FastifyRequest, reply: FastifyReply): void
  /** Null where any user will do. */
  readonly needs: Needs | null
}

/** One registration of the plugin: what the guard, the authenticators and the plugin's own routes share. */
export interface Registration {
  /** The scope in which the plugin was registered. */
  readonly app: FastifyInstance
  /** Names it in events: the prefix of the scope, with a number where an earlier one has that. */
  readonly name: string
  readonly options: ResolvedOptions
  readonly passwords: PasswordTools
  readonly attempts: Attempts
  readonly jwtService: JwtService
  readonly translator: Translator
  /** Names of the fields of users that hold password hashes. */
  readonly hiddenFields: Set<string>
  readonly authenticators: ReadonlyMap<string, Authenticator>
  /** The authenticator of marks without `use`; empty where the app has to name one. */
  readonly defaultAuthenticators: readonly Authenticator[]
  readonly features: readonly Feature[]
  readonly tokenSources: readonly TokenSource[]
  /** Also those of other registrations with sessions, whose tokens may have the same keys. */
  readonly tokenChecks: TokenCheck[]
  readonly requestChecks: readonly NonNullable<Feature['checkRequest']>[]
  readonly onPass: readonly NonNullable<Feature['onPass']>[]
  readonly issueTokens: IssueTokens
  readonly secondFactor: SecondFactor | undefined
  /**
   * Whether a user has a second factor or a passkey: also those of other registrations with the same users, whose tokens
   * are accepted here. @throws the internal error of the option that cannot tell
   */
  readonly strongFactors: Set<(user: object) => boolean | Promise<boolean>>
  /** All registrations of the app that have one, this one included. */
  readonly withSecondFactor: Set<Registration>
  readonly carrier: TokenCarrier
  readonly errorBody: AuthnOptions['errorBody']
  readonly errorSchema: AuthnOptions['errorSchema']
  /** Whether to log that a user's field holds no roles. */
  isRoleReportDue(): boolean
  /** Calls `init` of an authenticator, once. */
  initialize(authenticator: Authenticator): Promise<void>
}
