/** Characters that control a terminal, are invisible or reorder others: all of Unicode's, but for the line break. */
const unsafe = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Escapes the unsafe characters of a string, so that a token cannot control the terminal that it is printed to. JSON stays
 * the same value: there these characters occur only in strings, where the escape means the same.
 */
export function printable(text: string): string {
  // JSON writes a character beyond U+FFFF as two escapes of four hexadecimal digits.
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.toWellFormed().replace(unsafe, (letter) => letter.split('').map(escaped).join(''))
}

export function quoted(value: unknown): string {
  return JSON.stringify(value)
}

/** Rows of any number of columns, each as wide as its longest text. */
export function table(rows: readonly (readonly string[])[], indent = ''): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => String(row[at]).length)),
  )
  return rows.map((row) =>
    `${indent}${row.map((text, at) => text.padEnd(Number(widths[at]))).join('  ')}`.trimEnd(),
  )
}

/** `1 session`, `2 sessions`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

const units = Object.entries({ year: 31_557_600, day: 86_400, hour: 3600, minute: 60 })
const inWords = new Intl.RelativeTimeFormat('en')

/** Seconds since 1970 in relation to now: `3 minutes ago`, `in 2 days`. */
export function relative(seconds: number): string {
  const span = seconds - Date.now() / 1000
  const [unit, size] = units.find(([, size]) => Math.abs(span) >= size) ?? ['second', 1]
  return inWords.format(Math.trunc(span / size), unit as Intl.RelativeTimeFormatUnit)
}

/** A time in whole seconds, as a key set file has it. */
export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z')
}
