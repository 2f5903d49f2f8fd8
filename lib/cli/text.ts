import leven from 'leven'

/**
 * Characters that control a terminal, are invisible, or change the order in which others are shown: all control
 * and format characters of Unicode except the line break.
 */
const unsafe = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Escapes the unsafe characters of a text, so that it can be printed to a terminal. JSON stays the same value: there
 * these characters occur only in strings, where the escape means the same.
 */
export function printable(text: string): string {
  return text.toWellFormed().replace(unsafe, escaped)
}

/** Writes a character as in JSON: `\u` and four hexadecimal digits for each UTF-16 unit. */
function escaped(letter: string): string {
  return letter
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/** A value as JSON on one line. */
export function quoted(value: unknown): string {
  return JSON.stringify(value)
}

/** Quotes a word for a POSIX shell, so that nothing in it is expanded or run. */
export function shellWord(text: string): string {
  if (/^[\w./:@+-]+$/.test(text)) return text
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Writes a value for an env file. If it needs quotes, they are of a kind that the value does not contain. */
export function word(text: string): string {
  if (/^[\w./:\\@+-]+$/.test(text)) return text
  const quote = [`'`, '"', '`'].find((each) => !text.includes(each)) ?? ''
  return `${quote}${text}${quote}`
}

/** Rows of two columns. The first column is as wide as its longest text. */
export function columns(rows: readonly (readonly [string, string])[], indent = 2): string[] {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.map(([first, second]) =>
    `${' '.repeat(indent)}${first.padEnd(width)}  ${second}`.trimEnd(),
  )
}

/** Rows of any number of columns, each as wide as its longest text. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** `1 error`, `2 errors`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** The known word that is most similar to an unknown one; undefined when none is similar. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  // A longer word is not a typing error, and comparing it takes long.
  if (word.length > 64) return undefined
  const ranked = known
    .map((each) => ({ each, distance: leven(word.toLowerCase(), each.toLowerCase()) }))
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

/** ` Did you mean …?`, or `''` when no known word is similar. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? '' : ` Did you mean ${near}?`
}
