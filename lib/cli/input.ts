import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { CliError, exits, fail, type Input, type Io } from './command.js'
import { quoted } from './text.js'

export function readInput(stdin: Input): Promise<string> {
  return decoded(buffer(stdin), 'standard input')
}

/** @param kind - what the file is, for the error @throws CliError when it cannot be read, or is not UTF-8 */
export function readText(file: string, kind: string): Promise<string> {
  return decoded(readFile(file), `the ${kind} ${quoted(file)}`)
}

async function decoded(reading: Promise<Buffer>, source: string): Promise<string> {
  const bytes = await reading.catch((error: unknown) =>
    fail(`${source} cannot be read (${codeOf(error)}).`),
  )
  if (!isUtf8(bytes)) fail(`${source} is not UTF-8.`)
  return bytes.toString()
}

/** The code of an error of the operating system, such as `ENOENT`. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown reason'
}

/** Removes what editors and `echo` add without showing it: a byte order mark, and one line break at the end. */
export function bareText(text: string): string {
  return text.replace(/^\ufeff/, '').replace(/\r?\n$/, '')
}

/**
 * Reads a secret: at a terminal typed twice and not shown; otherwise all of standard input, after {@link bareText}.
 * @throws CliError when the two differ, or for Ctrl-C
 */
export async function readSecret(io: Io, name: string): Promise<string> {
  if (io.stdin.isTTY !== true) return bareText(await readInput(io.stdin))
  const [first, second] = await askHidden(io, [`${name}: `, 'Once more: '])
  if (first !== second) fail('the two entries differ. Nothing was done.')
  return String(first)
}

/**
 * Asks at the terminal, and shows nothing of what is typed. The questions go to standard error, so that standard output
 * can be redirected.
 * @throws CliError (130) for Ctrl-C, for Ctrl-D on an empty line, and when the terminal goes away
 */
export async function askHidden({ stdin, stderr }: Io, questions: readonly string[]) {
  // The terminal writes what is typed to this output, which shows nothing.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: stdin, output, terminal: true, historySize: 0 })
  terminal.on('SIGINT', () => terminal.close())
  const lines = terminal[Symbol.asyncIterator]()
  const answers: string[] = []
  for (const question of questions) {
    stderr.write(question)
    const { done, value } = await lines.next()
    stderr.write('\n')
    if (done) throw new CliError(exits.cancelled, 'cancelled.')
    answers.push(value)
  }
  terminal.close()
  return answers
}
