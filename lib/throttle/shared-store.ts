import type { FastifyBaseLogger } from 'fastify'

/** What is used of a client of ioredis. */
interface RedisClient {
  readonly status?: string
  connect?(): Promise<unknown>
}

/** A store that takes longer than this counts as down, in milliseconds. */
const patience = 500
/** A store that is down is reported once in this time, in milliseconds. */
const reportEvery = 60_000

/** The store that processes share, which may be down or slow at any time. */
export class SharedStore {
  readonly #redis: RedisClient
  readonly #log: FastifyBaseLogger
  #reported = -Infinity

  constructor(redis: object, log: FastifyBaseLogger) {
    this.#redis = redis
    this.#log = log
    // With lazyConnect it waits for a first command, which is not sent before it is ready.
    if (this.#redis.status === 'wait') {
      this.#redis.connect?.().catch((error: unknown) => this.#report(error))
    }
  }

  /** Asks it. @returns null from one that fails or is slow, which is reported */
  async ask<T>(question: () => Promise<T>): Promise<T | null> {
    try {
      const { status = 'ready' } = this.#redis
      if (status !== 'ready') throw new Error(`the client of the store is not ready, but ${status}`)
      return await within(patience, question())
    } catch (error) {
      this.#report(error)
      return null
    }
  }

  #report(error: unknown): void {
    const now = performance.now()
    if (now - this.#reported < reportEvery) return
    this.#reported = now
    this.#log.error(
      { err: error },
      'The shared store of failed attempts does not answer; this process counts alone until it does',
    )
  }
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${milliseconds} ms`)), milliseconds)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
