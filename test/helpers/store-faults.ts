import type { Test } from 'tap'
import type { StoreCase } from '../../lib/testing/index.js'

/** Runs a suite for stores against one with each fault: the case that is named has to find it. */
export async function everyFaultIsFound<Change>(
  t: Test,
  faulty: Readonly<Record<string, readonly [change: Change, caseName: RegExp]>>,
  suiteOf: (change: Change) => readonly StoreCase[],
): Promise<void> {
  const all = Object.entries(faulty).map(async ([fault, [change, caseName]]) => {
    const cases = suiteOf(change)
    const results = await Promise.allSettled(cases.map(({ run }) => run()))
    const failed = cases.filter((_, index) => results[index]?.status === 'rejected')
    t.ok(
      failed.some(({ name }) => caseName.test(name)),
      `${fault}: ${failed.map(({ name }) => name).join('; ')}`,
    )
  })
  await Promise.all(all)
}
