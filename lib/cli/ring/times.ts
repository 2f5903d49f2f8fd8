/** A time as it stands in a ring file, in whole seconds. */
export function timeText(milliseconds: number, round: (seconds: number) => number): string {
  return new Date(round(milliseconds / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
