import './rsa-stock.js'
import { spawn } from 'node:child_process'
import { PassThrough, Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { run } from '../../lib/cli/main.js'
import type { Input } from '../../lib/cli/command.js'
import { nodeArguments, programOf, root } from './project.js'

/** What a command line gave. */
export interface Ran {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

/** A stream that keeps what is written to it. */
export class Written extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

/** Standard output that fails. */
export class Broken extends Written {
  constructor(readonly code: string) {
    super()
    this.on('error', () => undefined)
  }

  override _write(_chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    done(Object.assign(new Error('write'), { code: this.code }))
  }
}

/** A terminal at which keys are pressed as soon as it is asked. */
export class FakeTerminal extends PassThrough {
  readonly isTTY = true
  /** Raw mode, as it was switched. */
  readonly modes: boolean[] = []

  /** @param keys - one chunk each; null: the terminal goes away */
  constructor(...keys: (string | Buffer | null)[]) {
    super()
    for (const key of keys) {
      if (key === null) this.end()
      else this.write(key)
    }
  }

  setRawMode(raw: boolean): this {
    this.modes.push(raw)
    return this
  }
}

/** Something that is piped in. */
export function piped(...chunks: (string | Buffer)[]): Input {
  return Readable.from(chunks, { objectMode: false })
}

/** Runs a command line in this process, with an environment of its own: one at a time. */
export async function cli(
  words: string | readonly string[],
  {
    stdin = piped(),
    env = {},
    stdout = new Written(),
    stderr = new Written(),
  }: { stdin?: Input; env?: Record<string, string>; stdout?: Written; stderr?: Written } = {},
): Promise<Ran> {
  const args = typeof words === 'string' ? words.split(' ').filter((word) => word !== '') : words
  // Test files that load now look for programs on PATH.
  await Promise.resolve()
  const before = process.env
  process.env = { ...env }
  try {
    const exit = await run(args, { stdin, stdout, stderr })
    return { exit, stdout: stdout.text, stderr: stderr.text }
  } finally {
    process.env = before
  }
}

/** Runs a command line in a process of its own, in which nothing of the tests is loaded. */
export async function cliProcess(
  words: string,
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  const entry = JSON.stringify(pathToFileURL(programOf('lib/cli/main.ts')).href)
  // What is evaluated has no name among the arguments.
  const code = `import { main } from ${entry}\nprocess.argv.splice(1, 0, '')\nawait main(process)`
  const child = spawn(
    process.execPath,
    [...nodeArguments, '--input-type=module', '--eval', code, ...words.split(' ')],
    { cwd: root, env: { PATH: String(process.env.PATH), ...env }, stdio: 'pipe', timeout: 60_000 },
  )
  const [stdout, stderr] = [new Written(), new Written()]
  child.stdout.pipe(stdout)
  child.stderr.pipe(stderr)
  child.stdin.end()
  const exit = await new Promise<number>((resolve, reject) => {
    child.once('error', reject).once('close', (exit) => resolve(Number(exit)))
  })
  return { exit, stdout: stdout.text, stderr: stderr.text }
}

/** The environment that lines for an env file are. */
export function envOf(lines: string): Record<string, string> {
  return Object.fromEntries(
    lines
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}
