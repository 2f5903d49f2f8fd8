/**
 * Characters that a terminal acts on, or that are not seen, or change the order in which others are shown:
 * all control and format characters of Unicode but for the line break.
 */
const unsafe = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * A text that does nothing to a terminal. What it escapes can stand in JSON only within strings, where the
 * escape means the same.
 */
export function printable(text: string): string {
  return text.toWellFormed().replace(unsafe, escaped)
}

/** As JSON has it: one for each half of a pair. */
function escaped(letter: string): string {
  return letter
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/** A value as JSON, in one line. */
export function quoted(value: unknown): string {
  return JSON.stringify(value)
}

/** A word of a line to paste into a POSIX shell, which finds nothing in it to expand or to run. */
export function shellWord(text: string): string {
  if (/^[\w./:@+-]+$/.test(text)) return text
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** A value for an env file: in quotes that it does not hold itself, where it needs any. */
export function word(text: string): string {
  if (/^[\w./:\\@+-]+$/.test(text)) return text
  const quote = [`'`, '"', '`'].find((each) => !text.includes(each)) ?? ''
  return `${quote}${text}${quote}`
}

/** Rows of two columns, the first as wide as its widest. */
export function columns(rows: readonly (readonly [string, string])[], indent = 2): string[] {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.map(([first, second]) =>
    `${' '.repeat(indent)}${first.padEnd(width)}  ${second}`.trimEnd(),
  )
}

/** `1 error`, `2 errors`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** The known word that is nearest to one that is not known, if any is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  // What is that long is no slip of the fingers, and would take long to compare.
  if (word.length > 64) return undefined
  const ranked = known
    .map((each) => ({ each, distance: distanceOf(word.toLowerCase(), each.toLowerCase()) }))
    .filter(
      ({ each, distance }) =>
        distance <= Math.max(1, Math.floor(each.length / 3)) || startsAlike(word, each),
    )
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.each
}

function startsAlike(word: string, known: string): boolean {
  return word.length >= 3 && known.toLowerCase().startsWith(word.toLowerCase())
}

/** Insertions, deletions and substitutions between two words (Levenshtein). */
function distanceOf(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let at = 1; at <= b.length; at++) {
      const [diagonal, over, before] = [above[at - 1], above[at], line[at - 1]].map(Number)
      const same = a[row - 1] === b[at - 1] ? 0 : 1
      line.push(Math.min(Number(diagonal) + same, Number(over) + 1, Number(before) + 1))
    }
    above = line
  }
  return Number(above.at(-1))
}

/** ` Did you mean …?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? '' : ` Did you mean ${near}?`
}
