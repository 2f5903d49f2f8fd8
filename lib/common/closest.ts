/** A sentence for the error about an unknown name, after a space; empty where no known name is close. */
export function didYouMean(name: string, known: readonly string[], prefix = ''): string {
  const isClose = (each: string, edits: number): boolean =>
    edits * 2 < Math.max(name.length, each.length) &&
    isNear(name.toLowerCase(), each.toLowerCase(), edits)
  const [closest] = [0, 1, 2, 3, 4].flatMap((edits) => known.filter((each) => isClose(each, edits)))
  return closest === undefined ? '' : ` Did you mean "${prefix}${closest}"?`
}

/** Whether at most so many letters have to be added, removed or replaced (Levenshtein). */
function isNear(one: string, other: string, edits: number): boolean {
  if (one === '' || other === '') return one.length + other.length <= edits
  const [rest, otherRest] = [one.slice(1), other.slice(1)]
  if (one[0] === other[0]) return isNear(rest, otherRest, edits)
  if (edits === 0) return false
  return (
    [rest, one].some((each) => isNear(each, otherRest, edits - 1)) || isNear(rest, other, edits - 1)
  )
}
