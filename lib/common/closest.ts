/** A sentence for the error about an unknown name, after a space; empty where no known name is close. */
export function didYouMean(name: string, known: readonly string[], prefix = ''): string {
  const [closest] = known
    .map((each) => ({ each, edits: distance(name.toLowerCase(), each.toLowerCase(), 4) }))
    .filter(({ each, edits }) => edits * 2 < Math.max(name.length, each.length))
    .toSorted((one, other) => one.edits - other.edits)
  return closest ? ` Did you mean "${prefix}${closest.each}"?` : ''
}

/** The Levenshtein distance of two names, or a higher number where it is more than `most`. */
function distance(one: string, other: string, most: number): number {
  if (one === '' || other === '' || most === 0) return one === other ? 0 : one.length + other.length
  const [rest, otherRest] = [one.slice(1), other.slice(1)]
  if (one[0] === other[0]) return distance(rest, otherRest, most)
  const added = Math.min(distance(one, otherRest, most - 1), distance(rest, other, most - 1))
  return 1 + Math.min(added, distance(rest, otherRest, most - 1))
}
