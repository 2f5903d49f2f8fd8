import { AssertionError } from 'node:assert'

/** A case that did not end as it should have. */
export interface AttackProblem {
  /** The request that was sent, in words. */
  readonly case: string
  /** The status of the response; null when none came. */
  readonly status: number | null
  /** The reason why that is a problem. */
  readonly why: string
}

/** The result of `authAttacks` or `accountAttacks`. */
export class AttackReport {
  /** How many cases were sent. */
  cases = 0
  /** Cases that did not end as they should, or could not be checked; empty when all is well. */
  readonly problems: AttackProblem[] = []
  /** The cases that were not sent, and why. */
  readonly leftOut: string[] = []
  readonly #title: string

  constructor(target: string, caller = 'authAttacks') {
    this.#title = `${caller} ${target}`
  }

  /** Throws when there are problems. @throws AssertionError that lists the problems */
  assert(): void {
    if (this.problems.length === 0) return
    throw new AssertionError({ message: String(this), actual: this.problems, expected: [] })
  }

  /** The report as text, one line for each problem. */
  toString(): string {
    const { cases, problems, leftOut } = this
    return [
      `${this.#title}: ${cases} cases, ${problems.length} problems`,
      ...problems.map(({ case: name, status, why }) => `  ${status ?? '---'}  ${name}: ${why}`),
      ...leftOut.map((each) => `  left out: ${each}`),
    ].join('\n')
  }
}

/** @returns why a status is a problem, if it is; of the statuses that are rejections, the expected one is the first */
export function statusProblemOf(
  status: number | null,
  rejections: readonly number[],
): string | undefined {
  if (status === null) return 'no answer'
  if (rejections.includes(status)) return undefined
  if (status >= 500) return 'an internal error, which no request may cause'
  if (status === 429)
    return 'throttled, so that it proves nothing: switch rate limits off in this test'
  if (status < 400) return 'let through'
  if (status === 401) return `expected ${rejections[0]}; the credentials themselves were rejected`
  return `expected ${rejections[0]}; the credentials were accepted, and the handler has answered`
}
