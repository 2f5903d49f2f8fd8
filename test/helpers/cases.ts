import { integer } from 'fast-check'

/**
 * How many generated cases a property is tried with: what it needs to find the fault that it was written for, times
 * the environment variable TEST_CASES. `TEST_CASES=20 npm test` looks longer.
 */
export const cases = (count: number): number =>
  Math.ceil(count * Number(process.env.TEST_CASES ?? 1))

/** For fast-check: so many runs, but never for longer than this. A failure reports its seed and path. */
export const bounded = (numRuns: number): { numRuns: number; interruptAfterTimeLimit: number } => ({
  numRuns: cases(numRuns),
  interruptAfterTimeLimit: 20_000 * cases(1),
})

/** Any character but halves of pairs. fast-check's own `binary` makes a table of all 1.1 million of them first. */
export const anyCharacter = integer({ min: 0, max: 0x10_ffff - 0x800 }).map((code) =>
  String.fromCodePoint(code < 0xd800 ? code : code + 0x800),
)
