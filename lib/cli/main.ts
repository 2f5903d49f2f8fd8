import { exits, type Io } from './command.js'
import { run } from './run.js'

/** What of `process` the program uses. */
export interface Process extends Io {
  readonly argv: readonly string[]
  exitCode?: number | string | null | undefined
}

/** The program `fastify-authn`, over a process. Sets its exit code; the process then ends by itself. */
export async function main(process: Process): Promise<void> {
  const { argv, stdin, stdout, stderr, env } = process
  let broken = false
  stderr.on('error', () => undefined)
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Whoever reads has read enough: `| head`.
    if (error.code === 'EPIPE') return
    broken = true
    process.exitCode = exits.no
    stderr.write(`fastify-authn: standard output cannot be written (${error.code}).\n`)
  })
  const exit = await run(argv.slice(2), { stdin, stdout, stderr, env })
  process.exitCode = broken ? exits.no : exit
}
