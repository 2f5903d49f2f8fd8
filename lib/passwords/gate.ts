import type { FastifyRequest } from 'fastify'
import { ABANDONED, isGone, onGone } from '../http/disconnect.js'
import { AuthenticationError, refusal } from '../errors.js'
import { defaultConcurrency } from './bcrypt.js'

/** How much hashing there may be. */
export interface GateOptions {
  /** How many run at once. Default: see {@link defaultConcurrency}, shared by all gates of the process. */
  readonly concurrency?: number | undefined
  /** How many may wait. */
  readonly maxQueue: number
  /** How long each may wait, in seconds. */
  readonly maxWait: number
}

/** The bcrypt runs of a process, and the requests that wait for one, in order of arrival. */
interface Slots {
  free: number
  /** A set keeps the order, and allows removal from the middle, when a client disconnects. */
  readonly waiting: Set<() => void>
}

const key = Symbol.for('fastify-authn.slots')
const shared = globalThis as { [key]?: Slots }

/** All gates of a process share its cores and its thread pool, so they share these. */
function processSlots(): Slots {
  return (shared[key] ??= { free: defaultConcurrency(), waiting: new Set() })
}

/**
 * Stands in front of every bcrypt run. Without it, 64 of them in flight keep file and DNS work of the
 * app waiting for seconds; see bench/flood.ts. No queue library fits: those looked at cannot take out one that
 * waits (fastq, async), or are for ESM only and time the run instead of the waiting (p-queue).
 */
export class Gate {
  readonly #slots: Slots
  readonly #maxQueue: number
  readonly #maxWait: number
  #running = 0
  #waiting = 0
  #refused = 0

  constructor({ concurrency, maxQueue, maxWait }: GateOptions) {
    this.#slots =
      concurrency === undefined ? processSlots() : { free: concurrency, waiting: new Set() }
    this.#maxQueue = maxQueue
    this.#maxWait = maxWait
  }

  /** Counts, for `app.authn.stats()`. */
  get stats(): { running: number; waiting: number; refused: number } {
    return { running: this.#running, waiting: this.#waiting, refused: this.#refused }
  }

  /** Whether work would start at once. */
  get isIdle(): boolean {
    return this.#slots.free > 0
  }

  /**
   * Runs work when there is a place for it.
   *
   * @param work - called with `true` when it had to wait
   * @param request - for whom; when its client goes away while it waits, the work is dropped
   * @throws ERR_AUTH_OVERLOADED when too many wait or one waits too long; ABANDONED
   */
  async run<T>(work: (waited: boolean) => Promise<T>, request?: FastifyRequest): Promise<T> {
    if (request !== undefined && isGone(request)) throw ABANDONED
    const waits = this.#slots.free === 0
    if (waits) await this.#wait(request)
    else this.#slots.free -= 1
    this.#running += 1
    try {
      return await work(waits)
    } finally {
      this.#running -= 1
      this.#leave()
    }
  }

  /** Starts the next request that waits. */
  #leave(): void {
    const [next] = this.#slots.waiting
    if (next === undefined) this.#slots.free += 1
    else next()
  }

  #wait(request: FastifyRequest | undefined): Promise<void> {
    if (this.#waiting >= this.#maxQueue) throw this.#refuse()
    this.#waiting += 1
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting -= 1
        this.#slots.waiting.delete(enter)
        clearTimeout(timer)
        unwatch?.()
      }
      const enter = (): void => {
        leave()
        resolve()
      }
      const timer = setTimeout(() => {
        leave()
        reject(this.#refuse())
      }, this.#maxWait * 1000)
      const unwatch =
        request &&
        onGone(request, () => {
          leave()
          reject(ABANDONED)
        })
      this.#slots.waiting.add(enter)
    })
  }

  #refuse(): AuthenticationError {
    this.#refused += 1
    return refusal('auth.overloaded', { retryAfter: Math.ceil(this.#maxWait) })
  }
}
