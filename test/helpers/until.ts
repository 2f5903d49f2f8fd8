import { setTimeout as later } from 'node:timers/promises'

/** What the clock says, whatever a test sets in its place later. */
export const realNow = performance.now.bind(performance)

/** Waits for something that must come; how soon does not matter. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const limit = realNow() + 30_000
  while (!(await condition())) {
    if (realNow() > limit) throw new Error(`waited in vain until ${what}`)
    await later(1)
  }
}
