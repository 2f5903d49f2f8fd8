import { spawn } from 'node:child_process'
import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { main } from '../../lib/cli/main.js'
import { cli, piped, Written } from '../helpers/cli.js'
import { nodeArguments, programOf, root } from '../helpers/project.js'

const entry = pathToFileURL(programOf('lib/cli/main.ts')).href

/** Runs lines of shell in which BIN is the program. */
function shell(file: string, line: string, env: Record<string, string> = {}) {
  const words = [process.execPath, ...nodeArguments, file]
  const bin = words.map((word) => `'${word}'`).join(' ')
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    const child = spawn('sh', ['-c', line.replaceAll('BIN', bin)], {
      cwd: root,
      env: { PATH: String(process.env.PATH), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Standard output that fails. */
class Broken extends Writable {
  readonly code: string

  constructor(code: string) {
    super()
    this.code = code
  }

  override _write(_chunk: Buffer, _encoding: string, done: (error: Error) => void): void {
    done(Object.assign(new Error('write'), { code: this.code }))
  }
}

async function mainWith(words: readonly string[], stdout: Writable) {
  const stderr = new Written()
  const process = {
    argv: ['node', 'fastify-authn', ...words],
    env: {},
    stdin: piped(),
    stdout,
    stderr,
    exitCode: undefined as number | string | null | undefined,
  }
  await main(process)
  await new Promise((resolve) => setImmediate(resolve))
  return { exitCode: process.exitCode, stderr: stderr.text }
}

t.test('the words after the program, and an exit code', async (t) => {
  const stdout = new Written()
  t.strictSame(await mainWith(['secret'], stdout), { exitCode: 0, stderr: '' })
  t.match(stdout.text, /^AUTH_JWT_SECRET=/)
  t.equal((await mainWith(['inspect', 'x'], new Written())).exitCode, 1)
  t.equal((await mainWith([], new Written())).exitCode, 2)
})

t.test('output that nobody reads is no error', async (t) => {
  t.strictSame(await mainWith(['secret'], new Broken('EPIPE')), { exitCode: 0, stderr: '' })
  t.equal((await mainWith(['inspect', 'x'], new Broken('EPIPE'))).exitCode, 1, 'the answer stays')
})

t.test('output that cannot be written is one', async (t) => {
  t.strictSame(await mainWith(['secret'], new Broken('ENOSPC')), {
    exitCode: 1,
    stderr: 'fastify-authn: standard output cannot be written (ENOSPC).\n',
  })
})

t.test('output that fails at once is one too', async (t) => {
  const stdout = new Written()
  stdout.write = () => stdout.emit('error', Object.assign(new Error('x'), { code: 'EIO' }))
  t.strictSame(await mainWith(['secret'], stdout), {
    exitCode: 1,
    stderr: 'fastify-authn: standard output cannot be written (EIO).\n',
  })
})

t.test('errors of standard error are not told to anybody', async (t) => {
  const stdout = new Written()
  const process = {
    argv: ['node', 'x', 'nothing'],
    env: {},
    stdin: piped(),
    stdout,
    stderr: new Broken('ENOSPC'),
    exitCode: undefined as number | string | null | undefined,
  }
  await main(process)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(process.exitCode, 2)
})

t.test('as a process', { skip: process.platform === 'win32' && 'needs sh' }, async (t) => {
  const code = `import { main } from ${JSON.stringify(entry)}\nawait main(process)\n`
  const file = `${t.testdir({ 'bin.mjs': code })}/bin.mjs`
  const secret = (await cli('secret')).stdout.trim().slice('AUTH_JWT_SECRET='.length)
  const [chain, closed, usage] = await Promise.all([
    shell(
      file,
      'BIN token --sub alice --claim admin=true | BIN inspect; echo "exit $?"; BIN inspect x',
      { AUTH_JWT_SECRET: secret },
    ),
    shell(file, '(BIN --help; echo "exit $?" >&2) | true'),
    shell(file, 'BIN tokn'),
  ])
  t.match(chain, { code: 1, stderr: /^Warning: / })
  t.match(chain.stdout, /\n {2}admin {2}true\n[^]*\nValid: signed with HS256.*\nexit 0\n/)
  t.equal(closed.stderr, 'exit 0\n')
  t.match(usage, { code: 2, stdout: '', stderr: /unknown command "tokn"/ })
})
