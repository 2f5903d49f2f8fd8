import type { FastifyRequest } from 'fastify'
import { createCredentialCheck, type CheckCredentials } from './check.js'
import { wrongOption } from '../errors.js'
import { Gate } from './gate.js'
import { CredentialMemory } from './remembered.js'
import { defined } from '../common/objects.js'
import { AcceptedPasswords } from '../throttle/accepted.js'
import { PasswordAttempt } from '../throttle/attempt.js'
import { Throttle } from '../throttle/throttle.js'
import { resolveHashing, type ResolvedHashing, type ResolvedOptions } from '../options/resolve.js'
import type { SharedCounters } from '../throttle/shared-counters.js'
import type { AuthnStats } from '../../types/authn.js'
import type { HashingOptions } from '../../types/passwords.js'
import type { UserService } from '../../types/user-service.js'

/** What the registrations in a tree of Fastify instances share. */
export interface SharedTools {
  hashing: { readonly gate: Gate; readonly settings: ResolvedHashing } | null
  readonly throttles: { readonly throttle: Throttle; readonly key: readonly unknown[] }[]
}

/** What a registration does with passwords. */
export interface PasswordTools {
  /** The check of credentials against a user service, for Basic or for login. */
  credentialCheck(
    userService: UserService,
    passwordField: string,
    use: 'basic' | 'login',
  ): CheckCredentials
  /**
   * An attempt that is judged elsewhere: with a password, or with a token that is looked up. Failures count for the
   * address, and for the name.
   *
   * @param name - the username; for tokens, what those have in common that are guessed for the same thing
   * @param password - null for a token
   */
  openAttempt(name: string, password: string | null, request: FastifyRequest): PasswordAttempt
  stats(): Omit<AuthnStats, 'tokens' | 'keys' | 'issuers' | 'sessions'>
}

/** Makes the gate, the throttle and the memory of a registration. */
export function createPasswordTools(
  options: ResolvedOptions,
  tree: SharedTools,
  shared: SharedCounters | null,
): PasswordTools {
  const { gate, settings } = hashingOf(tree, options.hashing)
  const throttle = throttleOf(options, tree, shared)
  const { rememberCredentials: remember } = options
  const memory = remember === false ? null : new CredentialMemory(remember)
  const accepted = remember === false ? null : new AcceptedPasswords(remember)
  return {
    credentialCheck: (userService, passwordField, use) =>
      createCredentialCheck({
        userService,
        passwordField,
        maxPasswordBytes: options.maxPasswordBytes,
        userServiceTimeout: options.userServiceTimeout,
        cost: settings.cost,
        maxCost: settings.maxCost,
        gate,
        throttle,
        memory: use === 'basic' ? memory : null,
        accepted: use === 'basic' ? accepted : null,
      }),
    openAttempt: (name, password, request) => {
      const attemptTools = { throttle, accepted: password === null ? null : accepted }
      return new PasswordAttempt(attemptTools, name, password ?? '', request)
    },
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
    const settings = resolveHashing(given)
    const hashing = { gate: new Gate(settings), settings }
    tree.hashing = hashing
    return hashing
  }
  const { settings } = tree.hashing
  for (const [name, value] of Object.entries(given)) {
    const present = settings[name as keyof ResolvedHashing]
    if (value !== present) {
      wrongOption(
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
  shared: SharedCounters | null,
): Throttle | null {
  if (throttle === false) return null
  const { perUsername, perAddress, window, redis, keyPrefix } = throttle
  const key = [userService, perUsername, perAddress, window, redis, keyPrefix]
  const present = tree.throttles.find((other) => key.every((part, at) => part === other.key[at]))
  if (present !== undefined) return present.throttle
  const created = new Throttle(throttle, shared)
  tree.throttles.push({ throttle: created, key })
  return created
}
