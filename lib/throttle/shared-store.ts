import type { FastifyBaseLogger } from 'fastify'
import { onceAMinute } from '../common/once-a-minute.js'
import { withTimeout } from '../common/timeout.js'

/** What is used of a client of ioredis. */
interface RedisClient {
  readonly status?: string
  connect?(): Promise<unknown>
}

/** A store that takes longer than this counts as down, in milliseconds. */
const patience = 500
/** For so long a store that did not answer in time is not asked again, in milliseconds. */
const pause = 5000

class NoAnswer extends Error {}

/** The store that processes share, which may be down, slow or read-only at any time. */
export class SharedStore {
  readonly #redis: RedisClient
  readonly #log: FastifyBaseLogger
  readonly #isReportDue = onceAMinute()
  /** When it may be asked again; 0 while it answers. */
  #askAgainAt = 0

  constructor(redis: object, log: FastifyBaseLogger) {
    this.#redis = redis
    this.#log = log
    // With lazyConnect it waits for a first command, which is not sent before it is ready.
    if (this.#redis.status === 'wait') {
      this.#redis.connect?.().catch((error: unknown) => this.#report(error))
    }
  }

  /** Asks it. @returns null from one that fails, is slow or was slow a moment ago; that is reported */
  async ask<T>(question: () => Promise<T>): Promise<T | null> {
    const { status = 'ready' } = this.#redis
    const isReady = status === 'ready'
    if (isReady && this.#askAgainAt > 0) {
      if (performance.now() < this.#askAgainAt) return null
      // This question finds out whether it answers again. Others do not wait for that.
      this.#pause()
    }
    try {
      // A client that has lost its connection says so at once, and may be asked again as soon as it has one.
      if (!isReady) throw new Error(`the client of the store is not ready, but ${status}`)
      const late = (): Error => new NoAnswer(`no answer in ${patience} ms`)
      const answer = await withTimeout(question(), patience, late)
      this.#askAgainAt = 0
      return answer
    } catch (error) {
      if (error instanceof NoAnswer) this.#pause()
      else this.#askAgainAt = 0
      this.#report(error)
      return null
    }
  }

  #pause(): void {
    this.#askAgainAt = performance.now() + pause
  }

  #report(error: unknown): void {
    const kind = kindOf(error)
    if (!this.#isReportDue(kind)) return
    this.#log.error(
      { err: withoutCommand(error) },
      `The shared store of failed attempts does not answer as it should (${kind}); this process counts alone until it does`,
    )
  }
}

/** The word with which Redis begins its errors, as READONLY; of scripts it may stand after their name. */
function kindOf(error: unknown): string {
  if (error instanceof NoAnswer) return 'no answer in time'
  if (error instanceof TypeError) return 'a wrong answer'
  return (
    /(?:^|: -?)(?!ERR\b)([A-Z]{3,})\b/.exec(String((error as Error).message))?.[1] ?? 'no answer'
  )
}

/** The client adds the refused command, whose keys are made of names and addresses: not for the log. */
function withoutCommand(error: unknown): unknown {
  if (!(error instanceof Error && 'command' in error)) return error
  const { name, message } = error
  return Object.assign(new Error(message), { name })
}
