import { randomInt } from 'node:crypto'
import { median } from '../support/report.js'
import { digest, tokenOf } from './fill.js'
import type { SessionStore } from '../../types/sessions.js'

/** What a refresh asks of a store, over sessions that are picked at random. */
export class Refreshes {
  readonly #store: SessionStore
  readonly #count: number
  readonly #generations: Uint32Array
  readonly #busy = new Set<number>()

  constructor(store: SessionStore, count: number) {
    this.#store = store
    this.#count = count
    this.#generations = new Uint32Array(count)
  }

  /** @returns how many there were in a second, with so many at once */
  async perSecond(seconds: number, atOnce: number): Promise<number> {
    const start = performance.now()
    let done = 0
    const worker = async (): Promise<void> => {
      while (performance.now() - start < seconds * 1000) {
        await this.#refresh()
        done += 1
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    return done / ((performance.now() - start) / 1000)
  }

  /** @returns the median of the milliseconds that one takes, one after the other */
  async milliseconds(seconds: number): Promise<number> {
    const start = performance.now()
    const times: number[] = []
    while (performance.now() - start < seconds * 1000) {
      const before = performance.now()
      await this.#refresh()
      times.push(performance.now() - before)
    }
    return median(times)
  }

  async #refresh(): Promise<void> {
    let index = randomInt(this.#count)
    while (this.#busy.has(index)) index = randomInt(this.#count)
    this.#busy.add(index)
    const generation = this.#generations[index] ?? 0
    const handle = digest(`handle ${index}`)
    const { session, now } = await this.#store.find(handle)
    const swapped = await this.#store.swap({
      handle,
      presented: tokenOf(index, generation),
      next: tokenOf(index, generation + 1),
      sealed: 's'.repeat(120),
      grace: 10,
      idle: 1_209_600,
      deadline: now + 5,
      revocationTtl: 600,
    })
    if (session === null || swapped.outcome !== 'swapped') {
      throw new Error(`session ${index}: ${swapped.outcome}`)
    }
    this.#generations[index] = generation + 1
    this.#busy.delete(index)
  }
}
