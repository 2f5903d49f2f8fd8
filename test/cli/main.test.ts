import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { commands, main } from '../../lib/cli/main.js'
import { count } from '../../lib/cli/text.js'
import { Broken, cli, FakeTerminal, piped, Written } from '../helpers/cli.js'
import { nodeArguments, programOf, root } from '../helpers/project.js'

const entry = pathToFileURL(programOf('lib/cli/main.ts')).href

t.test('--help describes every command, and --version prints the version', async (t) => {
  const nothing = await cli([])
  t.match(nothing, { exit: 2, stdout: '', stderr: /^Usage: npx fastify-authn / })
  const overview = await cli('--help')
  t.match(overview, { exit: 0, stdout: nothing.stderr, stderr: '' })
  t.strictSame(
    commands.map(({ name }) => name),
    [
      'secret',
      'keys',
      'hash',
      'token',
      'inspect',
      'schema',
      'users',
      'sessions',
      'api-keys',
      'doctor',
    ],
  )
  for (const { name, examples, run } of commands) {
    t.match(overview.stdout, new RegExp(`^  ${name}\\b`, 'm'))
    const { exit, stdout, stderr } = await cli([name, '--help'])
    t.strictSame([exit, stderr], [0, ''], name)
    for (const part of [`Usage: npx fastify-authn ${name} `, 'Exit codes:', ...examples]) {
      t.ok(stdout.includes(part), `${name}: ${part}`)
    }
    t.equal(stdout.includes('--json'), run !== undefined)
    t.equal((await cli(['help', name])).stdout, stdout)
  }
  for (const name of ['init', 'rotate', 'revoke', 'list']) {
    const { exit, stdout } = await cli(`keys ${name} --help`)
    t.equal(exit, 0)
    t.match(stdout, new RegExp(`^Usage: npx fastify-authn keys ${name} `))
  }
  const manifest = readFileSync(path.join(root, 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  t.strictSame(await cli('--version'), { exit: 0, stdout: `${version}\n`, stderr: '' })
})

t.test('wrong usage exits with 2, prints nothing and quotes no token', async (t) => {
  const token = `eyJ${'x'.repeat(60)}`
  const wrong: [words: string | string[], message: RegExp][] = [
    ['tokn', /unknown command 'tokn'\n\(Did you mean token\?\)/],
    ['__proto__', /unknown command/],
    [token, /unknown command \(not shown\)/],
    [['tok\u001b[2Jen'], /unknown command 'tok\\u001b\[2Jen'/],
    ['token --subb x', /unknown option '--subb'\n\(Did you mean --sub\?\)/],
    ['token --sub', /--sub <name>' argument missing/],
    ['token --sub a b', /too many arguments/],
    ['token --sub a --alg es256', /Allowed choices are HS256, /],
    ['keys', /missing required argument 'alg'/],
    ['keys rotat', /argument 'alg'/],
    ['keys ES256 --ring x', /unknown option '--ring'/],
    ['sessions', /^Usage: /],
  ]
  for (const [words, message] of wrong) {
    const { exit, stdout, stderr } = await cli(words)
    t.strictSame([exit, stdout], [2, ''], String(words))
    t.match(stderr, message)
    t.notMatch(stderr, token)
  }
})

t.test('wrong usage points to the help of the command that was called', async (t) => {
  const lastLine = async (words: readonly string[]): Promise<string | undefined> =>
    (await cli(words)).stderr.trimEnd().split('\n').at(-1)
  const names = commands.flatMap(({ name, subcommands = [] }) => [
    [name],
    ...subcommands.map((each) => [name, each.name]),
  ])
  t.ok(names.length > 15)
  for (const words of names) {
    const help = `See: npx fastify-authn ${words.join(' ')} --help`
    t.equal(await lastLine([...words, '--no-such-option', 'sessions']), help)
  }
  t.equal(await lastLine(['--no-such-option']), 'See: npx fastify-authn --help')
  t.equal(await lastLine(['tokn']), 'See: npx fastify-authn --help')
  const span = ['token', '--sub', 'a', '--expires', '5y']
  t.equal(await lastLine(span), 'See: npx fastify-authn token --help')
})

t.test('with --json an error is printed as JSON', async (t) => {
  const { exit, stdout, stderr } = await cli('token --sub a --json')
  t.equal(exit, 1)
  t.match(stderr, /^fastify-authn: no key is configured: /)
  t.match(JSON.parse(stdout), { ok: false, error: /^no key is configured/, remedy: /--env / })
  t.match(JSON.parse((await cli('nothing --json')).stdout), { ok: false, error: /unknown command/ })
})

t.test('an unexpected error shows neither its message nor a stack', async (t) => {
  for (const [fault, shown] of [
    [Object.assign(new Error('my secret'), { code: 'EWHATEVER' }), 'EWHATEVER'],
    [new TypeError('my secret'), 'TypeError'],
  ] as const) {
    const stdin = new FakeTerminal('x')
    stdin.setRawMode = () => {
      throw fault
    }
    t.strictSame(await cli('hash', { stdin }), {
      exit: 1,
      stdout: '',
      stderr: `fastify-authn: unexpected error (${shown}).\n`,
    })
  }
})

async function mainWith(words: readonly string[], stdout: Writable, stderr = new Written()) {
  const process = {
    argv: ['node', 'fastify-authn', ...words],
    stdin: piped(),
    stdout,
    stderr,
    exitCode: undefined as number | string | null | undefined,
  }
  await main(process)
  await new Promise((resolve) => setImmediate(resolve))
  return { exitCode: process.exitCode, stderr: stderr.text }
}

t.test('output that cannot be written exits with 1, a closed pipe with the result', async (t) => {
  t.strictSame(await mainWith(['secret'], new Written()), { exitCode: 0, stderr: '' })
  t.equal((await mainWith(['inspect', 'x'], new Written())).exitCode, 1)
  t.equal((await mainWith([], new Written())).exitCode, 2)
  t.strictSame(await mainWith(['secret'], new Broken('EPIPE')), { exitCode: 0, stderr: '' })
  t.equal((await mainWith(['inspect', 'x'], new Broken('EPIPE'))).exitCode, 1, 'the answer stays')
  const full = { exitCode: 1, stderr: /output cannot be written \(ENOSPC\)/ }
  t.match(await mainWith(['secret'], new Broken('ENOSPC')), full)
  t.equal((await mainWith(['nothing'], new Written(), new Broken('ENOSPC'))).exitCode, 2)
})

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
    const [stdout, stderr] = [new Written(), new Written()]
    child.stdout.pipe(stdout)
    child.stderr.pipe(stderr)
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout: stdout.text, stderr: stderr.text }))
  })
}

t.test(
  'token and inspect work in a pipe of processes',
  { skip: process.platform === 'win32' && 'needs sh' },
  async (t) => {
    const code = `import { main } from ${JSON.stringify(entry)}\nawait main(process)\n`
    const file = `${t.testdir({ 'bin.mjs': code })}/bin.mjs`
    const secret = (await cli('secret')).stdout.trim().slice('AUTH_JWT_SECRET='.length)
    const [chain, closed] = await Promise.all([
      shell(
        file,
        'BIN token --sub alice --claim admin=true | BIN inspect; echo "exit $?"; BIN inspect x',
        { AUTH_JWT_SECRET: secret },
      ),
      shell(file, '(BIN --help; echo "exit $?" >&2) | true'),
    ])
    t.match(chain, { code: 1, stderr: /^Warning: / })
    t.match(chain.stdout, /\n {2}admin {2}true\n[^]*\nValid: signed with HS256.*\nexit 0\n/)
    t.equal(closed.stderr, 'exit 0\n')
  },
)

t.test('count() adds the plural s unless the number is 1', async (t) => {
  const found = [0, 1, 2].map((number) => count(number, 'key'))
  t.strictSame(found, ['0 keys', '1 key', '2 keys'])
})
