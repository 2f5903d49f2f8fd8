import { membersOf, readsBasic } from '../authenticators/any-of.js'
import { acceptSameTokens, checkSharedTokens } from '../authenticators/shared-keys.js'
import { listOf } from '../common/list-of.js'
import { wrongMark, wrongOption } from '../errors/errors.js'
import { parseMark, isMark, routeName } from '../marks/mark.js'
import { hasCors, isAutomaticHead, isWithin } from './fastify.js'
import { pluginRouteOf } from '../http/plugin-route.js'
import { registrationOf } from '../request/registration.js'
import type { Registration, RoutePolicy } from '../feature.js'
import { requireMarks } from './require-marks.js'
import { decide, isHidden, markOf, methodsOf, type DeclaredRoute } from './routes.js'
import { withoutControlCharacters } from './table.js'
import type { AppRecord } from './app-record.js'

/** Makes the policy of every route, when the app gets ready. @throws ERR_AUTH_MARK, ERR_AUTH_AUDIT */
export function checkRoutes(record: AppRecord): void {
  const { root, routes, requiredMarks } = record
  for (const route of routes) route.policy = decide(route)
  checkSharedTokens(routes.flatMap(({ policy }) => policy ?? []))
  requiredMarks.forEach((option, scope) => requireMarks(record, scope, option))
  requireRoutes(record)
  requireMfa(record)
  warnBasicScopes(record)
  warnLateCors(record)
  warnUndefinedHooks(record)
  const ofApp = routes.filter(isOfApp)
  tellFeatures(record, ofApp)
  const open = ofApp.filter(({ policy }) => policy === null).map(nameOf)
  const count = ofApp.length - open.length
  root.log.info(
    `fastify-authn: ${count} protected ${count === 1 ? 'route' : 'routes'}, ${open.length} open${open.length > 0 ? `: ${listOf(open.toSorted())}` : ''}`,
  )
}

function tellFeatures({ registered }: AppRecord, routes: readonly DeclaredRoute[]): void {
  const about = (route: DeclaredRoute) => ({ name: nameOf(route), url: route.options.url })
  const unmarked = routes.filter((route) => markOf(route) === undefined).map(about)
  for (const registration of [...registered].flatMap((scope) => registrationOf(scope) ?? [])) {
    const own = routes.flatMap((route) => {
      const { policy } = route
      if (policy?.registration !== registration) return []
      return [{ ...about(route), policy, isHidden: isHidden(route) }]
    })
    for (const feature of registration.features) feature.checkRoutes?.(own, unmarked)
  }
}

function isOfApp({ options }: DeclaredRoute): boolean {
  return !isAutomaticHead(options) && pluginRouteOf(options) === undefined
}

/** Logins with a password alone never meet `mfa`, but tokens that the app makes itself may. @throws ERR_AUTH_MARK */
function requireMfa({ routes, registered }: AppRecord): void {
  const all = [...registered].flatMap((scope) => registrationOf(scope) ?? [])
  for (const { policy, options } of routes) {
    if (!policy?.needs?.mfa) continue
    const { registration: own, members } = policy
    const isOwn = members.flatMap(membersOf).every((each) => each === own.authenticators.get('jwt'))
    if (!isOwn || all.some((each) => acceptSameTokens(own, each) && mayMeetMfa(each))) continue
    wrongMark(
      `${routeName(options)}: found key "mfa", which no login of this app can meet. Set "secondFactor", "passkeys", or "mfa" of a provider in "loginWith"; sessions: { mfa: true } if your own code calls sessions.begin() with amr: ['mfa']; or leave "mfa" out.`,
    )
  }
}

function mayMeetMfa({ options, features }: Registration): boolean {
  const { sessions, login, jwtService, authenticators } = options
  const isPlain = sessions && login !== false && login.passwords !== false && !authenticators.jwt
  return !isPlain || jwtService !== undefined || features.some(({ givesMfa }) => givesMfa)
}

