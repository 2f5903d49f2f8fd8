import type { FastifyInstance } from 'fastify'
import { anyOf } from './authenticators/any-of.js'
import { basicAuthenticator } from './authenticators/basic.js'
import { configBasicAuthenticator } from './authenticators/config-basic.js'
import { jwtAuthenticator } from './authenticators/jwt.js'
import { decorateRequests } from './decorators.js'
import { AuthnUsageError } from './errors.js'
import { createTranslator } from './i18n.js'
import { JwtService } from './jwt/service.js'
import { declareLogin, wantsLogin } from './login/route.js'
import { parseMark } from './marks.js'
import { checkAuthenticator, resolveOptions, type ResolvedOptions } from './options.js'
import { createPasswordTools, type PasswordTools } from './password-tools.js'
import { createPlanner, type Registration } from './registration.js'
import { routeReport, type RouteReport } from './routes/report.js'
import { kRegistration, kScopeMark } from './symbols.js'
import { addRegistration, protectTree, type Tree } from './tree.js'
import type { Authenticator } from '../types/authenticator.js'
import type { Authn } from '../types/authn.js'
import type { JwtServiceLike } from '../types/jwt.js'
import type { AuthnOptions } from '../types/options.js'

/** Registers authentication in a scope: see {@link AuthnOptions}. */
export async function authnPlugin(app: FastifyInstance, given: AuthnOptions): Promise<void> {
  const options = resolveOptions(given)
  if (options.auth !== undefined) parseMark(options.auth, 'option "auth"')
  const tree = protectTree(app)
  const tools = createPasswordTools(options, tree, app.log)
  const registration = await createRegistration(app, options, tools)
  const again = Object.hasOwn(app, kRegistration)
  if (again) app.log.warn('fastify-authn is registered twice in one scope; the last one counts')

  decorateRequests(app)
  own(app, kRegistration, registration)
  addRegistration(tree, app, options)
  if (options.auth !== undefined) own(app, kScopeMark, options.auth)
  decorate(app, 'authn', describe(registration, tools, routeReport(tree, app)), again)
  if (registration.jwtService !== null) decorate(app, 'jwtService', registration.jwtService, again)
  for (const authenticator of allAuthenticators(registration)) {
    await registration.initialize(authenticator)
  }
  if (wantsLogin(registration)) addLogin(app, registration, tree)
}

async function createRegistration(
  app: FastifyInstance,
  options: ResolvedOptions,
  { credentialCheck }: PasswordTools,
): Promise<Registration> {
  const translator = createTranslator(options.languages ?? {}, options.defaultLanguage)
  const jwtService = await openJwtService(options)
  const authenticators = namedAuthenticators(options, jwtService)
  const standard = standardAuthenticator(options, authenticators, jwtService)
  const initialized = new Map<Authenticator, Promise<void>>()
  return {
    options,
    jwtService,
    translator,
    hiddenFields: new Set([options.passwordField]),
    authenticators,
    standard,
    credentialCheck,
    initialize(authenticator) {
      let result = initialized.get(authenticator)
      if (result === undefined) {
        result = Promise.resolve(authenticator.init?.(app))
        initialized.set(authenticator, result)
      }
      return result
    },
    ...createPlanner(authenticators, standard, anyOf, app),
  }
}

async function openJwtService({
  jwt,
  jwtService,
}: ResolvedOptions): Promise<JwtServiceLike | null> {
  const service = jwtService ?? (jwt && new JwtService(jwt))
  return service ? await service.load() : null
}

/** The built-in authenticators that the options allow, and those of the app, which win. */
function namedAuthenticators(
  { authenticators = {}, basic, userService }: ResolvedOptions,
  jwtService: JwtServiceLike | null,
): Map<string, Authenticator> {
  const named = new Map<string, Authenticator>()
  if (userService !== undefined && jwtService?.canVerify()) named.set('jwt', jwtAuthenticator())
  if (userService !== undefined) named.set('basic', basicAuthenticator())
  if (basic !== undefined) named.set('configBasic', configBasicAuthenticator())
  for (const [name, authenticator] of Object.entries(authenticators)) named.set(name, authenticator)
  return named
}

/** The authenticator of marks without `use`. */
function standardAuthenticator(
  { authenticator, userService }: ResolvedOptions,
  named: ReadonlyMap<string, Authenticator>,
  jwtService: JwtServiceLike | null,
): Authenticator | undefined {
  if (authenticator === undefined) {
    // Tokens are configured, but not for the method that they are to have: that must not turn into Basic.
    if (userService !== undefined && jwtService !== null && !named.has('jwt')) {
      jwtService.require(
        jwtService.signingMethod,
        'verify',
        'the authenticator "jwt" (jwt.signingMethod)',
      )
    }
    return named.get('jwt') ?? [...named.values()][0]
  }
  if (typeof authenticator === 'string' || Array.isArray(authenticator)) {
    const names: string[] = [authenticator].flat() as string[]
    return createPlanner(named, undefined, anyOf).plan({ use: names }, 'option "authenticator"')
      .authenticator
  }
  checkAuthenticator(authenticator, 'authenticator')
  return authenticator as Authenticator
}

function allAuthenticators({ authenticators, standard }: Registration): Set<Authenticator> {
  const all = new Set(authenticators.values())
  if (standard !== undefined) all.add(standard)
  return all
}

function describe(
  { authenticators }: Registration,
  { stats }: PasswordTools,
  report: RouteReport,
): Authn {
  return { authenticators: [...authenticators.keys()], stats, ...report }
}

/** The login route; one that nobody asked for leaves another registration's where it is. */
function addLogin(app: FastifyInstance, registration: Registration, { logins }: Tree): void {
  const { login } = registration.options
  const url = `${app.prefix.replace(/\/$/, '')}${(login && login.path) ?? '/login'}`
  if (!app.hasRoute({ method: 'POST', url })) {
    declareLogin(app, registration)
    logins.add(url)
  } else if (login === undefined && logins.has(url)) {
    app.log.warn(`POST ${url} is already there; this registration of fastify-authn adds none`)
  } else {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      `option "login.path": POST ${url} is already declared. Choose another path, or set login: false.`,
    )
  }
}

/** Decorates a scope, or replaces what an earlier registration in the same scope has put there. */
function decorate(
  app: FastifyInstance,
  name: 'authn' | 'jwtService',
  value: object,
  again: boolean,
): void {
  if (!Object.hasOwn(app, name)) {
    app.decorate(name, value as never)
  } else if (again) {
    own(app, name, value)
  } else {
    throw new AuthnUsageError(
      'ERR_AUTH_DECORATOR',
      `another plugin has already decorated the app with "${name}". Rename that one.`,
    )
  }
}

function own(app: FastifyInstance, key: PropertyKey, value: unknown): void {
  Object.defineProperty(app, key, { value, configurable: true, enumerable: false, writable: true })
}
