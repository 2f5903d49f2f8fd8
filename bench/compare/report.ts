import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { cores } from '../support/pin.js'
import { resultsTable, share, shareRange, table } from './markdown.js'
import type { Pace } from './measure.js'
import { peerVersions } from './peers.js'
import type { Result } from './rounds.js'

const folder = new URL('../../bench/results/', import.meta.url)

/** A part of the report. */
export interface Section {
  readonly title: string
  readonly text: string
}

/** The machine in one line. */
export function machine(): string {
  const all = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${all.length} × ${all[0]?.model.trim()}, ${memory} GiB, ${process.platform} ${release()}, Node ${process.version}`
}

export const today = (): string => new Date().toISOString().slice(0, 10)

/** How it was measured, for those who read the numbers only. */
export function method({ rounds, repeats, seconds }: Pace): string {
  const lines = [
    `${today()}; ${machine()}.`,
    peerVersions().join(', ') + '.',
    `Rounds: ${rounds}, in which all variants have their turn, in new processes. Measurements in a turn: ${repeats}, of ${seconds} s. A measurement of a protected route stands between two of the unprotected route of the same app; a share is the quotient. Medians, with the middle half of all measurements. Rates are by the processor time of the server.`,
    cores === null
      ? 'Servers and load generator share the cores.'
      : 'The server is kept on one core, the load generator on another, where it never idles.',
    'All verify the same token (unless said otherwise), look the same user up asynchronously, and send the same reply; all were seen to refuse forged, expired and unsigned tokens before.',
    'Left out: goyave.dev/goyave/v5 (Go).',
  ]
  return lines.join('\n\n')
}

/** The tables of the comparison. */
export function comparison(results: readonly Result[]): Section[] {
  const of = (isShown: (result: Result) => boolean, first: string): string =>
    resultsTable(results.filter(isShown), first)
  const first = 'fastify-authn, HS256'
  const isPeer = ({ variant }: Result): boolean =>
    variant.name === first || ['peers', 'floor'].includes(variant.group)
  const isAsymmetric = ({ variant: { algorithm, group } }: Result): boolean =>
    algorithm !== 'HS256' && !['floor', 'against'].includes(group)
  return [
    { title: 'HS256, against peers', text: of(isPeer, first) },
    { title: 'Other algorithms', text: of(isAsymmetric, 'fastify-authn, RS256') },
    {
      title: 'fastify-authn against a peer, in turn',
      text: table(
        ['', 'times the requests per CPU second', 'middle half'],
        results
          .filter(({ variant }) => variant.group === 'against')
          .map(({ variant, ratio }) => [
            variant.name,
            `**${share(ratio.median)}**`,
            shareRange(ratio),
          ]),
      ),
    },
    {
      title: 'fastify-authn in all its ways',
      text: of(({ variant }) => variant.group === 'ours', first),
    },
  ]
}

/**
 * Writes tables and chart.
 *
 * @param name - of the files, without their endings
 * @returns where
 */
export function writeResults(name: string, sections: readonly Section[], svg: string): string {
  const parts = sections.map(({ title, text }) => `## ${title}\n\n${text}\n`)
  mkdirSync(folder, { recursive: true })
  const head = `# Results of \`npm run bench\`\n\n![Results](./${name}.svg)\n`
  writeFileSync(new URL(`${name}.md`, folder), [head, ...parts].join('\n'))
  writeFileSync(new URL(`${name}.svg`, folder), svg)
  return `bench/results/${name}.md`
}
