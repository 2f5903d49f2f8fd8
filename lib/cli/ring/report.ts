import { count, quoted, table } from '../text.js'
import { relative } from '../times.js'
import type { Outcome } from '../command.js'
import type { KeyFileEntry } from '../../../types/keys.js'
import { isPast, type Changed, type RingKey } from './rotation.js'

/** A key, whose name is not known where it cannot be opened. */
interface ShownKey {
  readonly entry: KeyFileEntry
  readonly kid: string | null
}

/** What is shown of a key: nothing that is secret. */
export function shownKey({ entry, kid }: ShownKey) {
  const { alg, state, since = null, until = null, legacy = false } = entry
  return { kid, alg, state, since, until, legacy }
}

/** What a command that has changed a ring says. */
export function outcomeOf(ring: string, changed: Changed, advice: readonly string[]): Outcome {
  const { keys, signs, verifies, made, gone } = changed
  const lines = [
    signs && `${name(signs)} signs from now on.`,
    verifies && `${name(verifies)} verifies until ${moment(verifies.entry.until as string)}.`,
    made && `${name(made)} is new, and signs after the next rotation.`,
    ...gone.map((key) => `${name(key)} is out of the ring.`),
  ]
  return {
    lines: lines.filter((line) => line !== null),
    json: {
      ring,
      sign: signs?.kid ?? null,
      verify: verifies?.kid ?? null,
      next: made?.kid ?? null,
      gone: gone.map(({ kid }) => kid),
      keys: keys.map(shownKey),
    },
    aside: [...unusedFiles(gone), ...advice],
  }
}

function name({ entry, kid }: RingKey): string {
  return `${entry.alg} ${kid}`
}

/** A time as a date and in words. */
export function moment(time: string): string {
  return `${time}, ${relative(Date.parse(time) / 1000, Date.now() / 1000)}`
}

/** Names the files of keys that have left the ring. They are not removed, since something else may use them. */
function unusedFiles(gone: readonly RingKey[]): string[] {
  const files = gone.flatMap(({ entry }) => [entry.private, entry.public]).filter(isPath)
  if (files.length === 0) return []
  return [`${count(files.length, 'key file')} may be deleted: ${files.map(quoted).join(', ')}`]
}

function isPath(key: string | undefined): key is string {
  return key !== undefined && !/-----\s*BEGIN/i.test(key)
}

const heading = ['kid', 'alg', 'state', 'since', 'until'] as const

/** The keys of a ring as a table. */
export function tableOf(keys: readonly ShownKey[], now: number): string[] {
  const rows = keys.map((key) => {
    const { kid, alg, state, since, until, legacy } = shownKey(key)
    const notes = [isPast(key.entry, now) ? '(past)' : '', legacy ? '(legacy)' : '']
    return [
      kid ?? '?',
      alg,
      state,
      since ?? '-',
      [until ?? '-', ...notes].filter(Boolean).join(' '),
    ]
  })
  return table([heading, ...rows])
}
