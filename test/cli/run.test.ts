// Also holds lib/cli/arguments.ts, lib/cli/command.ts, lib/cli/commands.ts and lib/cli/help.ts.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { commands } from '../../lib/cli/commands.js'
import { cli, FakeTerminal } from '../helpers/cli.js'
import { root } from '../helpers/project.js'

const names = ['secret', 'keys', 'hash', 'token', 'inspect', 'sessions', 'doctor']

t.test('nothing given: the help, as an error', async (t) => {
  const { exit, stdout, stderr } = await cli([])
  t.equal(exit, 2)
  t.equal(stdout, '')
  t.match(stderr, /^Usage: npx fastify-authn <command>/)
  t.strictSame(Object.keys(commands), names)
  for (const name of names) t.match(stderr, new RegExp(`^  ${name} +\\w`, 'm'))
})

t.test('help', async (t) => {
  const overview = await cli('--help')
  t.equal(overview.exit, 0)
  t.equal(overview.stderr, '')
  t.equal((await cli('-h')).stdout, overview.stdout)
  t.equal((await cli('help')).stdout, overview.stdout)
  for (const [name, command] of Object.entries(commands)) {
    const help = await cli([name, '--help'])
    t.equal(help.exit, 0, name)
    t.equal(help.stderr, '')
    for (const part of [
      `Usage: npx fastify-authn ${name} `,
      'Options:',
      'Examples:',
      'Exit codes:',
    ]) {
      t.ok(help.stdout.includes(part), `${name}: ${part}`)
    }
    for (const option of [...Object.keys(command.options), 'json', 'help']) {
      t.match(help.stdout, new RegExp(`^  --${option}\\b`, 'm'), `${name}: ${option}`)
    }
    t.equal((await cli(['help', name])).stdout, help.stdout)
    t.equal((await cli([name, '--wrong', 'x', 'y', '-h'])).stdout, help.stdout, 'wins')
    const widest = Math.max(...help.stdout.split('\n').map(({ length }) => length))
    t.ok(widest <= 90, `${name}: ${widest} columns`)
  }
  t.match(
    (await cli('keys --help')).stdout,
    /keys <alg> \[options\][^]*Argument:\n {2}alg {2}RS256/,
  )
  t.match((await cli('inspect --help')).stdout, /inspect \[<token>\] \[options\]/)
  t.match((await cli('token --help')).stdout, /--claim <name=value> … /)
  const unknown = await cli('help nothing')
  t.equal(unknown.exit, 2)
  t.match(unknown.stderr, 'unknown command "nothing"')
})

t.test('the version of the package', async (t) => {
  const manifest = readFileSync(path.join(root, 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  t.strictSame(await cli('--version'), { exit: 0, stdout: `${version}\n`, stderr: '' })
  t.equal((await cli('-v')).stdout, `${version}\n`)
})

t.test('wrong usage: what is wrong, what was perhaps meant, where to look', async (t) => {
  const wrong: [words: string | string[], expected: string][] = [
    ['tokn', 'fastify-authn: unknown command "tokn". Did you mean token?'],
    ['doc', 'fastify-authn: unknown command "doc". Did you mean doctor?'],
    ['xyzzy', 'fastify-authn: unknown command "xyzzy".'],
    ['--verison', 'fastify-authn: unknown option "--verison".'],
    ['__proto__', 'fastify-authn: unknown command "__proto__".'],
    [`eyJ${'x'.repeat(40)}`, 'fastify-authn: unknown command.'],
    [['tok\u001b[2Jen'], 'fastify-authn: unknown command "tok\\u001b[2Jen".'],
    ['token --subb x', 'fastify-authn token: unknown option "--subb". Did you mean --sub?'],
    ['token -s x', 'fastify-authn token: unknown option "-s".'],
    ['token --__proto__ x', 'fastify-authn token: unknown option "--__proto__".'],
    ['token --sub', 'fastify-authn token: option --sub needs a value.'],
    ['token --sub=', 'fastify-authn token: option --sub needs a value.'],
    [
      'token --sub --alg HS256',
      'fastify-authn token: option --sub needs a value. For one that begins with "-", write --sub=…',
    ],
    ['token --sub a --sub b', 'fastify-authn token: option --sub is given twice.'],
    ['token --sub a b', 'fastify-authn token: found an argument, expected none.'],
    ['token --json=1', 'fastify-authn token: option --json takes no value.'],
    ['inspect a b c', 'fastify-authn inspect: found 3 arguments, expected one.'],
    ['keys', 'fastify-authn keys: <alg> is missing.'],
  ]
  for (const [words, expected] of wrong) {
    const { exit, stdout, stderr } = await cli(words)
    t.equal(exit, 2, String(words))
    t.equal(stdout, '')
    const lines = stderr.trimEnd().split('\n')
    t.equal(lines[0], expected)
    t.match(lines.at(-1), /^See: npx fastify-authn (?:\w+ )?--help$/)
  }
})

t.test('with --json, errors are JSON too', async (t) => {
  const { exit, stdout, stderr } = await cli('token --sub a --json')
  t.equal(exit, 1)
  t.match(stderr, /^fastify-authn token: no key is configured: /)
  t.match(JSON.parse(stdout), {
    ok: false,
    error: /^no key is configured/,
    remedy: /--env /,
  })
  t.strictSame(JSON.parse((await cli('secret --alg=x --json')).stdout), {
    ok: false,
    error: 'unknown algorithm.',
    remedy: 'The algorithms are HS256, HS384, HS512.',
  })
  t.strictSame(JSON.parse((await cli('nothing --json')).stdout), {
    ok: false,
    error: 'unknown command "nothing".',
  })
})

t.test('an error that nobody has thought of shows neither its text nor a stack', async (t) => {
  for (const [fault, shown] of [
    [Object.assign(new Error('my secret'), { code: 'EWHATEVER' }), 'EWHATEVER'],
    [new TypeError('my secret'), 'TypeError'],
  ] as const) {
    const stdin = new FakeTerminal('x')
    stdin.setRawMode = () => {
      throw fault
    }
    const { exit, stdout, stderr } = await cli('hash', { stdin })
    t.equal(exit, 1)
    t.equal(stdout, '')
    t.equal(stderr, `fastify-authn hash: unexpected error (${shown}).\n`)
  }
})
