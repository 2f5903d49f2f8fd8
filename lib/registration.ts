import type { FastifyInstance, FastifyRequest } from 'fastify'
import { wrongOption } from './errors/errors.js'
import type { Feature, OnPass, TokenCheck, TokenSource } from './feature.js'
import type { IssueTokens, TokenCarrier } from './login/finish.js'
import type { JwtService } from './tokens/service.js'
import type { PasswordTools } from './passwords/tools.js'
import type { Translator } from './http/language.js'
import type { ResolvedOptions } from './options/resolve.js'
import type { Authenticator } from '../types/authenticator.js'
import type { AuthnOptions } from '../types/options.js'

/** One registration of the plugin: what the guard, the authenticators and the plugin's own routes share. */
export interface Registration {
  /** The scope in which the plugin was registered. */
  readonly app: FastifyInstance
  readonly options: ResolvedOptions
  readonly passwords: PasswordTools
  /** Without keys where neither `jwt` nor `jwtService` is set. */
  readonly jwtService: JwtService
  readonly translator: Translator
  /** Names of the fields of users that hold password hashes. */
  readonly hiddenFields: Set<string>
  readonly authenticators: ReadonlyMap<string, Authenticator>
  /** The authenticator of marks without `use`; empty where the app has to name one. */
  readonly defaultAuthenticators: readonly Authenticator[]
  readonly features: readonly Feature[]
  readonly tokenSources: readonly TokenSource[]
  readonly tokenChecks: readonly TokenCheck[]
  readonly onPass: readonly OnPass[]
  readonly issueTokens: IssueTokens
  readonly carrier: TokenCarrier
  readonly errorBody: AuthnOptions['errorBody']
  readonly errorSchema: AuthnOptions['errorSchema']
  /** Whether to log that a user's field holds no roles. */
  isRoleReportDue(): boolean
  /** Calls `init` of an authenticator, once. */
  initialize(authenticator: Authenticator): Promise<void>
}

const kRegistration = Symbol('fastify-authn.registration')

export function setRegistration(registration: Registration): void {
  Object.assign(registration.app, { [kRegistration]: registration })
}

/** The nearest registration of a scope, if any. */
export function registrationOf(server: FastifyInstance): Registration | undefined {
  return (server as { [kRegistration]?: Registration })[kRegistration]
}

/**
 * The state of a built-in authenticator for each registration: one authenticator may be used by several apps and
 * scopes, each with its own users and keys.
 *
 * @param name - for the error
 * @param create - makes the state at startup
 */
export function perRegistration<State>(
  name: string,
  create: (registration: Registration) => State,
): { init: (app: FastifyInstance) => void; of: (request: FastifyRequest) => State } {
  const states = new WeakMap<Registration, State>()
  return {
    init(app) {
      const registration = registrationOf(app) as Registration
      states.set(registration, create(registration))
    },
    of(request) {
      const registration = registrationOf(request.server)
      const state = registration && states.get(registration)
      if (state !== undefined) return state
      return wrongOption(
        `${name} is used before its init(). An authenticator that wraps it has to call init(app) of what it wraps, or to spread it.`,
      )
    },
  }
}
