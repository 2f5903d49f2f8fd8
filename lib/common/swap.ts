import { rejection } from '../errors/errors.js'

/** How often a change is tried, by default. Of many at once, some get a 503. */
const mostTries = 5

/**
 * Stores a change by compare-and-swap, which others may get in the way of.
 * @param attempt - reads, changes and stores; null if what is stored was changed meanwhile
 * @throws (rejects) ERR_AUTH_OVERLOADED after too many lost swaps
 */
export async function swap<T>(
  attempt: () => Promise<T | null>,
  cause: string,
  most = mostTries,
): Promise<T> {
  for (let left = most; left > 0; left -= 1) {
    const stored = await attempt()
    if (stored !== null) return stored
  }
  throw rejection('auth.overloaded', { retryAfter: 1, cause })
}
