import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Plan } from './marks/plan.js'
import type { PasswordTools } from './passwords/tools.js'
import type { Translator } from './http/language.js'
import type { ResolvedLogin, ResolvedOptions } from './options/resolve.js'
import type { TokenKind } from './tokens/token-kind.js'
import type { ValidAfter } from './users/valid-after.js'
import type { Authenticator } from '../types/authenticator.js'
import type { AuthenticationErrorLike } from '../types/errors.js'
import type { JwtServiceLike } from '../types/jwt.js'
import type { IssuerStats } from '../types/issuers.js'
import type { JwtClaims } from '../types/request-extra.js'
import type { Sessions, SessionStats } from '../types/session-api.js'
import type { UserService } from '../types/user-service.js'

/** Whether a username and a password are those of the configuration. */
export type MatchesBasic = (username: string, password: string) => boolean

/** Tokens that a registration accepts or issues, and whom their claims name. */
export interface TokenUse extends TokenKind {
  readonly userService: UserService
  /** The prefix of the registration's scope. */
  readonly prefix: string
}

/** The tokens of a login or of a refresh. Times are in seconds. */
export interface GivenTokens {
  readonly token: string
  /** How long the token lives. Default: as it says itself. */
  readonly expiresIn?: number | undefined
  readonly refreshToken?: string | undefined
  /** How long the refresh token lives if it is not used. */
  readonly refreshExpiresIn?: number | undefined
}

/** How tokens travel in cookies, where the app asks for that: the option `cookies`. */
export interface CookieMode {
  /** The name of the access token's cookie, as documents show it. */
  readonly name: string
  /** The name that it has for a request: without its prefix on the machine where the app is developed. */
  nameFor(request: FastifyRequest): string
  /** Methods of requests that change nothing, and that pages of other sites may therefore send. */
  readonly safeMethods: ReadonlySet<string>
  /** The refusal of a request that a page of another site may have sent; null for all others. */
  crossSite(request: FastifyRequest): AuthenticationErrorLike | null
  /**
   * The access token of a request, for requests without an `Authorization` header.
   *
   * @returns null when there is none
   * @throws the refusal of a request of another site, or of one in which the cookie comes twice
   */
  accessToken(request: FastifyRequest): string | null
  /**
   * The refresh token of a request.
   *
   * @returns null when there is none
   * @throws the refusal of a request in which the cookie comes twice
   */
  refreshToken(request: FastifyRequest): string | null
  /** Keeps shared caches from storing the reply to a cookie, unless the app says something else of caches. */
  keepPrivate(request: FastifyRequest, reply: FastifyReply): void
  /**
   * Adds tokens to a reply, as cookies.
   *
   * @returns what the body says in their place; `expiresIn` is null for a token that says nothing of its end
   * @throws AuthenticationFault for a token that is no value of a cookie, or too large
   */
  give(
    request: FastifyRequest,
    reply: FastifyReply,
    tokens: GivenTokens,
  ): { readonly expiresIn: number | null }
  /** Tells the browser to forget the tokens. */
  clear(request: FastifyRequest, reply: FastifyReply): void
}

/** What the doors and the core know of the issuers of a registration. */
export interface RegisteredIssuers {
  /** @throws ERR_AUTH_OPTION where users are found by `sub` in `service`, in which `by` finds users by their names */
  requireOwnUsers(by: string, service: object | undefined): void
  stats(): Readonly<Record<string, IssuerStats>>
}

/** What the option `sessions` adds to a registration. It is made in `lib/sessions/`, which only that option loads. */
export interface SessionKeeper {
  readonly api: Sessions
  /** @throws AuthenticationError for a token of a session that is ended, and while it is not known which are */
  judge(claims: JwtClaims): void
  /**
   * Begins a session for a user who has logged in.
   *
   * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE; AuthenticationFault
   */
  begin(username: string, request: FastifyRequest, user: object): Promise<GivenTokens>
  /** Declares the routes that refresh and end sessions, beside the login route. @throws ERR_AUTH_OPTION */
  declareRoutes(app: FastifyInstance, registration: Registration, login: ResolvedLogin): void
  stats(): SessionStats
}

/** One registration of the plugin: what the guard, the authenticators and the login route share. */
export interface Registration {
  /** Without keys and passwords, since anybody can get a registration by its symbol. */
  readonly options: Omit<ResolvedOptions, 'jwt' | 'basic' | 'sessions'>
  /** Compares with the credentials of the option `basic`; undefined where that is not set. */
  readonly matchesBasic: MatchesBasic | undefined
  readonly passwords: PasswordTools
  readonly jwtService: JwtServiceLike | null
  /** Null where tokens travel in the header `Authorization` only. */
  readonly cookies: CookieMode | null
  /** Null without the option `issuers`. */
  readonly issuers: RegisteredIssuers | null
  /** Null without the option `jwt.validAfterField`. */
  readonly validAfter: ValidAfter | null
  /** Null without the option `sessions`. */
  readonly sessions: SessionKeeper | null
  readonly translator: Translator
  /** What tokens it accepts or issues: filled while its authenticators are initialized. */
  readonly tokenUses: TokenUse[]
  /** Names of the fields of users that hold password hashes. */
  readonly hiddenFields: Set<string>
  readonly authenticators: ReadonlyMap<string, Authenticator>
  /** The authenticator of marks without `use`. */
  readonly standard: Authenticator | undefined
  /** Calls `init` of an authenticator, once. */
  initialize(authenticator: Authenticator): Promise<void>
  /**
   * What routes with this mark do with their requests.
   *
   * @param place - where the mark stands, for the error
   * @throws ERR_AUTH_MARK
   */
  plan(mark: unknown, place: string): Plan
}

/** Where a scope keeps it; from the registry, so that all copies of the package find the same. */
export const kRegistration: unique symbol = Symbol.for('fastify-authn.registration')

/** The nearest registration of a scope, if any. */
export function registrationOf(server: FastifyInstance): Registration | undefined {
  return (server as { readonly [kRegistration]?: Registration })[kRegistration]
}

/**
 * What holds for the requests of a route, decided when the app got ready.
 * Without a plan they are open.
 */
export type Decision =
  { readonly plan: null } | { readonly plan: Plan; readonly registration: Registration }
