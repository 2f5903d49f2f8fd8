import type { FastifyBaseLogger } from 'fastify'
import { createCredentialCheck } from './credentials.js'
import { AuthnUsageError } from './errors.js'
import { Gate } from './hashing/gate.js'
import { CredentialMemory } from './hashing/memory.js'
import { defaultCost, gateDefaults } from './hashing/password.js'
import { defined } from './objects.js'
import { Throttle } from './throttle.js'
import type { ResolvedOptions } from './options.js'
import type { Registration } from './registration.js'
import type { AuthnStats } from '../types/authn.js'
import type { HashingOptions } from '../types/options.js'

/** Settings of hashing with every default in place. */
export interface HashingSettings {
  readonly cost: number
  readonly concurrency: number | undefined
  readonly maxQueue: number
  readonly maxWait: number
}

/** What the registrations in a tree of Fastify instances share. */
export interface SharedTools {
  hashing: { readonly gate: Gate; readonly settings: HashingSettings } | null
  readonly throttles: { readonly throttle: Throttle; readonly key: readonly unknown[] }[]
}

/** What a registration does with passwords. */
export interface PasswordTools {
  readonly credentialCheck: Registration['credentialCheck']
  stats(): AuthnStats
}

/** Statuses of those who have to wait. */
export type BusyStatus = 429 | 503

/** What those may be told whose passwords are checked: the throttle says 429, the gate 503. */
export function busyStatuses({ throttle }: ResolvedOptions): BusyStatus[] {
  return throttle === false ? [503] : [429, 503]
}

/** Makes the gate, the throttle and the memory of a registration. */
export function createPasswordTools(
  options: ResolvedOptions,
  tree: SharedTools,
  log: FastifyBaseLogger,
): PasswordTools {
  const { gate, settings } = hashingOf(tree, options.hashing)
  const throttle = throttleOf(options, tree, log)
  const memory = createMemory(options)
  return {
    credentialCheck: (userService, passwordField, use) =>
      createCredentialCheck({
        userService,
        passwordField,
        maxPasswordBytes: options.maxPasswordBytes,
        userServiceTimeout: options.userServiceTimeout,
        cost: settings.cost,
        gate,
        throttle,
        memory: use === 'basic' ? memory : null,
      }),
    stats: () => ({
      hashing: gate.stats,
      remembered: memory?.stats ?? { hits: 0, misses: 0, size: 0 },
      throttled: throttle?.throttled ?? 0,
    }),
  }
}

/**
 * The gate of a tree: one for all registrations, since they share the cores.
 *
 * @throws ERR_AUTH_OPTION when two registrations want different ones
 */
function hashingOf(
  tree: SharedTools,
  own: HashingOptions | undefined,
): NonNullable<SharedTools['hashing']> {
  const given = defined(own ?? {})
  if (tree.hashing === null) {
    const settings = { cost: defaultCost, concurrency: undefined, ...gateDefaults, ...given }
    const hashing = { gate: new Gate(settings), settings }
    tree.hashing = hashing
    return hashing
  }
  const { settings } = tree.hashing
  for (const [name, value] of Object.entries(given)) {
    const present = settings[name as keyof HashingSettings]
    if (value !== present) {
      throw new AuthnUsageError(
        'ERR_AUTH_OPTION',
        `option "hashing.${name}": found ${value}, but an earlier registration in this app has ${present ?? 'the default'}. All registrations of an app share one gate: set "hashing" in the first one.`,
      )
    }
  }
  return tree.hashing
}

/**
 * The throttle of a registration. Those over the same users with the same settings share one, or two login
 * routes would allow twice the guesses.
 */
function throttleOf(
  { throttle, userService }: ResolvedOptions,
  tree: SharedTools,
  log: FastifyBaseLogger,
): Throttle | null {
  if (throttle === false) return null
  const { perUsername, perAddress, window, redis, keyPrefix } = throttle ?? {}
  const settings = {
    perUsername: perUsername ?? 10,
    perAddress: perAddress ?? 100,
    window: window ?? 900,
    redis,
    keyPrefix: keyPrefix ?? 'fastify-authn',
  }
  const key = [userService, ...Object.values(settings)]
  const present = tree.throttles.find((other) => key.every((part, at) => part === other.key[at]))
  if (present !== undefined) return present.throttle
  const created = new Throttle(settings, log)
  tree.throttles.push({ throttle: created, key })
  return created
}

function createMemory({ rememberCredentials }: ResolvedOptions): CredentialMemory | null {
  if (rememberCredentials === false) return null
  const { max, ttl } = rememberCredentials ?? {}
  return new CredentialMemory({ max: max ?? 1000, ttl: ttl ?? 60 })
}
