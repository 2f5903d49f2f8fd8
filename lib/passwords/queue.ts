import { availableParallelism } from 'node:os'
import type { FastifyRequest } from 'fastify'
import { ABANDONED, isGone, onGone } from '../http/disconnect.js'
import { refusal } from '../errors/errors.js'
import { addressOf } from '../throttle/throttle.js'
import type { ResolvedHashing } from '../options/resolve.js'

/** Places for bcrypt operations, and the requests that wait for one, in order of arrival. */
interface Slots {
  free: number
  /** A set keeps the order, and allows removal from the middle, when a client disconnects. */
  readonly waiting: Set<() => void>
}

/** Shared by queues without `concurrency`, since they share the cores and the thread pool of the process. */
let processSlots: Slots | undefined

/**
 * How many hashes run at once: one for each core, but one less than the thread pool of libuv has threads
 * (`UV_THREADPOOL_SIZE`, default 4), so that file and DNS work never waits for them.
 */
export function defaultConcurrency(): number {
  const { UV_THREADPOOL_SIZE: size } = process.env
  // libuv reads the variable with atoi(), and takes at least one thread.
  const poolSize = size === undefined ? 4 : Math.trunc(Number.parseFloat(size)) || 1
  return Math.max(1, Math.min(availableParallelism(), poolSize - 1))
}

/**
 * Limits how many bcrypt operations run at once. Without it, 64 of them keep file and DNS work of the app waiting for
 * seconds; see bench/flood.ts. The usual queue libraries (fastq, p-queue, async) cannot remove one that waits.
 */
export class HashingQueue {
  readonly stats = { running: 0, waiting: 0, refused: 0 }
  readonly #slots: Slots
  /** How many requests of each address wait. */
  readonly #ofAddress = new Map<string, number>()

  constructor(private readonly settings: ResolvedHashing) {
    const { concurrency } = settings
    this.#slots =
      concurrency === undefined
        ? (processSlots ??= { free: defaultConcurrency(), waiting: new Set() })
        : { free: concurrency, waiting: new Set() }
  }

  get isIdle(): boolean {
    return this.#slots.free > 0
  }

  /**
   * @param work - called with `true` when it had to wait
   * @param request - removed from the queue when its client disconnects
   * @throws ERR_AUTH_OVERLOADED when too many wait, in all or of the address of the request, or when one waits too long; ABANDONED
   */
  async run<T>(work: (waited: boolean) => Promise<T>, request?: FastifyRequest): Promise<T> {
    if (request !== undefined && isGone(request)) throw ABANDONED
    const waits = !this.isIdle
    if (waits) await this.#wait(request)
    else this.#slots.free -= 1
    this.stats.running += 1
    try {
      return await work(waits)
    } finally {
      this.stats.running -= 1
      const [next] = this.#slots.waiting
      if (next === undefined) this.#slots.free += 1
      else next()
    }
  }

  #wait(request: FastifyRequest | undefined): Promise<void> {
    const { maxQueue, maxWait } = this.settings
    const address = request === undefined ? null : addressOf(request.ip)
    // One client must not fill the queue for all others.
    const isFull = address !== null && this.#count(address) >= Math.max(1, Math.floor(maxQueue / 4))
    if (isFull || this.stats.waiting >= maxQueue) throw this.#overloaded()
    this.stats.waiting += 1
    this.#count(address, 1)
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void): void => {
        this.stats.waiting -= 1
        this.#count(address, -1)
        this.#slots.waiting.delete(enter)
        clearTimeout(timer)
        unwatch?.()
        settle()
      }
      const enter = (): void => leave(resolve)
      // After the event loop was blocked, timers run before slots become free whose work has finished meanwhile.
      const expire = (): unknown =>
        setImmediate(() => {
          if (this.#slots.waiting.has(enter)) leave(() => reject(this.#overloaded()))
        })
      const timer = setTimeout(expire, maxWait * 1000)
      const unwatch = request && onGone(request, () => leave(() => reject(ABANDONED)))
      this.#slots.waiting.add(enter)
    })
  }

  /** @param change - 1 for a request that begins to wait, and -1 when it leaves. @returns how many of the address wait */
  #count(address: string | null, change = 0): number {
    if (address === null) return 0
    const count = (this.#ofAddress.get(address) ?? 0) + change
    if (count === 0) this.#ofAddress.delete(address)
    else this.#ofAddress.set(address, count)
    return count
  }

  #overloaded(): Error {
    this.stats.refused += 1
    return refusal('auth.overloaded', { retryAfter: Math.ceil(this.settings.maxWait) })
  }
}
