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

/** The results of a comparison, and how they compare with the one of the name given. */
export function resultsTable(results: readonly Result[], reference: string): string {
  const ours = results.find(({ variant }) => variant.name === reference)?.rate.median ?? NaN
  return table(
    [
      '',
      'share of its open route',
      'middle half',
      'requests per CPU second',
      'of the first',
      'others, cores',
    ],
    results.map(({ variant, ratio, rate, foreign }) => [
      variant.name,
      `**${share(ratio.median)}**`,
      shareRange(ratio),
      thousands(rate.median),
      share(rate.median / ours),
      foreign.toFixed(2),
    ]),
  )
}
