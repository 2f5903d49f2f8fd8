import { exits, type Io } from './command.js'
import { run } from './run.js'

/** The parts of `process` that the program uses. */
export interface Process extends Io {
  readonly argv: readonly string[]
  exitCode?: number | string | null | undefined
}

/** Runs the program `fastify-authn`. It sets the exit code and does not call `exit()`, so that all output is written. */
export async function main(process: Process): Promise<void> {
  const { argv, stdin, stdout, stderr, env } = process
  let broken = false
  stderr.on('error', () => undefined)
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has closed the pipe, as `| head` does: that is not an error.
    if (error.code === 'EPIPE') return
    broken = true
    process.exitCode = exits.no
    stderr.write(`fastify-authn: standard output cannot be written (${error.code}).\n`)
  })
  const exit = await run(argv.slice(2), { stdin, stdout, stderr, env })
  process.exitCode = broken ? exits.no : exit
}
