import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import { ABANDONED, isGone, onGone } from '../http/disconnect.js'
import { clientOf } from './throttle.js'

/** The look-ups of one client that run or wait. */
interface Line {
  running: number
  /** A set keeps the order, and allows removal from the middle. Called with an error, a request stops to wait. */
  readonly waiting: Set<(error?: unknown) => void>
}

const [maxRunning, maxWaiting] = [16, 1000]

/**
 * Limits how many look-ups of one client run at once. Whoever knows the form of a key can make up any number, and each
 * is a query: they would fill the connections of the store. The same goes for codes, which a provider looks up.
 */
export class Lookups {
  readonly #lines = new Map<string, Line>()
  #running = 0

  /** @param most - how many run at once for all addresses together */
  constructor(private readonly most = Infinity) {}

  /** @throws (rejects) ERR_AUTH_OVERLOADED where the line is full, or too many run; ABANDONED; what `work` throws */
  async run<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
    if (isGone(request)) throw ABANDONED
    const client = clientOf(request.ip)
    const line = this.#lines.get(client) ?? { running: 0, waiting: new Set() }
    if (line.running >= maxRunning) await wait(line, request)
    else if (this.#running >= this.most) throw rejection('auth.overloaded', { retryAfter: 1 })
    else this.#count(client, line, 1)
    try {
      // A connection is destroyed before it says so.
      if (isGone(request)) throw ABANDONED
      return await work()
    } catch (error) {
      // Without this, each in the line would wait for the time-outs of all before it.
      if (String((Object(error) as { code?: unknown }).code).endsWith('_UNAVAILABLE')) {
        for (const leave of line.waiting) leave(error)
      }
      throw error
    } finally {
      const [next] = line.waiting
      if (next !== undefined) next()
      else this.#count(client, line, -1)
    }
  }

  #count(client: string, line: Line, change: 1 | -1): void {
    this.#running += change
    line.running += change
    if (line.running === 0) this.#lines.delete(client)
    else this.#lines.set(client, line)
  }
}

function wait({ waiting }: Line, request: FastifyRequest): Promise<void> {
  if (waiting.size >= maxWaiting) throw rejection('auth.overloaded', { retryAfter: 1 })
  return new Promise((resolve, reject) => {
    const leave = (error?: unknown): void => {
      waiting.delete(leave)
      unwatch()
      return error === undefined ? resolve() : reject(error)
    }
    const unwatch = onGone(request, () => leave(ABANDONED))
    waiting.add(leave)
  })
}
