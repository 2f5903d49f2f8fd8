import type { FastifyInstance } from 'fastify'
import { addLogin, decorate, own, undecorate } from './app/attach.js'
import { checkPasswords, registrationsIn, requireOwnUsers } from './app/own-users.js'
import { publishKeys } from './app/published.js'
import { routeReport } from './app/report.js'
import { addRegistration, protectTree } from './app/protect.js'
import { watchTrees, type Tree } from './app/tree.js'
import { anyOf } from './authenticators/any-of.js'
import {
  namedAuthenticators,
  requireStandard,
  standardAuthenticator,
} from './authenticators/configured.js'
import { basicComparer } from './authenticators/config-basic.js'
import { checkSharedKeys, warnUnjudged } from './authenticators/shared-keys.js'
import { ownOf } from './common/objects.js'
import { createTranslator } from './http/language.js'
import { tokenKindsOf } from './jwt/token-kind.js'
import { wantedLogin } from './login/route.js'
import { markScope } from './marks/inherit.js'
import { parseMark } from './marks/parse.js'
import { describeRoutes } from './openapi/swagger.js'
import { resolveOptions, type ResolvedLogin, type ResolvedOptions } from './options/resolve.js'
import { createPasswordTools } from './passwords/tools.js'
import { createPlanner } from './marks/plan.js'
import { kRegistration, type Registration } from './registration.js'
import { decorateRequests } from './request/decorators.js'
import {
  checkCookies,
  openCookies,
  openIssuers,
  openJwtService,
  openSessions,
  openRedisCounters,
} from './rooms.js'
import { validAfterOf } from './users/valid-after.js'
import type { Authenticator } from '../types/authenticator.js'
import type { Authn } from '../types/authn.js'
import type { JwtStats, KeyStats, TokenStats } from '../types/jwt.js'
import type { AuthnOptions } from '../types/options.js'

const treeOf = watchTrees(describeRoutes)

/** Registers authentication in a scope: see {@link AuthnOptions}. */
export async function authnPlugin(app: FastifyInstance, given: AuthnOptions): Promise<void> {
  const options = resolveOptions(given)
  if (Object.hasOwn(options, 'auth')) parseMark(options.auth, 'option "auth"')
  const tree = treeOf(app)
  protectTree(tree)
  const registration = await build(app, tree, options)
  attach(app, tree, registration)
  await initialize(app, tree, registration)
}

/** What a registration holds, made from its options. */
async function build(
  app: FastifyInstance,
  tree: Tree,
  options: ResolvedOptions,
): Promise<Registration> {
  const passwords = createPasswordTools(options, tree, await openRedisCounters(options, app.log))
  const jwtService = await openJwtService(app, options)
  const issuers = await openIssuers(options, jwtService, app)
  const combine = issuers === null ? anyOf : issuers.combine
  const authenticators = namedAuthenticators(options, jwtService, issuers?.authenticators)
  const standard = standardAuthenticator(options, authenticators, jwtService, combine)
  const plan = createPlanner(authenticators, standard, combine, app)
  const { jwt: _, basic, sessions: __, ...kept } = options
  const validAfter = validAfterOf(jwtService, app.log)
  const initialized = new Map<Authenticator, Promise<void>>()
  return {
    options: kept,
    matchesBasic: basic && basicComparer(basic),
    passwords,
    jwtService,
    cookies: await openCookies(options),
    issuers,
    validAfter,
    sessions: await openSessions(options, jwtService, validAfter, app),
    translator: createTranslator(options.languages, options.defaultLanguage),
    hiddenFields: new Set([options.passwordField]),
    authenticators,
    standard,
    tokenUses: [],
    initialize(authenticator) {
      const result = initialized.get(authenticator) ?? Promise.resolve(authenticator.init?.(app))
      initialized.set(authenticator, result)
      return result
    },
    plan(mark, place) {
      const made = plan(mark, place)
      checkPasswords(tree, made.members, options.userService, place)
      return made
    },
  }
}

const noTokens: TokenStats = { size: 0, bytes: 0, hits: 0, misses: 0 }
const noKeys: KeyStats = { size: 0, reloads: 0, failures: 0 }

/** Puts a registration on its scope: from here on, the guard and the authenticators find it. */
function attach(app: FastifyInstance, tree: Tree, registration: Registration): void {
  const { options, authenticators, issuers, jwtService, passwords, sessions } = registration
  if (Object.hasOwn(app, kRegistration)) {
    app.log.warn('fastify-authn is registered twice in one scope; the last one counts')
    undecorate(app)
  }
  decorateRequests(app)
  own(app, kRegistration, registration)
  addRegistration(tree, app, options)
  const auth = ownOf(options, 'auth')
  if (auth !== undefined) markScope(app, auth)
  const authn: Authn = {
    authenticators: [...authenticators.keys()],
    ...(sessions !== null && { sessions: sessions.api }),
    stats() {
      // One that the app wrote itself may leave any of it out.
      const { keys = noKeys, tokens = noTokens }: Partial<JwtStats> = jwtService?.stats?.() ?? {}
      return {
        ...passwords.stats(),
        tokens,
        keys,
        issuers: issuers?.stats() ?? {},
        ...(sessions !== null && { sessions: sessions.stats() }),
      }
    },
    ...routeReport(tree, app),
  }
  decorate(app, 'authn', authn)
  if (jwtService !== null) decorate(app, 'jwtService', jwtService)
}

/** What needs the registration in its place: the authenticators, the login route, and what they have told. */
async function initialize(
  app: FastifyInstance,
  tree: Tree,
  registration: Registration,
): Promise<void> {
  const { authenticators, standard } = registration
  const all = new Set(authenticators.values())
  if (standard !== undefined) all.add(standard)
  for (const authenticator of all) await registration.initialize(authenticator)
  const login = wantedLogin(registration)
  if (login !== null) {
    noteIssued(app, registration, login)
    addLogin(app, registration, login, tree)
  }
  requireStandard(registration)
  await publishKeys(app, tree, registration.jwtService)
  const registrations = registrationsIn(tree)
  for (const each of registrations) {
    if (wantedLogin(each) !== null)
      requireOwnUsers(tree, 'the login route', each.options.userService)
  }
  checkSharedKeys(registrations.map(({ tokenUses }) => tokenUses))
  warnUnjudged(registration, registrations, app.log)
  await checkCookies(registration, login, registrations)
}

/** What the login route issues, where the app does not make its tokens itself. */
function noteIssued(
  { prefix }: FastifyInstance,
  { options: { userService }, jwtService, tokenUses }: Registration,
  { tokenFunc, signingMethod }: ResolvedLogin,
): void {
  if (userService === undefined || jwtService === null || tokenFunc !== undefined) return
  // Of a ring, all keys: after a rotation another one signs.
  const kinds = tokenKindsOf(jwtService, signingMethod, { typ: 'JWT' })
  tokenUses.push(...kinds.map((kind) => ({ ...kind, userService, prefix })))
}
