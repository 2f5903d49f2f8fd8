import { runsOf, type MakeStore, type StoreCase } from './bench.js'
import { revocationCases } from './revocations.js'
import { sessionCases } from './sessions.js'
import { swapCases } from './swaps.js'

/**
 * The tests that every store of sessions has to pass: the memory, Redis and PostgreSQL stores of this package, and
 * yours. They take about three seconds, and leave what they have written: give them a database of their own. They work
 * with every test runner, and one after the other as well as at once.
 *
 * @param make - makes the factory; see {@link MakeStore}
 *
 * @example
 * for (const { name, run } of sessionStoreSuite((prefix) => redisSessions(new Redis(url), { prefix }))) {
 *   test(name, () => run())
 * }
 */
export function sessionStoreSuite(make: MakeStore): readonly StoreCase[] {
  return runsOf(make, { ...sessionCases, ...swapCases, ...revocationCases })
}
