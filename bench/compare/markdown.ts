import type { Result, Spread } from './rounds.js'

/** A table in Markdown; all columns but the first are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

export const thousands = (value: number): string => Math.round(value).toLocaleString('en-US')

export const share = (value: number): string => value.toFixed(2)

export function shareRange({ low, high }: Spread): string {
  return `${share(low)}–${share(high)}`
}

/** The results of a comparison. */
export function resultsTable(results: readonly Result[]): string {
  return table(
    ['', 'share', 'middle half', 'requests per CPU second', 'others, cores'],
    results.map(({ variant, ratio, rate, foreign }) => [
      variant.name,
      `**${share(ratio.median)}**`,
      shareRange(ratio),
      thousands(rate.median),
      foreign.toFixed(2),
    ]),
  )
}
