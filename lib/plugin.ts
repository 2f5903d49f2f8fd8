import type { FastifyInstance } from 'fastify'
import { outerOf, rootOf, setFallback } from './app/fastify.js'
import type { AppRecord } from './app/app-record.js'
import { protectApp, recordApps, recordOf } from './app/record.js'
import { routeReport } from './app/report.js'
import { defaultAuthenticators, namedAuthenticators, requireDefault } from './configured.js'
import { checkSharedKeys } from './authenticators/shared-keys.js'
import { withoutUndefined } from './common/objects.js'
import { onceAMinute } from './common/once-a-minute.js'
import { AuthnUsageError, notSet, twoCopies, wrongOption } from './errors/errors.js'
import {
  featureOptions,
  features as table,
  loadFeatures,
  suppliedOptions,
} from './feature-table.js'
import { createTranslator } from './http/language.js'
import { describeRoutes } from './openapi/swagger.js'
import { JwtService } from './tokens/service.js'
import { bodyCarrier } from './login/finish.js'
import { declarePluginRoute, urlOf } from './login/plugin-routes.js'
import { addLogin, wantedLogin } from './login/route.js'
import { tokenIssuer } from './login/token.js'
import { markScope, parseMark } from './marks/mark.js'
import { noKeys } from './options/resolve-jwt.js'
import { resolveOptions, type ResolvedOptions } from './options/resolve.js'
import { CredentialCache } from './passwords/credential-cache.js'
import { createPasswordTools } from './passwords/tools.js'
import { registeredByOther, registrationOf, setRegistration } from './request/registration.js'
import { createAttempts } from './throttle/attempts.js'
import type { Feature, Registration } from './feature.js'
import { decorateRequests } from './request/decorate.js'
import type { Authenticator } from '../types/authenticator.js'
import type { AuthnOptions } from '../types/options.js'

recordApps(describeRoutes)

export async function authnPlugin(app: FastifyInstance, given: AuthnOptions): Promise<void> {
  const supplied = await suppliedOptions(given)
  const options = resolveOptions(supplied, featureOptions(), given.login !== undefined)
  if (Object.hasOwn(given, 'auth')) parseMark(given.auth, 'option "auth"')
  const record = recordOf(app)
  protectApp(record)
  setFallback(record.root, 'jwtService', notSet('app.jwtService', '"jwt" or "jwtService"'))
  const registration = await build(app, record, options)
  attach(record, registration)
  await initialize(record, registration)
}

async function build(
  app: FastifyInstance,
  record: AppRecord,
  options: ResolvedOptions,
): Promise<Registration> {
  const jwtService = await openJwtService(app, options)
  const prefix = app.prefix || '/'
  const others = [...record.registered].filter((each) => each.prefix === app.prefix).length
  const name = others === 0 ? prefix : `${prefix}#${others + 1}`
  const context = { app, root: rootOf(app), registration: name, log: app.log, options, jwtService }
  const features = await loadFeatures(context)
  const authenticators = namedAuthenticators(options, jwtService, features)
  const tokenChecks = features.flatMap((feature) => feature.tokenChecks ?? [])
  const outer = outerOf(app)
  const inherited = options.errorBody === undefined && outer !== null && registrationOf(outer)
  const { errorBody, errorSchema } = inherited || options
  const messageValues = Object.assign({}, ...features.map((each) => each.messageValues))
  const { credentialCache } = options
  const cache = credentialCache === false ? null : new CredentialCache(credentialCache)
  const path = urlOf(app, options.login === false ? '' : options.login.path)
  const attempts = await createAttempts(options, path, record.shared, cache, app.log)
  const tools = { throttle: attempts.throttle, cache, registration: name }
  const initialized = new Map<Authenticator, Promise<void>>()
  return {
    app,
    name,
    options,
    jwtService,
    passwords: await createPasswordTools(options, record.shared, tools, app.log),
    attempts,
    translator: createTranslator(options.languages, options.defaultLanguage, messageValues),
    hiddenFields: new Set([options.passwordField]),
    authenticators,
    defaultAuthenticators: defaultAuthenticators(options, authenticators, jwtService, features),
    features,
    tokenSources: features.flatMap((feature) => feature.tokenSources ?? []),
    tokenChecks: [...tokenChecks],
    requestChecks: features.flatMap((feature) => feature.checkRequest ?? []),
    onPass: features.flatMap((feature) => feature.onPass ?? []),
    issueTokens: only(features, 'issueTokens') ?? tokenIssuer(options, jwtService, tokenChecks),
    secondFactor: only(features, 'secondFactor'),
    strongFactors: new Set(),
    withSecondFactor: new Set(),
    carrier: only(features, 'carrier') ?? bodyCarrier,
    errorBody,
    errorSchema,
    isRoleReportDue: onceAMinute(),
    initialize(authenticator) {
      const result = initialized.get(authenticator) ?? Promise.resolve(authenticator.init?.(app))
      initialized.set(authenticator, result)
      return result
    },
  }
}

function only<Key extends 'issueTokens' | 'secondFactor' | 'carrier'>(
  features: readonly Feature[],
  key: Key,
): Feature[Key] | undefined {
  const [first, second] = features.filter((feature) => feature[key] !== undefined)
  if (second === undefined) return first?.[key]
  return wrongOption(
    `options "${first?.name}" and "${second.name}" cannot be used together: both decide about the end of a login.`,
  )
}

