import { availableParallelism } from 'node:os'
import type { FastifyRequest } from 'fastify'
import { ABANDONED, isGone, onGone } from '../http/disconnect.js'
import { rejection } from '../errors/errors.js'
import { clientOf } from '../throttle/throttle.js'
import { defaults } from '../options/defaults.js'

interface QueueSettings {
  readonly concurrency: number | undefined
  /** KiB that all hashes may take together. */
  readonly budget: number | undefined
  readonly maxQueue: number
  readonly maxWait: number
}

class Slots {
  /** The callbacks of waiting requests in order of arrival, each with the memory that it needs in KiB. */
  readonly waiting = new Map<() => void, number>()
  /** KiB that are not reserved. */
  memory: number

  constructor(
    public free = defaultConcurrency(),
    readonly budget: number = defaults.hashing.maxMemory,
  ) {
    this.memory = budget
  }

  hasRoom(memory: number): boolean {
    return this.free > 0 && memory <= this.memory
  }

  take(memory: number): void {
    this.free -= 1
    this.memory -= memory
  }

  /** Starts waiting requests in order. A smaller one behind the first waits too, or the first would wait for ever. */
  next(): void {
    for (const [enter, memory] of this.waiting) {
      if (!this.hasRoom(memory)) return
      this.take(memory)
      enter()
    }
  }
}

/** Shared by queues without settings of their own, since they share the cores, the memory and the thread pool. */
let processSlots: Slots | undefined

/** Leaves one thread of libuv's pool (`UV_THREADPOOL_SIZE`, default 4), so that file and DNS work never waits. */
function defaultConcurrency(): number {
  const { UV_THREADPOOL_SIZE: size } = process.env
  // libuv reads the variable with atoi(), and takes at least one thread.
  const poolSize = size === undefined ? 4 : Math.trunc(Number.parseFloat(size)) || 1
  return Math.max(1, Math.min(availableParallelism(), poolSize - 1))
}

/**
 * Limits how many passwords are hashed at once, and how much memory they take. Without it, 64 bcrypts keep file and
 * DNS work of the app waiting for seconds. The usual queue libraries cannot remove one that waits.
 */
export class HashingQueue {
  readonly stats = { running: 0, waiting: 0, rejected: 0, memory: 0, replaced: 0 }
  readonly #slots: Slots
  /** How many requests of each client wait. */
  readonly #ofClient = new Map<string, number>()

  constructor(private readonly settings: QueueSettings) {
    const { concurrency, budget } = settings
    const isShared = concurrency === undefined && budget === undefined
    this.#slots = isShared ? (processSlots ??= new Slots()) : new Slots(concurrency, budget)
  }

  /** Whether work that takes so many KiB could start at once. */
  isIdle(memory: number): boolean {
    const { waiting, budget } = this.#slots
    return waiting.size === 0 && this.#slots.hasRoom(Math.min(memory, budget))
  }

  /**
   * @param wanted - KiB that the work takes
   * @throws ERR_AUTH_OVERLOADED when too many wait, in all or of the client, or when one waits too long; ABANDONED
   */
  async run<T>(
    work: (waited: boolean) => Promise<T>,
    request?: FastifyRequest,
    wanted = 0,
  ): Promise<T> {
    if (request !== undefined && isGone(request)) throw ABANDONED
    // Work that needs more than the whole budget would wait for ever.
    const memory = Math.min(wanted, this.#slots.budget)
    const waits = !this.isIdle(memory)
    if (waits) await this.#wait(request, memory)
    else this.#slots.take(memory)
    this.stats.running += 1
    this.stats.memory += memory
    try {
      return await work(waits)
    } finally {
      this.stats.running -= 1
      this.stats.memory -= memory
      this.#slots.free += 1
      this.#slots.memory += memory
      this.#slots.next()
    }
  }

  #wait(request: FastifyRequest | undefined, memory: number): Promise<void> {
    const { maxQueue, maxWait } = this.settings
    const client = request === undefined ? null : clientOf(request.ip)
    // One client must not fill the queue for all others.
    const isFull = client !== null && this.#count(client) >= Math.max(1, Math.floor(maxQueue / 4))
    if (isFull || this.stats.waiting >= maxQueue) throw this.#overloaded()
    this.stats.waiting += 1
    this.#count(client, 1)
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void): void => {
        this.stats.waiting -= 1
        this.#count(client, -1)
        this.#slots.waiting.delete(enter)
        clearTimeout(timer)
        unwatch?.()
        settle()
      }
      // The request behind it may need less memory.
      const abandon = (error: unknown): void => {
        leave(() => reject(error))
        this.#slots.next()
      }
      const enter = (): void => leave(resolve)
      // After the event loop was blocked, timers run before slots become free whose work has finished meanwhile.
      const expire = (): unknown =>
        setImmediate(() => {
          if (this.#slots.waiting.has(enter)) abandon(this.#overloaded())
        })
      const timer = setTimeout(expire, maxWait * 1000)
      const unwatch = request && onGone(request, () => abandon(ABANDONED))
      this.#slots.waiting.set(enter, memory)
    })
  }

  /** @param change - 1 for a request that begins to wait, and -1 when it leaves. @returns how many of the client wait */
  #count(client: string | null, change = 0): number {
    if (client === null) return 0
    const count = (this.#ofClient.get(client) ?? 0) + change
    if (count === 0) this.#ofClient.delete(client)
    else this.#ofClient.set(client, count)
    return count
  }

  #overloaded(): Error {
    this.stats.rejected += 1
    return rejection('auth.overloaded', { retryAfter: Math.ceil(this.settings.maxWait) })
  }
}
