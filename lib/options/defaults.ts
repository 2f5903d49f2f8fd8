import type { RouteShorthandOptions } from 'fastify'
import { withoutUndefined } from '../common/objects.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { SigningMethod } from '../../types/keys.js'
import type { Catalogue } from '../../types/messages.js'

/** The defaults of all options. Times are in seconds. */
export const defaults = {
  plugin: {
    passwordField: 'password',
    authenticators: {} as Readonly<Record<string, Authenticator>>,
    realm: 'Authorization required',
    languages: {} as Readonly<Record<string, Partial<Catalogue>>>,
    defaultLanguage: 'en',
  },
  jwt: { expiry: 300, signingMethod: 'HS256' as SigningMethod },
  /** Seconds between two reloads of a key set file, and the path that `publish: true` means. */
  keySet: { reloadEvery: 60, publish: '/.well-known/jwks.json' },
  tokenRules: { clockTolerance: 0, requireExp: true, issuer: undefined, audience: undefined },
  /** The `typ` of access tokens; undefined for none (RFC 9068 §2.1). */
  typ: new Set([undefined, 'jwt', 'at+jwt']),
  tokenCache: { max: 50_000, maxBytes: 8 * 2 ** 20 },
  login: {
    path: '/login',
    usernameField: 'username',
    passwordField: 'password',
    routeOptions: {} as Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'>,
  },
  /**
   * `maxCost` takes about 0.8 s on a core of 2024, and `maxMemory` is in KiB. `concurrency` is no option: without a
   * number, which tests set here, it depends on the machine (`defaultConcurrency` in passwords/queue.ts).
   */
  hashing: {
    maxCost: 14,
    maxMemory: 262_144,
    concurrency: undefined as number | undefined,
    maxQueue: 64,
    maxWait: 5,
  },
  credentialCache: { max: 1000, ttl: 60 },
  throttle: { perUsername: 10, perAddress: 100, window: 900 },
  /** The name of a registration in a store, and the prefix of all names in stores in memory. */
  store: { name: 'default' },
  memoryPrefix: 'fastify-authn',
  jwtAuthenticator: { optional: false, claimName: 'sub' },
  basicAuthenticator: { optional: false },
}

export type Resolved<Options, Defaults> = Omit<Options, keyof Defaults> & Readonly<Defaults>

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
