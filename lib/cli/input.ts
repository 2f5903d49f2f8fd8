import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { CliError, exits, fail, type Input, type Io } from './command.js'
import { quoted } from './text.js'
import type { Readable } from 'node:stream'

/** More than that is none of the texts that a command reads. */
const longest = 1_048_576

/**
 * All of standard input.
 *
 * @throws CliError when it cannot be read, is longer than 1 MiB, or is no UTF-8
 */
export function readAll(stdin: Input): Promise<string> {
  return readStream(stdin, 'standard input')
}

/**
 * The text of a file, which may be a device that never ends.
 *
 * @param source - what it is, for the error
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

/** The code of an error of the operating system. */
export function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
}

/** A text without what editors and `echo` put around it unseen: a byte order mark, and one line break. */
export function bareText(text: string): string {
  return text.replace(/^\ufeff/, '').replace(/\r?\n$/, '')
}

/**
 * A secret: typed twice without echo at a terminal, else all of standard input, as {@link bareText}.
 *
 * @param name - what is asked for
 * @throws CliError when both differ, or for Ctrl-C
 */
export async function readSecret(io: Io, name: string): Promise<string> {
  const { stdin } = io
  if (stdin.isTTY !== true) return bareText(await readAll(stdin))
  const [first, second] = await askHidden(io, [`${name}: `, 'Once more: '])
  if (first !== second) fail('the two differ. Nothing was done.')
  return first as string
}

/** The characters of an answer, so that one can be taken back. */
type Typed = string[]

/** Keys that are no letters; those that are not here do nothing. */
const editingKeys: Readonly<Record<string, (typed: Typed) => 'enter' | 'cancel' | null>> =
  Object.assign(Object.create(null), {
    '\r': () => 'enter',
    '\n': () => 'enter',
    '\u0003': () => 'cancel',
    // Ctrl-D: the end of the input, which is no answer where nothing was typed.
    '\u0004': (typed: Typed) => (typed.length === 0 ? 'cancel' : 'enter'),
    '\b': (typed: Typed) => drop(typed, 1),
    '\u007f': (typed: Typed) => drop(typed, 1),
    '\u0015': (typed: Typed) => drop(typed, typed.length),
  })

function drop(typed: Typed, letters: number): null {
  typed.splice(typed.length - letters, letters)
  return null
}

/** What arrow and function keys send (ECMA-48 §5.4, and SS3). */
// oxlint-disable-next-line no-control-regex -- the escape character is what it looks for
const escapeSequence = /\u001b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[ -~])?/g

/**
 * Asks at the terminal, without echo. The questions go to standard error, so that standard output can be
 * redirected. Whatever happens, the terminal is left as it was.
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
    /** Whether it was the last one. */
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
      // Else the process would wait for more.
      stdin.pause()
    }

    stdin.setRawMode?.(true)
    stdin.on('data', onData).on('end', cancel).on('error', cancel)
    stdin.resume()
    stderr.write(questions[0])
  })
}
