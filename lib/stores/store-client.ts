import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { onceAMinute } from '../common/once-a-minute.js'
import { isProduction } from '../common/production.js'
import { withTimeout } from '../common/timeout.js'
import { rejection, wrongOption, type AuthenticationError } from '../errors/errors.js'

interface StoreOptions<Store> {
  readonly option: string
  readonly factory: {
    readonly prefix: string
    readonly isLocal: boolean
    open(name: string): Store
  }
  readonly name: string
  /** Logged in production: what it means that the store is in the memory of this process. */
  readonly ifLocal: string
  /** Logged when a call fails: which store is unavailable, and what that means. */
  readonly ifUnavailable: string
  /** Seconds that a call may take. */
  readonly patience: number
}

/** The scopes of each root that have records in a store, by option, prefix and name. */
const scopes = new WeakMap<FastifyInstance, Map<string, FastifyInstance>>()

/** Opens the store of a registration. @throws ERR_AUTH_OPTION where another one of the app has the same records */
export function openStore<Store>(
  { app, root }: { readonly app: FastifyInstance; readonly root: FastifyInstance },
  { option, factory, name, ifLocal, ifUnavailable, patience }: StoreOptions<Store>,
): { readonly store: Store; readonly client: StoreClient<Store>; readonly place: string } {
  const { prefix, isLocal } = factory
  if (isLocal && isProduction()) app.log.warn(ifLocal)
  const place = JSON.stringify([prefix, name])
  const taken = scopes.get(root) ?? new Map<string, FastifyInstance>()
  scopes.set(root, taken)
  if ((taken.get(option + place) ?? app) !== app) {
    wrongOption(
      `option "${option}.name": found ${JSON.stringify(name)} for two registrations with the same store prefix ${JSON.stringify(prefix)}, so alice of one would be alice of the other. Give each its own name, as in ${option}: { name: 'admin' }.`,
    )
  }
  taken.set(option + place, app)
  const store = factory.open(name)
  return { store, client: new StoreClient(store, app.log, ifUnavailable, patience), place }
}

/** Calls a store for requests, which get a 503 where it fails or does not answer in time. */
export class StoreClient<Store> {
  readonly #isLogDue = onceAMinute()
  failures = 0

  constructor(
    private readonly store: Store,
    private readonly logger: FastifyBaseLogger,
    private readonly message: string,
    private readonly patience: number,
  ) {}

  async call<T>(call: (store: Store) => Promise<T>, seconds = this.patience): Promise<T> {
    try {
      const late = (): Error => new Error(`no answer in ${seconds} s`)
      return await withTimeout(call(this.store), seconds * 1000, late)
    } catch (error) {
      this.failures += 1
      throw this.unavailable(error)
    }
  }

  unavailable(error: unknown): AuthenticationError {
    this.log(error)
    return rejection('auth.overloaded', { code: 'ERR_AUTH_STORE_UNAVAILABLE', retryAfter: 2 })
  }

  /** Logs that the store is unavailable, at most once a minute. @param help - what to do */
  log(error: unknown, help = ''): void {
    if (!this.#isLogDue()) return
    // The error itself is not logged: drivers put values of the query into it.
    const { code, message } = Object(error) as { code?: unknown; message?: unknown }
    this.logger.error({ code, reason: message }, `${this.message}. ${help}`.trim())
  }
}
