import { parseArgs } from 'node:util'

/**
 * Reads flags such as `--seconds 6`: numbers, with their defaults.
 *
 * @param args - default: those of the command line
 * @throws on a flag that is not there, and on what is no positive number
 */
export function numberFlags<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
  args: readonly string[] = process.argv.slice(2),
): Record<Name, number> {
  const names = Object.keys(defaults) as Name[]
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
  })
  const flags: Record<Name, number> = { ...defaults }
  for (const name of names) {
    const given = values[name]
    if (given === undefined) continue
    const value = Number(given)
    if (!(value > 0)) throw new TypeError(`--${name}: found ${given}, expected a positive number`)
    flags[name] = value
  }
  return flags
}
