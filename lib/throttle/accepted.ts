import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/**
 * Remembers which password was last accepted for a username and an address, as a digest under a random key of
 * this process. Thanks to it, failed guesses from an address do not lock out the user who knows the password.
 */
export class AcceptedPasswords {
  readonly #key = randomBytes(32)
  readonly #known: LRUCache<string, { readonly digest: string; readonly until: number }>
  readonly #ttl: number

  /**
   * @param max - how many passwords are kept
   * @param ttl - how long, in seconds
   */
  constructor({ max, ttl }: { readonly max: number; readonly ttl: number }) {
    this.#known = new LRUCache({ max })
    this.#ttl = ttl * 1000
  }

  add(username: string, password: string): void {
    const until = performance.now() + this.#ttl
    this.#known.set(username, { digest: this.#digest(password), until })
  }

  delete(username: string): void {
    this.#known.delete(username)
  }

  /** Whether this password was accepted last; null when no password is remembered. */
  matches(username: string, password: string): boolean | null {
    const known = this.#known.get(username)
    if (known === undefined || performance.now() >= known.until) return null
    return known.digest === this.#digest(password)
  }

  #digest(password: string): string {
    return createHmac('sha256', this.#key).update(password).digest('base64')
  }
}
