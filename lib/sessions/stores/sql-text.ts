/** What PostgreSQL does not take in a text, or would change: NUL, and halves of surrogate pairs. */
const untakeable = /\0|\p{Surrogate}/u
/** What begins a text that is kept as JSON. */
const mark = 'json:'

/** A text as it is kept: nearly always as it is, so that people can read it in the table. */
export function toColumn(text: string): string {
  return untakeable.test(text) || text.startsWith(mark) ? mark + JSON.stringify(text) : text
}

/** The text that {@link toColumn} was given. */
export function fromColumn(column: string): string {
  return column.startsWith(mark) ? (JSON.parse(column.slice(mark.length)) as string) : column
}
