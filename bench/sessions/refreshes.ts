import { randomInt } from 'node:crypto'
import { digest, tokenOf } from './fill.js'
import type { SessionStore } from '../../types/sessions.js'

/** What a refresh asks of a store, over sessions that are picked at random. */
export function refreshes(store: SessionStore, count: number): () => Promise<void> {
  const generations = new Uint32Array(count)
  const busy = new Set<number>()
  return async () => {
    let index = randomInt(count)
    while (busy.has(index)) index = randomInt(count)
    busy.add(index)
    const generation = generations[index] ?? 0
    const handle = digest(`handle ${index}`)
    const { session, now } = await store.find(handle)
    const swapped = await store.swap({
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
    generations[index] = generation + 1
    busy.delete(index)
  }
}
