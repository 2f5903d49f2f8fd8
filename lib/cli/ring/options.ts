import { ringOf } from '../environment.js'
import { misuse, type Given, type Option } from '../command.js'
import { parseSpan } from '../times.js'
import type { Environment } from '../../options/environment.js'

export const ringOption: Option = { value: 'file', text: 'the ring file; default: AUTH_JWT_KEYS' }

/**
 * The path of the ring file.
 *
 * @throws CliError when neither the option nor the variable names one
 */
export function ringFile(given: Given, env: Environment): string {
  return (
    ringOf(given, env) ??
    misuse('--ring is missing, and AUTH_JWT_KEYS is not set: which file holds the keys?')
  )
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