/** Rejects a registration that protects nothing, most often in a plugin that is not wrapped by fastify-plugin. */
function requireRoutes({ routes, registered }: AppRecord): void {
  const ofApp = routes.filter(isOfApp)
  const open = ofApp.filter((route) => markOf(route) === undefined).map(nameOf)
  for (const scope of registered) {
    const { options } = registrationOf(scope) as Registration
    const isProtecting = options.auth !== undefined && parseMark(options.auth, '').mode !== false
    const option = isProtecting ? 'auth' : options.requireMarks && 'requireMarks'
    const isEmpty = !ofApp.some(({ server }) => isWithin(server, scope))
    if (option === undefined || !isEmpty || open.length === 0) continue
    wrongOption(
      `option "${option}": the scope in which the plugin is registered has no routes, and ${open.length} routes outside of it are open (${listOf(open.toSorted())}). Register it in the scope of the routes: a plugin of yours that registers it must be wrapped by fastify-plugin, fp(async (app) => { await app.register(authn, …) }).`,
    )
  }
}

/**
 * Warns about an app whose routes have marks and which never registers the plugin. It is a process warning because the app may
 * have no logger, and no error because `config.auth` may belong to another plugin.
 */
export function warnUnregistered({ routes }: AppRecord): void {
  const marked = [...new Set(routes.filter(isOpenByMistake).map(nameOf))].toSorted()
  if (marked.length === 0) return
  process.emitWarning(
    `fastify-authn: these routes have a mark, but the app never registers the plugin, so they are open to everyone. Register it in this app: app.register(authn, …). If config.auth belongs to another plugin, run node with --disable-warning=FASTIFY_AUTHN_UNREGISTERED.\n  ${listOf(marked, '\n  ')}`,
    { type: 'SecurityWarning', code: 'FASTIFY_AUTHN_UNREGISTERED' },
  )
}

function isOpenByMistake(route: DeclaredRoute): boolean {
  const mark = markOf(route)
  return isMark(mark) && parseMark(mark, '').mode !== false && !isAutomaticHead(route.options)
}

/** Scopes come from tokens: on a route that needs one and accepts Basic, a user with a password always gets a 403. */
function warnBasicScopes({ root, routes }: AppRecord): void {
  const names = routes
    .filter(({ policy, options }) => policy && lacksScopes(policy) && !isAutomaticHead(options))
    .map(nameOf)
  if (names.length === 0) return
  root.log.warn(
    `fastify-authn: these routes require a scope and accept Basic, which has no scopes, so every request with Basic is a 403: ${listOf(names)}. Set access: { scopesOf(user) { … } }, or accept only tokens there, by "use" in the marks.`,
  )
}

function lacksScopes({ needs, registration, authenticator }: RoutePolicy): boolean {
  const hasSource = registration.options.access?.scopesOf !== undefined
  return Boolean(needs?.scope) && !hasSource && readsBasic(authenticator)
}

/** A 401 that the guard sends before @fastify/cors has set its headers cannot be read by pages of other origins. */
function warnLateCors({ root, instances, isCorsFirst }: AppRecord): void {
  if (isCorsFirst || !instances.some(hasCors)) return
  root.log.warn(
    'fastify-authn: @fastify/cors is registered after fastify-authn or in an inner scope, so pages of other origins cannot read why a request was rejected. Register it first: await app.register(cors, …) before app.register(authn, …), both at the root.',
  )
}

/** Fastify ignores a hook that is undefined, most often because the plugin that decorated the app with it is gone. */
function warnUndefinedHooks({ root, routes, undefinedHooks }: AppRecord): void {
  const ofRoutes = routes
    .filter(({ options }) => !isAutomaticHead(options))
    .flatMap((route) => route.undefinedHooks.map((hook) => `${hook} of ${nameOf(route)}`))
  const names = [...ofRoutes, ...undefinedHooks]
  if (names.length === 0) return
  root.log.warn(
    `fastify-authn: these hooks are undefined and never run: ${listOf(names)}. Was the plugin that decorates the app with them (preValidation: app.authenticate) removed, or is it registered later? Protect such a route with config: { auth: true }, and remove the hook.`,
  )
}

function nameOf({ options }: DeclaredRoute): string {
  return withoutControlCharacters(`${methodsOf(options.method).join()} ${options.url}`)
}