/** The service of the options `jwt` or `jwtService`; without either, a service without keys. */
async function openJwtService(
  app: FastifyInstance,
  { jwt = noKeys, jwtService }: ResolvedOptions,
): Promise<JwtService> {
  if (jwtService instanceof JwtService) return jwtService.load()
  if (jwtService !== undefined) {
    const isOfOtherCopy = (jwtService as object).constructor?.name === JwtService.name
    wrongOption(
      `option "jwtService": found another object, expected an instance of JwtService.${isOfOtherCopy ? ` ${twoCopies}` : ''}`,
    )
  }
  const service = new JwtService(jwt, { log: app.log })
  app.addHook('onClose', (_, done) => {
    service.close()
    done()
  })
  return service.load()
}

/** Puts a registration on its scope: from here on, the guard and the authenticators find it. */
function attach(record: AppRecord, registration: Registration): void {
  const { app, options, authenticators, features, jwtService, passwords, attempts } = registration
  if (registrationOf(app)?.app === app) {
    app.log.warn('fastify-authn is registered twice in one scope; the last registration applies')
    Reflect.deleteProperty(app, 'authn')
    Reflect.deleteProperty(app, 'jwtService')
  }
  decorateRequests(app)
  setRegistration(registration)
  record.registered.add(app)
  if (options.requireMarks !== undefined) record.requiredMarks.set(app, options.requireMarks)
  if (options.auth !== undefined) markScope(app, options.auth)
  const hasKeys = (options.jwt ?? options.jwtService) !== undefined
  const own = [hasKeys && 'jwt', wantedLogin(registration) && 'login'].filter(Boolean)
  const authn = {
    registration: registration.name,
    authenticators: [...authenticators.keys()],
    features: [...own, ...features.map(({ name }) => name)],
    ...byName(features.map(({ name, api }) => [name, api])),
    stats: () => ({
      ...passwords.stats(),
      ...attempts.stats(),
      ...jwtService.stats(),
      ...byName(Object.entries(table).map(([name, { noStats }]) => [name, noStats])),
      ...byName(features.map(({ name, stats }) => [name, stats?.()])),
    }),
    ...passwords.api,
    ...routeReport(record, app),
  }
  for (const name of Object.keys(table).filter((each) => table[each]?.hasApi)) {
    if (name in authn) continue
    // The property is not enumerable, so that printing or copying `app.authn` does not read it.
    const isNull = table[name]?.hasApi === 'or null'
    const get = isNull ? () => null : notSet(`app.authn.${name}`, `"${name}"`)
    Object.defineProperty(authn, name, { get })
  }
  decorate(app, 'authn', authn)
  if (!hasKeys) return
  decorate(app, 'jwtService', jwtService)
  const days = jwtService.expiry / 86_400
  if (days <= 1) return
  // A stolen token can be used for as long as it lives, and most such values were meant as milliseconds.
  app.log.warn(
    `fastify-authn: option "jwt.expiry" (AUTH_JWT_EXPIRY) is ${jwtService.expiry} seconds, which is ${Number(days.toFixed(1))} days, and a stolen token can be used for that long. The option is in seconds, not milliseconds. Keep it short, and use "sessions" to keep users logged in.`,
  )
}

function byName(entries: readonly [string, object | undefined][]): Record<string, object> {
  return withoutUndefined(Object.fromEntries(entries))
}

function decorate(app: FastifyInstance, name: 'authn' | 'jwtService', value: object): void {
  if (Object.hasOwn(app, name)) {
    throw new AuthnUsageError(
      'ERR_AUTH_DECORATOR',
      `another plugin has already decorated the app with "${name}".${registeredByOther(app) || ' Rename its decorator.'}`,
    )
  }
  app.decorate(name, value as never)
}

/** The steps that look the registration up by its scope: authenticators, the plugin's own routes, and checks. */
async function initialize(record: AppRecord, registration: Registration): Promise<void> {
  const { app, authenticators, defaultAuthenticators, features } = registration
  for (const feature of features) feature.open?.(registration)
  for (const authenticator of new Set([...authenticators.values(), ...defaultAuthenticators])) {
    await registration.initialize(authenticator)
  }
  const { login } = registration.options
  if (login !== false && login.passwords !== false) {
    addLogin(
      registration,
      record.routes.map(({ options }) => options),
    )
    if (wantedLogin(registration) !== null) await registration.passwords.load()
  }
  for (const route of features.flatMap((feature) => feature.routes?.(registration) ?? [])) {
    declarePluginRoute(registration, route)
  }
  requireDefault(registration)
  const all = [...record.registered].flatMap((scope) => registrationOf(scope) ?? [])
  checkSharedKeys(all)
  const withSecondFactor = all.filter(({ secondFactor }) => secondFactor !== undefined)
  for (const each of all) for (const one of withSecondFactor) each.withSecondFactor.add(one)
  for (const each of all) for (const feature of each.features) feature.check?.(each, all)
  const callEach = (step: 'ready' | 'stop' | 'close') => async (): Promise<void> => {
    for (const feature of features) await feature[step]?.()
  }
  // The engines are loaded before the first request, which should not wait for a file. Tokens alone need none.
  app.addHook('onReady', async () => {
    const isNeeded = record.routes.some(
      ({ policy }) => policy?.registration === registration && policy.readsBasic,
    )
    if (isNeeded) await registration.passwords.load()
  })
  app.addHook('onReady', callEach('ready'))
  app.addHook('preClose', callEach('stop'))
  app.addHook('onClose', callEach('close'))
}
