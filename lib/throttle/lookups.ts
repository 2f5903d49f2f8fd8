import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import { ABANDONED, isGone, onGone } from '../http/disconnect.js'
import { clientOf } from './throttle.js'

/** The look-ups of one client that run or wait. */
interface Line {
  readonly client: string
  running: number
  /** A set keeps the order, and allows removal from the middle. Called with an error, a request stops to wait. */
  readonly waiting: Set<(error?: unknown) => void>
}

const [maxRunning, maxWaiting] = [16, 1000]

const isUnavailable = (error: unknown): boolean =>
  /(?:STORE|PROVIDER)_UNAVAILABLE$/.test(String((Object(error) as { code?: unknown }).code))

export const overloaded = (): Error => rejection('auth.overloaded', { retryAfter: 1 })

/**
 * Limits how many look-ups of one client run at once. Whoever knows the form of a key can make up any number, and each
 * is a query: they would fill the connections of the store. The same goes for codes and tokens of providers.
 */
export class Lookups {
  readonly #lines = new Map<string, Line>()
  /** Lines in which a request may be next: they take turns, so that no client is served faster for having many. */
  readonly #turns = new Set<Line>()
  #running = 0

  /** @param most - how many run at once for all addresses together */
  constructor(private readonly most = Infinity) {}

  /**
   * @param isAway - whether an error of `work` means that those in the line would fail too
   * @throws (rejects) ERR_AUTH_OVERLOADED where the line is full; ABANDONED; what `work` throws
   */
  async run<T>(
    request: FastifyRequest,
    work: () => Promise<T>,
    isAway = isUnavailable,
  ): Promise<T> {
    if (isGone(request)) throw ABANDONED
    const client = clientOf(request.ip)
    const line = this.#lines.get(client) ?? { client, running: 0, waiting: new Set() }
    this.#lines.set(client, line)
    const isFull = line.running >= maxRunning || this.#running >= this.most
    this.#turns.add(line)
    if (isFull) await wait(line, request)
    else this.#count(line, 1)
    try {
      // A connection is destroyed before it says so.
      if (isGone(request)) throw ABANDONED
      return await work()
    } catch (error) {
      // Without this, each in the line would wait for the time-outs of all before it.
      if (isAway(error)) for (const leave of line.waiting) leave(error)
      throw error
    } finally {
      this.#count(line, -1)
      this.#letIn()
    }
  }

  #count(line: Line, change: 1 | -1): void {
    this.#running += change
    line.running += change
    this.#turns.add(line)
  }

  #letIn(): void {
    for (const line of this.#turns) {
      if (line.running >= maxRunning) continue
      this.#turns.delete(line)
      const [enter] = line.waiting
      if (enter !== undefined) {
        this.#count(line, 1)
        return enter()
      }
      if (line.running === 0) this.#lines.delete(line.client)
    }
  }
}

function wait({ waiting }: Line, request: FastifyRequest): Promise<void> {
  if (waiting.size >= maxWaiting) throw overloaded()
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
