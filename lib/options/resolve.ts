import { wrongOption } from '../errors/errors.js'
import { declaredProperty, withoutUndefined } from '../common/objects.js'
import { check } from './check.js'
import { pluginSchema } from './schemas.js'
import type { ApiKeysOptions } from '../../types/api-keys.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { LoginOptions } from '../../types/login.js'
import type { AuthnOptions } from '../../types/options.js'
import type { HashingOptions } from '../../types/passwords.js'
import type { SessionsOptions } from '../../types/session-api.js'

/** The defaults of all options. Times are in seconds. */
export const defaults = {
  plugin: {
    passwordField: 'password',
    maxPasswordBytes: 72 as number | false,
    authenticators: {} as NonNullable<AuthnOptions['authenticators']>,
    realm: 'Authorization required',
    languages: {} as NonNullable<AuthnOptions['languages']>,
    defaultLanguage: 'en',
  },
  jwt: { expiry: 300, signingMethod: 'HS256' as SigningMethod },
  /** Seconds between two reloads of a key set file, and the path that `publish: true` means. */
  keySet: { reloadEvery: 60, publish: '/.well-known/jwks.json' },
  tokenRules: { clockTolerance: 0, requireExp: true, issuer: undefined, audience: undefined },
  /** The `typ` of access tokens; undefined for none (RFC 9068 §2.1). */
  typ: new Set([undefined, 'jwt', 'at+jwt']),
  tokenCache: { max: 50_000, maxBytes: 8 * 2 ** 20 },
  cookies: {
    name: '',
    sameSite: 'lax' as 'lax' | 'strict',
    trustedOrigins: [] as readonly string[],
  },
  login: {
    path: '/login',
    usernameField: 'username',
    passwordField: 'password',
    routeOptions: {} as NonNullable<LoginOptions['routeOptions']>,
  },
  /**
   * The cost is the binary logarithm of the bcrypt rounds: 10 takes about 50 ms on a core of 2024, 14 about 0.8 s.
   * The default of `concurrency` depends on the machine: see `defaultConcurrency` in passwords/queue.ts.
   */
  hashing: {
    cost: 10,
    maxCost: 14,
    concurrency: undefined as number | undefined,
    maxQueue: 64,
    maxWait: 5,
  },
  credentialCache: { max: 1000, ttl: 60 },
  throttle: { perUsername: 10, perAddress: 100, window: 900 },
  sessions: { lifetime: 2_592_000, idle: 1_209_600, grace: 10, maxPerUser: 100, name: 'default' },
  apiKeys: { cache: { max: 10_000, ttl: 1 }, maxPerOwner: 100, name: 'default' },
  memoryPrefix: 'fastify-authn',
  jwtAuthenticator: { optional: false, claimName: 'sub' },
  basicAuthenticator: { optional: false },
}

/** Options in which those that have a default are always set. */
export type Resolved<Options, Defaults> = Omit<Options, keyof Defaults> & Readonly<Defaults>

export type ResolvedOptions = ReturnType<typeof resolveOptions>
export type ResolvedLogin = Exclude<ResolvedOptions['login'], false>
export type ResolvedCookies = NonNullable<ResolvedOptions['cookies']>
export type ResolvedThrottle = Exclude<ResolvedOptions['throttle'], false>
export type ResolvedHashing = ReturnType<typeof resolveHashing>
/** `store` is undefined for the memory of the process. */
export type ResolvedSessions = ReturnType<typeof resolveSessions>

/**
 * Checks the options of the plugin and adds the defaults, but not to `jwt`, which {@link JwtService} resolves, nor to
 * `hashing`, whose defaults come from the first registration of the app.
 *
 * @throws ERR_AUTH_OPTION for the first option that is wrong or unknown
 */
