import type { FastifyInstance } from 'fastify'
import type {
  Feature,
  IssueTokens,
  OnPass,
  TokenCarrier,
  TokenCheck,
  TokenSource,
} from './feature.js'
import type { JwtService } from './tokens/service.js'
import type { PasswordTools } from './passwords/tools.js'
import type { Translator } from './http/language.js'
import type { ResolvedOptions } from './options/resolve.js'
import type { Authenticator } from '../types/authenticator.js'

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
  /** Calls `init` of an authenticator, once. */
  initialize(authenticator: Authenticator): Promise<void>
}

const kRegistration = Symbol('fastify-authn.registration')

interface Registered {
  [kRegistration]?: Registration
}

/** Puts a registration on its scope, where the guard and the authenticators find it. */
export function setRegistration(registration: Registration): void {
  const registered = registration.app as Registered
  registered[kRegistration] = registration
}

/** The nearest registration of a scope, if any. */
export function registrationOf(server: FastifyInstance): Registration | undefined {
  return (server as Registered)[kRegistration]
}
