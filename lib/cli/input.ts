import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Writable, type Readable } from 'node:stream'
import { CliError, exits, fail, type Input, type Io } from './command.js'
import { quoted } from './text.js'

/** The longest text that a command reads, in bytes. */
const longest = 1_048_576

/**
 * Reads all of standard input.
 *
 * @throws CliError when it cannot be read, is longer than 1 MiB, or is no UTF-8
 */
export function readAll(stdin: Input): Promise<string> {
  return readStream(stdin, 'standard input')
}

/**
 * Reads a text file. It stops at 1 MiB, because the file may be a device that never ends.
 *
 * @param source - what the file is, for the error
 * @throws CliError when it cannot be read, is longer than 1 MiB, or is no UTF-8
 */
export async function readText(file: string, source: string): Promise<string> {
  return readStream(createReadStream(file), `the ${source} ${quoted(file)}`)
}

async function readStream(stream: Readable, source: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk as string | Buffer)
      size += bytes.length
      if (size > longest) break
      chunks.push(bytes)
    }
  } catch (error) {
    fail(`${source} cannot be read (${reasonOf(error)}).`)
  }
  if (size > longest) fail(`${source} is longer than 1 MiB.`)
  const bytes = Buffer.concat(chunks)
  if (!isUtf8(bytes)) fail(`${source} is no UTF-8.`)
  return bytes.toString()
}

/** The code of an error of the operating system, such as `ENOENT`. */
export function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
}

/** Removes what editors and `echo` add without showing it: a byte order mark, and one line break at the end. */
export function bareText(text: string): string {
  return text.replace(/^\ufeff/, '').replace(/\r?\n$/, '')
}

/**
 * Reads a secret. At a terminal it is typed twice and not shown; otherwise it is all of standard input, after
 * {@link bareText}.
 *
 * @param name - what is asked for
 * @throws CliError when the two differ, or for Ctrl-C
 */
export async function readSecret(io: Io, name: string): Promise<string> {
  const { stdin } = io
  if (stdin.isTTY !== true) return bareText(await readAll(stdin))
  const [first, second] = await askHidden(io, [`${name}: `, 'Once more: '])
  if (first !== second) fail('the two differ. Nothing was done.')
  return first as string
}

/**
 * Asks at the terminal, and shows nothing of what is typed. The questions go to standard error, so that standard output
 * can be redirected. The terminal is as before in the end.
 *
 * @throws CliError (130) for Ctrl-C, for Ctrl-D on an empty line, and when the terminal goes away
 */
export function askHidden(
  { stdin, stderr }: Io,
  questions: readonly [string, ...string[]],
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    // What is typed would be written there. The tabulator completes nothing.
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    const completer = (line: string): [string[], string] => [[], line]
    const terminal = createInterface({
      input: stdin,
      output,
      terminal: true,
      historySize: 0,
      completer,
    })
    const answers: string[] = []
    stderr.write(questions[0])
    terminal.on('line', (line) => {
      answers.push(line)
      if (answers.length === questions.length) terminal.close()
      else stderr.write(`\n${questions[answers.length]}`)
    })
    terminal.on('SIGINT', () => terminal.close())
    terminal.on('error', () => terminal.close())
    terminal.on('close', () => {
      stderr.write('\n')
      if (answers.length === questions.length) resolve(answers)
      else reject(new CliError(exits.cancelled, 'cancelled.'))
    })
  })
}
