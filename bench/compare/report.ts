import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { cores } from '../support/pin.js'
import { ratiosTable, resultsTable } from './markdown.js'
import type { Pace } from './measure.js'
import { nodeVersions } from './nodes.js'
import { peerVersions } from './peers.js'
import type { Result } from './rounds.js'
import type { Group } from './variants.js'

const folder = new URL('../../bench/results/', import.meta.url)

/** A part of the report. */
export interface Section {
  readonly title: string
  readonly text: string
}

/** The machine in one line. */
function machine(): string {
  const all = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${all.length} × ${all[0]?.model.trim()}, ${memory} GiB, ${process.platform} ${release()}, Node ${nodeVersions().join(' and ')}`
}

const today = (): string => new Date().toISOString().slice(0, 10)

/** How it was measured, for those who read the numbers only. */
export function method(main: Pace, others: Pace): string {
  const lines = [
    `${today()}; ${machine()}.`,
    peerVersions().join(', ') + '.',
    `Rounds: ${main.rounds} for fastify-authn, ${others.rounds} for peers and scaling. In each round every variant has a turn in new processes: ${main.repeats} measurements (peers: ${others.repeats}) of ${main.seconds} s, each between two of the baseline, which is a process of its own. A share is the quotient of the two; tables show medians, with the interquartile range of all measurements. Rates are by the processor time of the server, with all of its threads.`,
    'The baseline is a Fastify that never loaded a plugin and gets the same headers, unless a row names another one after a colon.',
    cores === null
      ? 'Servers and load generator share the cores.'
      : 'The servers are kept on one core, the load generator on another, where it never idles.',
    'All verify the same token (unless said otherwise), look the same user up asynchronously, and send the same reply; all were seen to refuse forged, expired and unsigned tokens before.',
  ]
  return lines.join('\n\n')
}

const titles: Readonly<Record<Group, string>> = {
  bare: 'fastify-authn, share of a bare Fastify',
  peers: 'Peers with HS256, share of a bare Fastify',
  against: 'fastify-authn against another, in turn',
  scaling: 'Scaling with HS256, share of a bare Fastify',
}

/** The tables of the comparison. With --only there may be fewer. */
export function comparison(results: readonly Result[]): Section[] {
  return (Object.keys(titles) as Group[]).flatMap((group) => {
    const found = results.filter(({ variant }) => variant.group === group)
    const text = group === 'against' ? ratiosTable(found) : resultsTable(found)
    return found.length === 0 ? [] : [{ title: titles[group], text }]
  })
}

/** @returns where they are */
export function writeResults(sections: readonly Section[]): string {
  const parts = sections.map(({ title, text }) => `## ${title}\n\n${text}\n`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    new URL('results.md', folder),
    ['# Results of `npm run bench`\n', ...parts].join('\n'),
  )
  return 'bench/results/results.md'
}
