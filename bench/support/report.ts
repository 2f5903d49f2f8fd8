/** The value that a share of all values stays below: `quantile(values, 0.99)`. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = NaN, high = NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return (low + high) / 2
}

/** Prints rows under a head, the first column to the left. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length)
    })
  }
  for (const row of rows) {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0
      return column === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    console.log(cells.join('  ').trimEnd())
  }
  console.log()
}

/** One thing that has to hold. */
export interface Target {
  readonly name: string
  readonly found: number
  readonly bound: number
  /** Whether the bound is the least or the most that may be found. */
  readonly kind: 'least' | 'most'
}

/** Prints which targets are met, and lets the process end with 1 when one is missed. */
export function judge(targets: readonly Target[]): void {
  const rows = targets.map(({ name, found, bound, kind }) => {
    const met = kind === 'least' ? found >= bound : found <= bound
    if (!met) process.exitCode = 1
    const sign = kind === 'least' ? '>=' : '<='
    return [name, found.toFixed(2), `${sign} ${bound.toFixed(2)}`, met ? 'pass' : 'FAIL']
  })
  printTable([['target', 'found', 'wanted', ''], ...rows])
}
