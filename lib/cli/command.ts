import { Command as Commander, type Argument, type Option } from 'commander'
import type { Readable, Writable } from 'node:stream'

export type Input = Readable & { isTTY?: boolean | undefined }

export interface Io {
  readonly stdin: Input
  readonly stdout: Writable
  readonly stderr: Writable
}

export const exits = {
  done: 0,
  /** The answer is no, something was found, or the command failed. */
  no: 1,
  usage: 2,
  /** The exit code that shells report for a program that Ctrl-C has stopped. */
  cancelled: 130,
} as const
export type Exit = (typeof exits)[keyof typeof exits]

export interface Outcome {
  /** Default: `exits.done`. */
  readonly exit?: Exit
  readonly lines: readonly string[]
  /** Printed in place of the lines with `--json`. */
  readonly json: object
  /** Lines for standard error, so that a script that reads standard output does not get them. */
  readonly aside?: readonly string[]
  /** Undoes work whose result could not be printed. @throws (rejects) CliError that says so */
  undo?(): Promise<never>
}

/** One command, or a group of commands. Options are parsed by commander. */
export interface Command<Options = object> {
  readonly name: string
  readonly summary: string
  /** More help, after the summary. */
  readonly details?: string
  readonly arguments?: readonly Argument[]
  readonly options?: readonly Option[]
  readonly examples: readonly string[]
  /** The meaning of the exit codes 0 and 1. */
  readonly exits: readonly [done: string, no: string]
  readonly subcommands?: readonly Command[]
  /** The usage error for any argument or unknown option, which may be a secret and is not quoted. */
  readonly noArguments?: string
  run?(options: Options, args: readonly string[], io: Io): Outcome | Promise<Outcome>
}

export interface CommonOptions {
  readonly env?: string
  readonly json?: boolean
}

/** Adds a command to its parent. @param execute - runs it when it was called, and prints the result */
export function addCommand(
  parent: Commander,
  command: Command,
  execute: (options: CommonOptions, work: (io: Io) => Outcome | Promise<Outcome>) => Promise<void>,
): void {
  const { name, summary, details, noArguments, subcommands = [], run } = command
  const sentence = `${summary[0]?.toUpperCase()}${summary.slice(1)}.`
  const added = parent
    .command(name)
    .summary(summary)
    .description(details === undefined ? sentence : `${sentence}\n${details}`)
    .addHelpText('after', helpAfter(command))
  for (const argument of command.arguments ?? []) added.addArgument(argument)
  for (const option of command.options ?? []) added.addOption(option)
  if (noArguments !== undefined) added.allowUnknownOption().allowExcessArguments()
  if (run !== undefined) {
    added.option('--json', 'print the result as JSON')
    added.action(async () => {
      if (noArguments !== undefined && added.args.length > 0) misuse(noArguments)
      await execute(added.opts(), (io) => run(added.opts(), added.args, io))
    })
  }
  for (const each of subcommands) addCommand(added, each, execute)
}

function helpAfter({ examples, exits: [done, no] }: Command): string {
  return `
Examples:
${examples.map((example) => `  ${example}`).join('\n')}

Exit codes:
  0  ${done}
  1  ${no}
  2  wrong usage`
}

/** Ends a command. The message must not contain a value that was given: it may be a secret. */
export class CliError extends Error {
  /** @param remedy - what to do about it; printed on a line of its own */
  constructor(
    readonly exit: Exit,
    message: string,
    readonly remedy?: string,
  ) {
    super(message)
  }
}

export function misuse(message: string, remedy?: string): never {
  throw new CliError(exits.usage, message, remedy)
}

export function fail(message: string, remedy?: string): never {
  throw new CliError(exits.no, message, remedy)
}
