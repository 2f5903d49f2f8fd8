import { Counters } from './counters.js'
import type { RedisCounters } from './redis-counters.js'

/** The ways to confirm that it is the user of a session whose wrong tries are counted. */
export type Guessed = 'password' | 'code' | 'passkey' | 'mail'

const all: readonly Guessed[] = ['password', 'code', 'passkey', 'mail']

/** Seconds for which they are counted, from the first one on: sessions end after 30 days by default. */
const lifetime = 2_592_000

const keyOf = (sid: string, kind: Guessed): string => `guesses-${kind}:${sid}`

/**
 * Counts wrong passwords, passkeys and codes of a session, whatever its address: also without the option `throttle`, since
 * a copied session must not be a way to guess.
 */
export class SessionGuesses {
  private readonly memory = new Counters(lifetime)

  constructor(private readonly redis: RedisCounters | null) {}

  /** Counts one in advance: simultaneous guesses must not exceed the limit. @returns how many of all kinds there are */
  async count(sid: string, kind: Guessed): Promise<number> {
    const { memory, redis } = this
    memory.penalty(keyOf(sid, kind))
    const here = sumOf(all.map((each) => memory.get(keyOf(sid, each))))
    if (redis === null) return here
    const asked = all.map((each) => {
      const key = keyOf(sid, each)
      return each === kind ? redis.penalty(key, lifetime) : redis.get(key)
    })
    const counted = await Promise.all(asked)
    // Redis knows where another process has reset a count.
    return counted[all.indexOf(kind)] === null ? here : sumOf(counted)
  }

  /** Remembers that the fifth was wrong, until the session is revoked. */
  end(sid: string): void {
    this.memory.set(`guesses-over:${sid}`, 1, lifetime * 1000)
  }

  isOver(sid: string): boolean {
    return this.memory.get(`guesses-over:${sid}`) !== null
  }

  /** Counts the wrong guesses of a session for the one that replaces it. */
  async carry(from: string, to: string): Promise<void> {
    const { memory, redis } = this
    for (const kind of all) {
      const counted = redis ? await redis.get(keyOf(from, kind)) : memory.get(keyOf(from, kind))
      for (let left = sumOf([counted]); left > 0; left -= 1) await this.count(to, kind)
    }
  }

  /** Takes back what was counted in advance and was no guess, such as a code that was sent twice. */
  async takeBack(sid: string, kind: Guessed): Promise<void> {
    this.memory.reward(keyOf(sid, kind))
    await this.redis?.reward(keyOf(sid, kind))
  }

  async forget(sid: string, kind: Guessed): Promise<void> {
    this.memory.delete(keyOf(sid, kind))
    await this.redis?.delete(keyOf(sid, kind))
  }
}

const sumOf = (counts: readonly ({ readonly consumedPoints: number } | null)[]): number =>
  counts.reduce((sum, each) => sum + (each?.consumedPoints ?? 0), 0)
