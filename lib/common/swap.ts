import { rejection } from '../errors/errors.js'

/** How often a change is tried, by default. Of many at once, some get a 503. */
const mostTries = 5

/**
 * Stores a change by compare-and-swap, which others may get in the way of.
 * @param attempt - reads, changes and stores; null if what is stored was changed meanwhile
 * @param name - of the function of the app that stores
 * @throws (rejects) ERR_AUTH_OVERLOADED after too many lost swaps
 */
export async function swap<T>(attempt: () => Promise<T | null>, name: string, most = mostTries) {
  for (let left = most; left > 0; left -= 1) {
    const stored = await attempt()
    if (stored !== null) return stored
  }
  const cause = `${name}() returned ${most} times that nothing was stored: it has to compare with "before", null too (in SQL by "is not distinct from" and not by "="), and to return whether it has stored "after". Or too many requests came at once`
  throw rejection('auth.overloaded', { retryAfter: 1, cause })
}
