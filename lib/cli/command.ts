import type { Readable, Writable } from 'node:stream'
import type { Environment } from '../options/environment.js'

/** Standard input: a file, a pipe, or a terminal. */
export interface Input extends Readable {
  isTTY?: boolean | undefined
  setRawMode?(raw: boolean): unknown
}

/** The parts of the process that a command may use. */
export interface Io {
  readonly stdin: Input
  readonly stdout: Writable
  readonly stderr: Writable
  readonly env: Environment
}

/** Exit codes. */
export const exits = {
  done: 0,
  /** The answer is no, something was found, or the command failed. */
  no: 1,
  usage: 2,
  /** What shells report for a program that Ctrl-C has ended. */
  cancelled: 130,
} as const
export type Exit = (typeof exits)[keyof typeof exits]

/** An option of a command. */
export interface Option {
  /** The name of its value in the help. An option without it is a switch and takes no value. */
  readonly value?: string
  readonly multiple?: boolean
  readonly text: string
}

/** An argument of a command. */
export interface Argument {
  readonly name: string
  readonly text: string
  readonly required: boolean
  /** The form of an argument that may begin with "-", as one thumbprint in 64 does. */
  readonly dashed?: RegExp
}

/** The options and the arguments given to a command, checked against its {@link Command.options}. */
export interface Given {
  readonly argument: string | undefined
  readonly second: string | undefined
  flag(name: string): boolean
  text(name: string): string | undefined
  all(name: string): readonly string[]
}

/** The result of a command. */
export interface Outcome {
  /** Default: `exits.done`. */
  readonly exit?: Exit
  /** Lines for standard output. */
  readonly lines: readonly string[]
  /** Printed in place of the lines with `--json`. */
  readonly json: object
  /** Lines for standard error, so that a script that reads standard output does not get them. */
  readonly aside?: readonly string[]
}

/** One command: its help and what it does. */
export interface Command {
  readonly summary: string
  readonly details?: readonly string[]
  readonly argument?: Argument
  /** A second argument, which is always optional. */
  readonly second?: Argument
  readonly options: Readonly<Record<string, Option>>
  readonly examples: readonly string[]
  /** What the exit codes 0 and 1 mean. */
  readonly exits: readonly [done: string, no: string]
  /** The error when a command without arguments gets one, which may be a secret and is not quoted. */
  readonly noArguments?: string
  /** Commands that are called by this one's name and their own, such as `keys rotate`. */
  readonly subcommands?: Readonly<Record<string, Command>>
  run(given: Given, io: Io): Outcome | Promise<Outcome>
}

/** Ends a command. The message must not contain a value that was given: it may be a secret. */
export class CliError extends Error {
  readonly exit: Exit
  readonly remedy: string | undefined

  /** @param remedy - what to do about it; printed on a line of its own */
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

/** @throws CliError: the command failed */
export function fail(message: string, remedy?: string): never {
  throw new CliError(exits.no, message, remedy)
}
