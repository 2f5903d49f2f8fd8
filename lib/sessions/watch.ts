import type { Ends } from './ends.js'
import type { SessionStore } from '../../types/sessions.js'

/** Milliseconds until the store is asked again. */
const pause = 1000

/**
 * Has the store tell which sessions are ended; where it cannot be reached, again and again.
 *
 * @returns ends the attempts
 */
export function watchEnds(store: SessionStore, ends: Ends): () => void {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  function begin(): void {
    store.watch(ends).catch((error: unknown) => {
      ends.lost(error)
      if (!isOver) timer = setTimeout(begin, pause).unref()
    })
  }
  begin()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
