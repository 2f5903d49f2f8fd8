import { digestOf } from '../common/digest.js'
import { Counters } from '../throttle/counters.js'
import type { RedisCounters } from '../throttle/redis-counters.js'

/** Wrong codes of one request, and those of one address in a day. */
const [mostOfRequest, mostOfAddress] = [5, 30]

const day = 86_400

/**
 * Counts wrong codes, by request and by address, in this process and in Redis where the throttle has one. Other counters drop
 * their oldest counts when there are too many, so an attacker could guess at many addresses to have the count of one dropped.
 * This one rejects all codes then; links still work.
 */
export class CodeGuesses {
  readonly #counts = new Counters(day, true)

  /** @param path - of the route, which tells counts in Redis from those of other registrations */
  constructor(
    private readonly path: string,
    private readonly redis: Promise<RedisCounters | null>,
  ) {}

  /**
   * Counts a guess before it is checked, so that simultaneous ones do not exceed a limit.
   * @param seconds - for which the request works
   * @returns which limit is reached, or a function that takes the guess back
   */
  async count(id: string, email: string, seconds: number) {
    const request = `${this.path}:code:${id}`
    const address = `${this.path}:codes:${digestOf(email)}`
    const takeBack = async (...keys: string[]): Promise<void> => {
      for (const key of keys) {
        this.#counts.reward(key)
        await (await this.redis)?.reward(key)
      }
    }
    if ((await this.#add(request, seconds)) > mostOfRequest) {
      await takeBack(request)
      return { limit: 'request' } as const
    }
    if ((await this.#add(address, day)) > mostOfAddress) {
      await takeBack(request, address)
      return { limit: 'address' } as const
    }
    return { limit: null, takeBack: () => takeBack(request, address) } as const
  }

  async #add(key: string, seconds: number): Promise<number> {
    const here = this.#counts.penalty(key, seconds)
    const shared = await (await this.redis)?.penalty(key, seconds)
    return Math.max(here, shared?.consumedPoints ?? 0)
  }
}