export function resolveOptions(options: unknown) {
  const checked = check<AuthnOptions>(pluginSchema, options)
  const inherited = Object.keys(pluginSchema.properties).find(
    (name) => !Object.hasOwn(checked, name) && declaredProperty(checked, name) !== undefined,
  )
  if (inherited !== undefined) {
    wrongOption(
      `option "${inherited}": found in the prototype or the class of the options, where it has no effect, expected a plain object with all options.`,
    )
  }
  if (checked.jwt !== undefined && checked.jwtService !== undefined) {
    wrongOption(
      'options "jwt" and "jwtService" are both set. The service has its own configuration: leave "jwt" out.',
    )
  }
  if (checked.errorSchema !== undefined && checked.errorBody === undefined) {
    wrongOption(
      'option "errorSchema" describes what "errorBody" returns, but "errorBody" is not set. Set it in the same registration, or leave "errorSchema" out.',
    )
  }
  const resolved = withDefaults(defaults.plugin, checked)
  const { audit, login, cookies, credentialCache, throttle } = checked
  if (throttle && throttle.redis !== undefined && throttle.keyPrefix === undefined) {
    wrongOption(
      'option "throttle.keyPrefix" is missing beside "throttle.redis", and two apps with one Redis would share their counts. Expected the name of the app, as in throttle: { redis, keyPrefix: \'shop\' }.',
    )
  }
  return {
    ...resolved,
    audit: audit === 'explicit' ? { mode: audit } : audit,
    // Where the app has set it, startup fails if the route could not work.
    login:
      login !== false &&
      Object.assign(withDefaults(defaults.login, login), { isExplicit: login !== undefined }),
    cookies: cookies && withDefaults(defaults.cookies, cookies === true ? {} : cookies),
    credentialCache:
      credentialCache !== false && withDefaults(defaults.credentialCache, credentialCache),
    throttle: throttle !== false && withDefaults(defaults.throttle, throttle),
  }
}

/** @throws ERR_AUTH_OPTION when `cost` is higher than `maxCost`, since new hashes would not be accepted */
export function resolveHashing(given: HashingOptions) {
  const { cost, maxCost, ...others } = withDefaults(defaults.hashing, given)
  const highest = given.maxCost ?? Math.max(cost, maxCost)
  if (highest < cost) {
    wrongOption(
      `option "hashing.maxCost": found ${highest}, but new hashes have the cost ${cost} and would not be accepted. Raise "hashing.maxCost", or lower "hashing.cost".`,
    )
  }
  return { ...others, cost, maxCost: highest }
}

/** @throws ERR_AUTH_OPTION for a header that has other credentials */
export function resolveApiKeys({ header: given, cache, ...others }: ApiKeysOptions) {
  const { maxPerOwner, name } = defaults.apiKeys
  // As Node has the names of headers.
  const header = given?.toLowerCase()
  if (header !== undefined && /^((proxy-)?authorization|cookie)$/.test(header)) {
    wrongOption(
      `option "apiKeys.header": found ${JSON.stringify(given)}, expected a header of its own, such as 'x-api-key'. Authorization: Bearer is always read.`,
    )
  }
  return {
    ...withDefaults({ maxPerOwner, name }, others),
    header,
    cache: cache !== false && withDefaults(defaults.apiKeys.cache, cache),
  }
}

/** @throws ERR_AUTH_OPTION when `idle` is longer than `lifetime` */
export function resolveSessions(given: SessionsOptions | true) {
  const resolved = withDefaults(defaults.sessions, given === true ? {} : given)
  const { lifetime } = resolved
  const idle = given === true ? undefined : given.idle
  if (idle !== undefined && idle > lifetime) {
    wrongOption(
      `option "sessions.idle": found ${idle} s, which is longer than "sessions.lifetime" (${lifetime} s) and has no effect. Lower "idle", or raise "lifetime".`,
    )
  }
  return { ...resolved, idle: Math.min(resolved.idle, lifetime) }
}

/**
 * Adds defaults to options. The result has no prototype, so that a polluted `Object.prototype`, for example with
 * `optional: true`, cannot set an option.
 */
export function withDefaults<Options extends object, Defaults extends object>(
  base: Defaults,
  given: Options | undefined,
): Resolved<Options, Defaults> {
  const own = given === undefined ? {} : withoutUndefined(given)
  return Object.assign(Object.create(null), base, own) as Resolved<Options, Defaults>
}
