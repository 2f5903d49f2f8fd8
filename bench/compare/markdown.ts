import type { Result, Spread } from './rounds.js'

/** A table in Markdown; all columns but the first are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

export const share = (value: number): string => value.toFixed(2)

const ratioCells = ({ median, low, high }: Spread): string[] => [
  `**${share(median)}**`,
  `${share(low)}–${share(high)}`,
]

/** The results of a comparison. */
export function resultsTable(results: readonly Result[]): string {
  return table(
    ['', 'share', 'interquartile range', 'requests per CPU second', 'others, cores'],
    results.map(({ variant, ratio, rate, foreign }) => [
      variant.name,
      ...ratioCells(ratio),
      Math.round(rate.median).toLocaleString('en-US'),
      foreign.toFixed(2),
    ]),
  )
}

/** The same, where the rates of both sides differ from pair to pair. */
export function ratiosTable(results: readonly Result[]): string {
  return table(
    ['', 'times the requests per CPU second', 'interquartile range'],
    results.map(({ variant, ratio }) => [variant.name, ...ratioCells(ratio)]),
  )
}
