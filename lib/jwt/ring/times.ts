/** A time of RFC 3339, which is ISO 8601 with a zone; the seconds may be left out. */
const pattern =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Milliseconds since 1970 of a time in ISO 8601 with a zone; null for every other text. */
export function timeOf(text: string): number | null {
  const [, year, month, day] = (pattern.exec(text) ?? []).map(Number)
  if (year === undefined || month === undefined) return null
  // Date.parse would make 2 March of 30 February.
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? Date.parse(text) : null
}
