import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/**
 * Remembers which password was last accepted for a username and an address, as a digest under a random key of
 * this process. Thanks to it, failed guesses from an address do not lock out the user who knows the password.
 */
export class AcceptedPasswords {
  readonly #key = randomBytes(32)
  /** Digests of passwords. */
  readonly #known: LRUCache<string, string>

  /**
   * @param max - how many passwords are kept
   * @param ttl - how long, in seconds
   */
  constructor({ max, ttl }: { readonly max: number; readonly ttl: number }) {
    // With a resolution of 0 it starts no timers.
    this.#known = new LRUCache({ max, ttl: Math.ceil(ttl * 1000), ttlResolution: 0 })
  }

  add(username: string, password: string): void {
    this.#known.set(username, this.#digest(password))
  }

  delete(username: string): void {
    this.#known.delete(username)
  }

  /** Whether this password was accepted last; null when no password is remembered. */
  matches(username: string, password: string): boolean | null {
    const known = this.#known.get(username)
    return known === undefined ? null : known === this.#digest(password)
  }

  #digest(password: string): string {
    return createHmac('sha256', this.#key).update(password).digest('base64')
  }
}
