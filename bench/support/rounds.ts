import { quiet } from './machine.js'
import { runBare, runPhase } from './phase.js'
import type { Latencies, PhaseOptions, Sample, Variant } from './phase.js'
import { median, printTable, quantile, type Target } from './report.js'

type Kind = keyof Latencies
const kinds: readonly Kind[] = ['open', 'file', 'dns']

/** What all rounds together have shown of a variant. */
export interface Summary {
  readonly name: string
  /** Requests a second, median of the rounds. */
  readonly rate: number
  /** The same as a share of what bcrypt alone reached in the same round. */
  readonly share: number
  /** Of the probes of all rounds, in milliseconds. */
  readonly p50: Readonly<Record<Kind, number>>
  readonly p99: Readonly<Record<Kind, number>>
  /** How many cores other programs used, in the worst round. */
  readonly foreign: number
  readonly rss: number
  readonly refused: number
}

/** What one variant has shown in one round. */
type Round = Sample & { readonly share: number }

/** More foreign work than this, in cores, makes a phase worthless. */
const tolerable = 0.2

/** Runs bcrypt alone and every variant once a round; each round begins with another variant. */
export async function runRounds(
  variants: readonly Variant[],
  rounds: number,
  options: PhaseOptions,
): Promise<Summary[]> {
  const alone: Round[] = []
  const found = variants.map((): Round[] => [])
  for (let round = 0; round < rounds; round += 1) {
    process.stderr.write(`round ${round + 1} of ${rounds}\n`)
    const bare = await undisturbed(() => runBare(options), options)
    alone.push({ ...bare, share: 1 })
    for (let step = 0; step < variants.length; step += 1) {
      const index = (round + step) % variants.length
      const sample = await undisturbed(() => runPhase(variants[index] as Variant, options), options)
      found[index]?.push({ ...sample, share: sample.rate / bare.rate })
    }
  }
  return [
    summarize('bcrypt alone', alone),
    ...variants.map(({ name }, index) => summarize(name, found[index] ?? [])),
  ]
}

/**
 * Runs a phase, and again when others have disturbed it, as soon as they leave the cores alone; the last
 * one counts, whatever it is.
 */
export async function undisturbed<Found extends { readonly foreign: number | null }>(
  run: () => Promise<Found>,
  { retries }: Pick<PhaseOptions, 'retries'>,
): Promise<Found> {
  let found = await run()
  for (let retry = 0; retry < retries && (found.foreign ?? 0) > tolerable; retry += 1) {
    process.stderr.write(`again: others used ${found.foreign?.toFixed(2)} cores\n`)
    await quiet()
    found = await run()
  }
  return found
}

function summarize(name: string, rounds: readonly Round[]): Summary {
  const all = (kind: Kind): number[] => rounds.flatMap(({ latencies }) => latencies[kind])
  const [open, file, dns] = [all('open'), all('file'), all('dns')]
  const at = (share: number): Record<Kind, number> => ({
    open: quantile(open, share),
    file: quantile(file, share),
    dns: quantile(dns, share),
  })
  return {
    name,
    rate: median(rounds.map(({ rate }) => rate)),
    share: median(rounds.map(({ share }) => share)),
    p50: at(0.5),
    p99: at(0.99),
    foreign: Math.max(...rounds.map(({ foreign }) => foreign ?? NaN)),
    rss: median(rounds.map(({ rss }) => rss)),
    refused: rounds.reduce((sum, { refused }) => sum + refused, 0),
  }
}

/** One line a variant. */
export function printSummaries(summaries: readonly Summary[]): void {
  const number = (value: number, digits: number): string =>
    Number.isNaN(value) ? '-' : Number.isFinite(value) ? value.toFixed(digits) : 'none'
  printTable([
    [
      '',
      'requests/s',
      'of bcrypt alone',
      'refused',
      ...kinds.flatMap((kind) => [`${kind} p50`, 'p99 ms']),
      'server MiB',
      'others, cores',
    ],
    ...summaries.map(({ name, rate, share, p50, p99, rss, refused, foreign }) => [
      name,
      number(rate, 1),
      number(share, 3),
      String(refused),
      ...kinds.flatMap((kind) => [number(p50[kind], 2), number(p99[kind], 2)]),
      number(rss, 0),
      number(foreign, 2),
    ]),
  ])
}

/** What a flood must leave of the app, measured against the same app at rest. */
export function targetsOf(flood: Summary, idle: Summary): Target[] {
  const { name, share, p99 } = flood
  return [
    { name: `${name}: of bcrypt alone`, found: share, bound: 0.95, kind: 'least' },
    { name: `${name}: open p99`, found: p99.open, bound: 2 * idle.p99.open + 5, kind: 'most' },
    { name: `${name}: file p99`, found: p99.file, bound: 5 * idle.p99.file + 10, kind: 'most' },
    { name: `${name}: dns p99`, found: p99.dns, bound: 5 * idle.p99.dns + 10, kind: 'most' },
  ]
}
