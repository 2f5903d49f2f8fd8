import { createRequire } from 'node:module'
import { isUsageError } from '../errors.js'
import { asksForHelp, parseArguments } from './arguments.js'
import { CliError, exits, misuse, type Command, type Exit, type Io } from './command.js'
import { commands } from './commands.js'
import { inVariables } from './environment.js'
import { helpOf, overview } from './help.js'
import { didYouMean, nearest, printable, quoted } from './text.js'
import type { Writable } from 'node:stream'

/**
 * Runs one command line.
 *
 * @param words - the words after the name of the program
 * @returns the exit code; it never throws
 */
export async function run(words: readonly string[], io: Io): Promise<Exit> {
  const called = calledBy(words)
  try {
    return await dispatch(called, words, io)
  } catch (error) {
    const { exit, message, remedy } = explain(error)
    const program = ['fastify-authn', ...(called?.names ?? [])].join(' ')
    const help = exit === exits.usage ? `See: npx ${program} --help` : undefined
    print(
      io.stderr,
      [`${program}: ${message}`, remedy, help].filter((line) => line !== undefined),
    )
    if (words.includes('--json')) {
      print(io.stdout, toJson({ ok: false, error: message, ...(remedy && { remedy }) }))
    }
    return exit
  }
}

/** A command, the one or two words that it was called by, and the words after them. */
interface Called {
  readonly names: readonly string[]
  readonly command: Command
  readonly rest: readonly string[]
}

function calledBy([name = '', ...rest]: readonly string[]): Called | null {
  const { [name]: command } = commands
  if (command === undefined) return null
  const [second = '', ...others] = rest
  const { subcommands = {} } = command
  return Object.hasOwn(subcommands, second)
    ? { names: [name, second], command: subcommands[second] as Command, rest: others }
    : { names: [name], command, rest }
}

async function dispatch(called: Called | null, words: readonly string[], io: Io): Promise<Exit> {
  const [name, ...topic] = words
  if (name === undefined) {
    print(io.stderr, overview(commands))
    return exits.usage
  }
  const general = generalOptions[name]
  if (general !== undefined) {
    print(io.stdout, general(topic))
    return exits.done
  }
  const { names, command, rest } = called ?? unknownCommand(name)
  if (asksForHelp(rest)) {
    print(io.stdout, helpOf(names.join(' '), command))
    return exits.done
  }
  checkSubcommand(names, command, rest)
  const given = parseArguments(rest, command)
  const { exit = exits.done, lines, json, aside = [] } = await command.run(given, io)
  print(io.stdout, given.flag('json') ? toJson({ ok: exit === exits.done, ...json }) : lines)
  print(io.stderr, aside)
  return exit
}

/** @throws CliError for a word that looks like the name of a subcommand, written wrong */
function checkSubcommand(
  names: readonly string[],
  { subcommands = {} }: Command,
  [word = '']: readonly string[],
): void {
  const near = nearest(word, Object.keys(subcommands))
  const known = near !== undefined && [...names, near].join(' ')
  if (known) misuse(`unknown command ${quoted([...names, word].join(' '))}. Did you mean ${known}?`)
}

/** Words that may be given in place of a command. */
const generalOptions: Readonly<Record<string, (topic: readonly string[]) => string[]>> =
  Object.assign(Object.create(null), {
    '--help': help,
    '-h': help,
    help,
    '--version': version,
    '-v': version,
  })

function help(topic: readonly string[]): string[] {
  if (topic[0] === undefined) return overview(commands)
  const { names, command } = calledBy(topic) ?? unknownCommand(topic[0])
  return helpOf(names.join(' '), command)
}

/** The version of this package. */
function version(): string[] {
  // Loaded by the package's own name, because the path differs between the sources and the build.
  const load = createRequire(import.meta.url)
  return [(load('fastify-authn/package.json') as { version: string }).version]
}

function unknownCommand(name: string): never {
  const kind = name.startsWith('-') ? 'option' : 'command'
  // A long word may be a token in the wrong place, and is not shown.
  const shown = name.length > 20 ? '' : ` ${quoted(name)}`
  return misuse(`unknown ${kind}${shown}.${didYouMean(name, Object.keys(commands))}`)
}

function explain(error: unknown): { exit: Exit; message: string; remedy?: string | undefined } {
  if (error instanceof CliError) return error
  if (isUsageError(error)) {
    return { exit: exits.no, message: inVariables(error.message) }
  }
  // The message is not shown, because it may contain a secret.
  const { name, code } = error as { name?: unknown; code?: unknown }
  return { exit: exits.no, message: `unexpected error (${String(code ?? name)}).` }
}

function toJson(value: object): string[] {
  return [JSON.stringify(value, null, 2)]
}

function print(stream: Writable, lines: readonly string[]): void {
  if (lines.length > 0) stream.write(`${printable(lines.join('\n'))}\n`)
}
