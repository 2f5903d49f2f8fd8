const units = [
  ['year', 31_557_600],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** A number of seconds in words, in at most two units: `1 hour 5 minutes`. */
export function spanInWords(seconds: number): string {
  let rest = Math.floor(seconds)
  const parts: string[] = []
  const first = units.findIndex(([, size]) => rest >= size)
  if (first === -1) return 'less than a second'
  for (const [name, size] of units.slice(first, first + 2)) {
    const number = Math.floor(rest / size)
    rest -= number * size
    if (number > 0) parts.push(`${number} ${name}${number === 1 ? '' : 's'}`)
  }
  return parts.join(' ')
}

/** `3 minutes ago`, `in 2 days`. */
export function relative(seconds: number, now: number): string {
  const span = spanInWords(Math.abs(seconds - now))
  return seconds > now ? `in ${span}` : `${span} ago`
}

/** A NumericDate (RFC 7519 §2) as a date and in words; null for any other value. */
export function timeInWords(value: unknown, now: number): string | null {
  // The largest time that a Date can hold (ECMA-262, time values). The negation also catches NaN.
  if (typeof value !== 'number' || !(Math.abs(value) <= 8.64e12)) return null
  const date = new Date(value * 1000).toISOString().replace('.000Z', 'Z')
  return `${date}, ${relative(value, now)}`
}

const sizes: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  '': 1,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
})

/** The seconds in a span such as `900`, `15m`, `8h` or `7d`; null for any other text. */
export function parseSpan(text: string): number | null {
  const [, digits, unit = ''] = /^(\d{1,10})([smhdw]?)$/.exec(text) ?? []
  const seconds = Number(digits) * Number(sizes[unit])
  return seconds >= 1 && seconds < 2 ** 31 ? seconds : null
}

/** A time as it stands in a ring file, in whole seconds. */
export function timeText(milliseconds: number, round: (seconds: number) => number): string {
  return new Date(round(milliseconds / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
