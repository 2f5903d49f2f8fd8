import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { CliError, exits, fail, type Input, type Io } from './command.js'
import { quoted } from './text.js'
import type { Readable } from 'node:stream'

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

/** The characters typed so far. A list, so that backspace removes a whole character. */
type Typed = string[]

/** What control characters do while an answer is typed; all others are ignored. */
const editingKeys: Readonly<Record<string, (typed: Typed) => 'enter' | 'cancel' | null>> =
  Object.assign(Object.create(null), {
    '\r': () => 'enter',
    '\n': () => 'enter',
    '\u0003': () => 'cancel',
    // Ctrl-D is the end of the input: it cancels when nothing was typed.
    '\u0004': (typed: Typed) => (typed.length === 0 ? 'cancel' : 'enter'),
    '\b': (typed: Typed) => drop(typed, 1),
    '\u007f': (typed: Typed) => drop(typed, 1),
    '\u0015': (typed: Typed) => drop(typed, typed.length),
  })

function drop(typed: Typed, letters: number): null {
  typed.splice(typed.length - letters, letters)
  return null
}

/** The escape sequences that arrow and function keys send (ECMA-48 §5.4, and SS3). They are ignored. */
// oxlint-disable-next-line no-control-regex -- the escape character is what it looks for
const escapeSequence = /\u001b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[ -~])?/g

/**
 * Asks at the terminal, and does not show what is typed. No package is used for this: the present versions of `read`
 * and `@inquirer/password` need Node.js 22.22, and this package supports 20. The questions go to standard error, so
 * that standard output can be redirected. The state of the terminal is always restored.
 *
 * @throws CliError (130) for Ctrl-C, for Ctrl-D on an empty line, and when the terminal goes away
 */
export function askHidden(
  { stdin, stderr }: Io,
  questions: readonly [string, ...string[]],
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const decoder = new StringDecoder('utf8')
    const answers: string[] = []
    let typed: Typed = []

    function onData(chunk: Buffer): void {
      const letters = decoder.write(chunk).replaceAll(escapeSequence, '')
      for (const letter of letters) {
        const key = editingKeys[letter]
        const done = key === undefined ? type(letter) : key(typed)
        if (done === 'cancel') return cancel()
        if (done === 'enter' && answer()) return resolve(answers)
      }
    }
    function type(letter: string): null {
      if (letter >= ' ') typed.push(letter)
      return null
    }
    /** Takes what was typed as the answer. @returns whether it was the last one */
    function answer(): boolean {
      answers.push(typed.join(''))
      typed = []
      stderr.write('\n')
      const next = questions[answers.length]
      if (next === undefined) leave()
      else stderr.write(next)
      return next === undefined
    }
    function cancel(): void {
      leave()
      stderr.write('\n')
      reject(new CliError(exits.cancelled, 'cancelled.'))
    }
    function leave(): void {
      stdin.off('data', onData).off('end', cancel).off('error', cancel)
      stdin.setRawMode?.(false)
      // Otherwise the process would keep waiting for input.
      stdin.pause()
    }

    stdin.setRawMode?.(true)
    stdin.on('data', onData).on('end', cancel).on('error', cancel)
    stdin.resume()
    stderr.write(questions[0])
  })
}
