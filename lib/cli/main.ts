import { createRequire } from 'node:module'
import { Command as Commander, CommanderError } from 'commander'
import { isUsageError } from '../errors/errors.js'
import { addCommand, CliError, exits, type Command, type Exit, type Io } from './command.js'
import { apiKeys } from './commands/api-keys.js'
import { doctor } from './commands/doctor.js'
import { hash } from './commands/hash.js'
import { inspect } from './commands/inspect.js'
import { keys } from './commands/keys.js'
import { schema } from './commands/schema.js'
import { secret } from './commands/secret.js'
import { sessions } from './commands/sessions.js'
import { token } from './commands/token.js'
import { users } from './commands/users.js'
import { inVariables, loadEnvironment } from './environment.js'
import { printable } from './text.js'
import type { Writable } from 'node:stream'

/** Every command, in the order of the help. */
export const commands: Command[] = [
  secret,
  keys,
  hash,
  token,
  inspect,
  schema,
  users,
  sessions,
  apiKeys,
  doctor,
]

/** The parts of `process` that the program uses besides `process.env`. */
export interface Process extends Io {
  readonly argv: readonly string[]
  exitCode?: number | string | null | undefined
}

/** Runs the program `fastify-authn`. It sets the exit code and does not call `exit()`, so that all output is written. */
export async function main(process: Process): Promise<void> {
  const { argv, stdout, stderr } = process
  let isBroken = false
  stderr.on('error', () => undefined)
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has closed the pipe, as `| head` does: that is not an error.
    if (error.code === 'EPIPE') return
    isBroken = true
    process.exitCode = exits.no
    stderr.write(`fastify-authn: standard output cannot be written (${error.code}).\n`)
  })
  const exit = await run(argv.slice(2), process)
  process.exitCode = isBroken ? exits.no : exit
}

/** Runs one command line. It never throws. @param words - the words after the name of the program */
export async function run(words: readonly string[], io: Io): Promise<Exit> {
  let exit: Exit = exits.done
  const program = new Commander('npx fastify-authn')
    .description('Keys, hashes and tokens for apps that use fastify-authn.')
    .version(version(), '-v, --version')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: () => undefined,
    })
  for (const command of commands) {
    addCommand(program, command, async (options, work) => {
      if (options.env !== undefined) await loadEnvironment(options.env)
      const { lines, json, aside = [], exit: asked = exits.done, undo } = await work(io)
      exit = asked
      const shown = options.json ? toJson({ ok: exit === exits.done, ...json }) : lines
      const failure = new Promise<unknown>((resolve) => print(io.stdout, shown, resolve))
      print(io.stderr, aside)
      if (undo && (await failure)) await undo()
    })
  }
  try {
    await program.parseAsync([...words], { from: 'user' })
    return exit
  } catch (error) {
    return report(error, words, io)
  }
}

function report(error: unknown, words: readonly string[], io: Io): Exit {
  if (error instanceof CommanderError && error.exitCode === 0) return exits.done
  // The help was printed to standard error, because no command was given.
  if (error instanceof CommanderError && error.code === 'commander.help') return exits.usage
  const { exit, message, remedy } = explain(error)
  const help = ['See: npx fastify-authn', ...namesIn(words), '--help'].join(' ')
  const more = [remedy ?? [], exit === exits.usage ? help : []].flat()
  print(io.stderr, [`fastify-authn: ${message}`, ...more])
  if (words.includes('--json')) print(io.stdout, toJson({ ok: false, error: message, remedy }))
  return exit
}

/** The names of the command and the subcommand that were called, as far as there are such. */
function namesIn([first, second]: readonly string[]): string[] {
  const command = commands.find(({ name }) => name === first)
  const nested = command?.subcommands?.find(({ name }) => name === second)
  return [command, nested].flatMap((each) => each?.name ?? [])
}

function explain(error: unknown): Pick<CliError, 'exit' | 'message' | 'remedy'> {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) {
    // A long word may be a token in the wrong place.
    const message = error.message.replace(/^error: /, '').replaceAll(/'[^']{40,}'/g, '(not shown)')
    return { exit: exits.usage, message }
  }
  if (isUsageError(error)) return { exit: exits.no, message: inVariables(error.message) }
  // The message is not shown, because it may contain a secret.
  const { name, code } = error as { name?: unknown; code?: unknown }
  return { exit: exits.no, message: `unexpected error (${String(code ?? name)}).` }
}

function version(): string {
  // Loaded by the package's own name, because the path differs between the sources and the build.
  const load = createRequire(import.meta.url)
  return (load('fastify-authn/package.json') as { version: string }).version
}

function toJson(value: object): string[] {
  return [JSON.stringify(value, null, 2)]
}

function print(stream: Writable, lines: readonly string[], done?: (error: unknown) => void): void {
  if (lines.length > 0) stream.write(`${printable(lines.join('\n'))}\n`, done)
}
