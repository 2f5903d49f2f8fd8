import { relative, table } from '../text.js'
import { isPast, type Changed, type SetKey } from './rotation.js'
import type { Outcome } from '../command.js'

/** What is shown of a key: nothing that is secret. */
export function shownKey({ entry, kid }: SetKey) {
  const { alg, state, since = null, until = null, legacy = false } = entry
  return { kid, alg, state, since, until, legacy }
}

export function tableOf(keys: readonly SetKey[]): string[] {
  const rows = keys.map((key) => {
    const { kid, alg, state, since, until, legacy } = shownKey(key)
    const notes = [isPast(key.entry) ? '(past)' : '', legacy ? '(legacy)' : '']
    return [kid, alg, state, since ?? '-', [until ?? '-', ...notes].filter(Boolean).join(' ')]
  })
  return table([['kid', 'alg', 'state', 'since', 'until'], ...rows])
}

/** What a command that has changed a key set says. */
export function outcomeOf(keySet: string, changed: Changed, advice: readonly string[]): Outcome {
  const { keys, signs, verifies, made, removed } = changed
  const until = verifies?.entry.until ?? ''
  const name = ({ entry, kid }: SetKey): string => `${entry.alg} ${kid}`
  return {
    lines: [
      signs && `${name(signs)} signs from now on.`,
      verifies &&
        `${name(verifies)} verifies until ${until}, ${relative(Date.parse(until) / 1000)}.`,
      made && `${name(made)} is new, and signs after the next rotation.`,
      ...removed.map((key) => `${name(key)} is removed.`),
    ].filter((line) => line !== undefined),
    json: {
      keySet,
      sign: signs?.kid ?? null,
      verify: verifies?.kid ?? null,
      next: made?.kid ?? null,
      removed: removed.map(({ kid }) => kid),
      keys: keys.map(shownKey),
    },
    aside: advice,
  }
}
