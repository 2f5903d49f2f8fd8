import { commonOptions } from './arguments.js'
import { columns } from './text.js'
import type { Argument, Command, Option } from './command.js'

const program = 'npx fastify-authn'

/** The text of `--help` without a command. */
export function overview(commands: Readonly<Record<string, Command>>): string[] {
  return [
    `Usage: ${program} <command> [options]`,
    '',
    'Commands:',
    ...columns(Object.entries(commands).map(([name, { summary }]) => [name, summary])),
    '',
    'Options:',
    ...columns([
      ['--help', 'print this help; after a command, the help of that'],
      ['--version', 'print the version'],
      ['--json', 'after a command: print its result as JSON'],
    ]),
    '',
    ...exitCodes(['done', 'the answer is no, there are findings, or it could not be done']),
  ]
}

/** The text of `--help` after a command. */
export function helpOf(name: string, command: Command): string[] {
  const { summary, details = [], examples, subcommands = {} } = command
  const places = [command.argument, command.second].filter((each) => each !== undefined)
  const others = Object.entries(subcommands)
  const options = Object.entries({ ...command.options, ...commonOptions })
  return [
    `Usage: ${program} ${[name, ...places.map(placeOf), '[options]'].join(' ')}`,
    '',
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...details,
    '',
    ...(places.length > 0
      ? [
          places.length > 1 ? 'Arguments:' : 'Argument:',
          ...columns(places.map((each) => [each.name, each.text])),
          '',
        ]
      : []),
    ...(others.length > 0
      ? ['Commands:', ...columns(others.map((other) => rowOf(name, other))), '']
      : []),
    'Options:',
    ...columns(options.map(([option, row]) => [nameOf(option, row), row.text])),
    '',
    'Examples:',
    ...examples.map((example) => `  ${example}`),
    '',
    ...exitCodes(command.exits),
  ]
}

function rowOf(name: string, [own, { summary }]: [string, Command]): [string, string] {
  return [`${name} ${own}`, summary]
}

function exitCodes([done, no]: Command['exits']): string[] {
  return [
    'Exit codes:',
    ...columns([
      ['0', done],
      ['1', no],
      ['2', 'wrong usage'],
      ['130', 'cancelled with Ctrl-C'],
    ]),
  ]
}

function placeOf({ name, required }: Argument): string {
  return required ? `<${name}>` : `[<${name}>]`
}

function nameOf(name: string, { value, multiple }: Option): string {
  return `--${name}${value === undefined ? '' : ` <${value}>`}${multiple === true ? ' …' : ''}`
}
