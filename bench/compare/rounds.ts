import { Child } from '../support/child.js'
import { pin } from '../support/pin.js'
import { median, quantile } from '../support/report.js'
import { undisturbed } from '../support/machine.js'
import { takeTurn, type Pace, type Turn } from './measure.js'
import type { Variant } from './variants.js'

/** A median with its interquartile range. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** What all turns of a variant have shown; rates are requests a second of processor time. */
export interface Result {
  readonly variant: Variant
  readonly rate: Spread
  /** Each rate as a share of that of the baseline. */
  readonly ratio: Spread
  /** The most cores that others used in a turn. */
  readonly foreign: number
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) }
}

/** Starts the load generator, on its core. */
export async function startLoad(connections: number): Promise<Child> {
  const load = await Child.start('load', { connections })
  pin(load.pid, 'load')
  return load
}

/** Gives every variant one turn a round; each round begins with another one. */
export async function runRounds(
  variants: readonly Variant[],
  load: Child,
  pace: Pace & { readonly retries: number },
): Promise<Result[]> {
  const turns = variants.map((): Turn[] => [])
  for (let round = 0; round < pace.rounds; round += 1) {
    const first = Math.floor((round * variants.length) / pace.rounds)
    for (let step = 0; step < variants.length; step += 1) {
      const index = (first + step) % variants.length
      const variant = variants[index] as Variant
      process.stderr.write(`round ${round + 1} of ${pace.rounds}: ${variant.name}\n`)
      turns[index]?.push(await undisturbed(() => takeTurn(variant, load, pace), pace))
    }
  }
  return variants.map((variant, index) => summarize(variant, turns[index] ?? []))
}

function summarize(variant: Variant, turns: readonly Turn[]): Result {
  return {
    variant,
    rate: spreadOf(turns.flatMap((turn) => turn.protected)),
    ratio: spreadOf(turns.flatMap(({ ratios }) => ratios)),
    foreign: Math.max(...turns.map(({ foreign }) => foreign ?? NaN)),
  }
}
