import { misuse, type Given, type Option } from '../command.js'
import { parseSpan } from '../times.js'

export const ringOption: Option = { value: 'file', text: 'the ring file' }

/**
 * @throws CliError when the option is missing
 */
export function ringFile(given: Given): string {
  return given.text('ring') ?? misuse('--ring is missing: which file holds the keys?')
}

/**
 * The seconds of an option, given as such or as a span such as `15m`.
 *
 * @throws CliError for any other text
 */
export function secondsOption(given: Given, name: string, standard: number): number {
  const text = given.text(name)
  if (text === undefined) return standard
  if (/^0[smhdw]?$/.test(text)) return 0
  return (
    parseSpan(text) ?? misuse(`option --${name}: expected seconds, or a span such as 15m, 8h, 7d.`)
  )
}
