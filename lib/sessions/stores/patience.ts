import { within } from '../../common/timeout.js'

/** A store that takes longer than this counts as away, in milliseconds. */
const patience = 2000

/**
 * Asks a store, but does not wait for ever: clients that have lost their connection may keep a command for as long as
 * they please. What is late is not cancelled, which is why a swap carries a deadline.
 *
 * @param name - of the store, for the error
 */
export function inTime<T>(name: string, question: () => Promise<T>): Promise<T> {
  return within(patience, question(), () => new Error(`${name}: no answer in ${patience} ms`))
}
