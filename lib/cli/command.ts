import type { Readable, Writable } from 'node:stream'
import type { Environment } from '../config.js'

/** Standard input: a file, a pipe, or a terminal. */
export interface Input extends Readable {
  isTTY?: boolean | undefined
  setRawMode?(raw: boolean): unknown
}

/** What a command may touch of its process. */
export interface Io {
  readonly stdin: Input
  readonly stdout: Writable
  readonly stderr: Writable
  readonly env: Environment
}

/** What a command ends with. */
export const exits = {
  done: 0,
  /** The answer is no, there are findings, or it could not be done. */
  no: 1,
  usage: 2,
  /** As shells have it for what Ctrl-C has ended. */
  cancelled: 130,
} as const
export type Exit = (typeof exits)[keyof typeof exits]

/** An option of a command. */
export interface Option {
  /** What stands for its value in the help; an option without is a switch. */
  readonly value?: string
  readonly multiple?: boolean
  readonly text: string
}

/** What was given to a command, checked against its {@link Command.options}. */
export interface Given {
  readonly argument: string | undefined
  flag(name: string): boolean
  text(name: string): string | undefined
  all(name: string): readonly string[]
}

/** What a command has found. */
export interface Outcome {
  /** Default: done. */
  readonly exit?: Exit
  /** For standard output. */
  readonly lines: readonly string[]
  /** In place of the lines, with `--json`. */
  readonly json: object
  /** For standard error: what a script does not read. */
  readonly aside?: readonly string[]
}

/** One command: its help and what it does. */
export interface Command {
  readonly summary: string
  readonly details?: readonly string[]
  readonly argument?: { readonly name: string; readonly text: string; readonly required: boolean }
  readonly options: Readonly<Record<string, Option>>
  readonly examples: readonly string[]
  /** What the exit codes 0 and 1 mean. */
  readonly exits: readonly [done: string, no: string]
  /** Said when something is given that does not belong there, and may be a secret. */
  readonly noArguments?: string
  run(given: Given, io: Io): Outcome | Promise<Outcome>
}

/** Ends a command. The message never holds a value that was given: it may be a secret. */
export class CliError extends Error {
  readonly exit: Exit
  readonly remedy: string | undefined

  /** @param remedy - what to do, a line of its own */
  constructor(exit: Exit, message: string, remedy?: string) {
    super(message)
    this.exit = exit
    this.remedy = remedy
  }
}

/** @throws CliError: the command was used wrongly */
export function misuse(message: string, remedy?: string): never {
  throw new CliError(exits.usage, message, remedy)
}

/** @throws CliError: it could not be done */
export function fail(message: string, remedy?: string): never {
  throw new CliError(exits.no, message, remedy)
}
