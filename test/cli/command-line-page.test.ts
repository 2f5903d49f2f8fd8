// program: its own, in npm run test:all
// Runs the lines of docs/reference/command-line.md, one after the other, as they stand.
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { commands } from '../../lib/cli/main.js'
import { cli, piped, type Ran } from '../helpers/cli.js'
import { blocksOf, readPage } from '../helpers/readme.js'

const section = readPage('docs/reference/command-line.md')
const linesOf = (wanted: string): string[] =>
  blocksOf(section)
    .filter(({ language }) => language === wanted)
    .flatMap(({ text }) => text.split('\n'))
const lines = linesOf('sh')

t.test('the page of the command line shows every command', async (t) => {
  for (const { name } of commands) {
    t.match(section, new RegExp(`^- \`${name}[ \`]`, 'm'), `${name} in the list`)
    const found = lines.some((line) => line.startsWith(`npx fastify-authn ${name} `))
    t.ok(found, `${name} in the example`)
  }
})

/** Runs a line in this process: its words, and the files that `<`, `>` and `>>` name. */
async function runLine(line: string): Promise<Ran> {
  const [words = '', ...redirections] = line.split(/ (?=<|>)/)
  const [npx, program, ...rest] = words.split(' ')
  if (`${npx} ${program}` !== 'npx fastify-authn') throw new Error(`not one of ours: ${line}`)
  const fileOf = (sign: string): string | undefined =>
    redirections.find((each) => each.startsWith(`${sign} `))?.slice(sign.length + 1)
  const [from, to, more] = ['<', '>', '>>'].map(fileOf)
  const stdin = piped(from === undefined ? '' : readFileSync(from))
  const ran = await cli(rest, { stdin, env: { NODE_ENV: 'production' } })
  if (to !== undefined) writeFileSync(to, ran.stdout, { mode: 0o600 })
  if (more !== undefined) appendFileSync(more, ran.stdout, { mode: 0o600 })
  return ran
}

t.test('every command of docs/reference/command-line.md works', async (t) => {
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  process.chdir(t.testdir({ 'password.txt': 'open sesame\n' }))
  const output: Record<string, string> = {}
  for (const line of lines) {
    const { exit, stdout, stderr } = await runLine(line)
    t.equal(exit, 0, `${line}\n${stdout}${stderr}`)
    output[line.split(' ')[2] ?? ''] = stdout
  }
  t.match(output.hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.match(output.inspect, /\n {2}admin {2}true\n[^]*\nValid: signed with HS256/)
  t.match(JSON.parse(output.doctor ?? ''), { ok: true, findings: [] })
  t.strictSame(readdirSync('.').toSorted(), [
    '.env',
    'all.sql',
    'api-keys.sql',
    'keys',
    'password.txt',
    'sessions.sql',
    'token.txt',
    'users.sql',
  ])
})
