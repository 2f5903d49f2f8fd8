/** The start of another sentence for an error about an unknown name; empty where no known name is close. */
export function didYouMean(name: string, known: readonly string[], prefix = ''): string {
  const close = known
    .map((each) => ({ each, far: distance(name.toLowerCase(), each.toLowerCase()) }))
    .filter(({ each, far }) => far * 2 < Math.max(name.length, each.length))
    .toSorted((one, other) => one.far - other.far)
  return close[0] === undefined ? '' : ` Did you mean "${prefix}${close[0].each}"?`
}

/** How many letters have to be added, removed or replaced (Levenshtein). */
function distance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (const letter of one) {
    const row: number[] = []
    above.forEach((removed, column) => {
      const [replaced = Infinity, added = Infinity] = [above[column - 1], row[column - 1]]
      row.push(Math.min(removed + 1, added + 1, replaced + Number(letter !== other[column - 1])))
    })
    above = row
  }
  return above.at(-1) ?? 0
}
