import type { UserService } from '../../types/user-service.js'

const learned = new WeakMap<object, StoredCosts>()

/**
 * The cost that the hashes of a user service have: an unknown user has to cost what the others cost.
 * It is the commonest of those seen lately, so that one login of one's own does not shift it.
 */
export class StoredCosts {
  readonly #counts = new Map<number, number>()
  #usual: number

  /** @param configured - the cost to start from */
  constructor(configured: number) {
    this.#usual = configured
  }

  /** What the hashes of a service have taught so far, in all of its uses. */
  static of(service: UserService, configured: number): StoredCosts {
    let costs = learned.get(service)
    if (costs === undefined) {
      costs = new StoredCosts(configured)
      learned.set(service, costs)
    }
    return costs
  }

  get usual(): number {
    return this.#usual
  }

  /** Takes note of the cost of a stored hash. */
  see(cost: number): void {
    const count = (this.#counts.get(cost) ?? 0) + 1
    this.#counts.set(cost, count)
    if (count >= (this.#counts.get(this.#usual) ?? 0)) this.#usual = cost
    if (count < 1000) return
    // Old ones fade, so that a raised cost is learned again.
    for (const [each, seen] of this.#counts) this.#counts.set(each, seen >> 1)
  }
}
