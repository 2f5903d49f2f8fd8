// Runs compiled tests (scripts/compile-tests.js), each program in a process of its own. Tells the seconds of
// each, what failed, and at the end how long each tutorial took, and what was skipped and why; the last line says how many
// assertions were right and wrong.
//
//   node scripts/run-tests.js .tests/run/jwt.js …   these programs
//     --quick         all that need no server, no browser and no built package, without those for docs, demo and examples
//     --all           all, but for the tutorials
//     --skipped       those that the last run has left out or skipped a test of; a test that is skipped again has failed
//     --node <file>   under this Node.js, by its file such as node22/bin/node; may be given several times
//     --coverage      fails too when they, with the last run for --skipped, leave out more of lib/ than .taprc allows
// The variable TAP_TIMEOUT, which is tap's own, says how many seconds a program may take, if not 600:
// several times what the longest takes, since the machine may be busy.
//
// Not `tap run`: it puts a module loader into each program and each process that a test starts, which takes a third more of
// the processor: 248 s instead of 179 s for the whole suite, and 8 s after each installation.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { root, runNode, severalAtATime } from './processes.js'

/**
 * What some tests need besides Node and npm. Where the program is not on PATH (test/helpers/programs.ts), such a test is
 * skipped with the reason `needs <name>`, and the coverage of what only it covers is not enforced. `.ci/run` installs all.
 */
const needs = {
  Redis: {
    install: 'apt-get install redis-server',
    covers: [
      'lib/cli/commands/sessions.ts',
      'lib/cli/commands/api-keys.ts',
      'lib/cli/store.ts',
      'lib/sessions/stores/redis.ts',
      'lib/api-keys/stores/redis.ts',
      'lib/throttle/redis-counters.ts',
      'lib/mail/limits.ts',
    ],
  },
  PostgreSQL: {
    install: 'apt-get install postgresql, with its bin folder (/usr/lib/postgresql/*/bin) on PATH',
    covers: [
      'lib/cli/commands/sessions.ts',
      'lib/cli/commands/api-keys.ts',
      'lib/cli/commands/users.ts',
      'lib/cli/users/import.ts',
      'lib/cli/users/line.ts',
      'lib/cli/store.ts',
      'lib/sessions/stores/sql.ts',
    ],
  },
  curl: { install: 'apt-get install curl', covers: [] },
  Chromium: { install: 'apt-get install chromium', covers: [] },
  nginx: { install: 'apt-get install nginx, with /usr/sbin on PATH', covers: [] },
  Caddy: { install: 'apt-get install caddy', covers: [] },
}

/** Those that take longest come first, so that none of them is left alone at the end. */
const first = `
  tutorials-mobile-api tutorials-api-keys tutorials-web-app tutorials-spa demo-page
  api-keys-processes
  sessions browser oidc-provider sessions-startup sql accounts small login cli readme docs editor
  tokens-rotation
`
  .trim()
  .split(/\s+/)
/** Each takes half a minute, most of it for npm and TypeScript. `.ci/run` follows them with --skipped. */
const tutorial = /^tutorials-/
const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    all: { type: 'boolean' },
    coverage: { type: 'boolean' },
    skipped: { type: 'boolean' },
    node: { type: 'string', multiple: true },
  },
  allowPositionals: true,
})
/**
 * The optimizing compiler of WebAssembly takes more of the processor than it saves PGlite. With more room for garbage, a
 * program takes a twentieth less of it.
 */
const flags =
  '--no-warnings --enable-source-maps --liftoff-only --max-semi-space-size=64 --import ./scripts/coverage.js'.split(
    ' ',
  )
const logs = path.join(root, '.tests/logs')
const coverage = path.join(root, '.tests/coverage')
/** Where `tap report` looks for it. */
const reportedCoverage = path.join(root, '.tap/coverage')
const limit = Number(process.env.TAP_TIMEOUT ?? 600)
const nameOf = (file) => path.parse(file).name
const logOf = (name) => path.join(logs, `${name}.tap`)
const needOf = (reason) => needs[reason.replace(/^needs /, '')]

let right = 0
let wrong = 0
/** The reason of each test that was skipped. */
const skips = []
/** The seconds that following each page took (test/helpers/tutorial.ts). */
const followed = new Map()
const place = (program) => first.indexOf(nameOf(program)) + 1 || first.length + 1
const chosen = programs()
  .toSorted((a, b) => place(a) - place(b))
  .flatMap((program) => values.node?.map((node) => underNode(program, node)) ?? { program })
if (!values.skipped) for (const folder of [logs, coverage]) makeEmpty(folder)
// Some of them wait for a clock or for a server: one more than there are cores.
await severalAtATime(availableParallelism() + 1, chosen, run)
if (values.coverage && wrong === 0) await reportCoverage()
if (followed.size > 0) console.log('Tutorials, followed from an empty folder without downloads')
for (const [page, seconds] of followed) console.log(`  ${page}: ${seconds} s`)
for (const reason of new Set(skips)) {
  const install = values.quick ? 'npm run test:all' : needOf(reason)?.install
  const remedy = install === undefined ? '' : `; to run them: ${install}`
  console.log(`skipped: ${skips.filter((each) => each === reason).length} (${reason})${remedy}`)
}
const more = skips.length > 0 ? `, ${skips.length} skipped` : ''
console.log(`${right} passed, ${wrong} failed${more}`)
if (wrong > 0) process.exitCode = 1

function makeEmpty(folder) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}

/** All of lib/, but for the files that only the skipped tests cover. */
async function reportCoverage() {
  makeEmpty(reportedCoverage)
  const leftOut = [...new Set(skips.flatMap((reason) => needOf(reason)?.covers ?? []))]
  if (leftOut.length > 0) console.log(`coverage is not enforced for ${leftOut.join(', ')}`)
  const scripts = leftOut.map((name) => `/.tests/${name.replace(/ts$/, 'js')}`)
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(path.join(coverage, file), 'utf8'))
    const reported = result.filter(({ url }) => !scripts.some((script) => url.endsWith(script)))
    writeFileSync(path.join(reportedCoverage, file), JSON.stringify({ result: reported }))
  }
  const tap = path.join(root, 'node_modules/tap/dist/esm/run.mjs')
  const args = [tap, 'report', '--no-allow-incomplete-coverage', '--no-allow-empty-coverage']
  const { code, seconds } = await runNode(args, { stdio: 'inherit' })
  console.log(`${code === 0 ? 'ok' : 'FAILED'}: coverage (${seconds} s)`)
  if (code !== 0) wrong += 1
}

function programs() {
  if (positionals.length > 0) return positionals
  const all = readdirSync(path.join(root, '.tests/run'), { encoding: 'utf8' }).map(nameOf)
  const isLeft = (name) => !existsSync(logOf(name)) || reasonsIn(logOf(name)).length > 0
  const isQuick = (name) =>
    !readFileSync(path.join(root, `.tests/run/${name}.js`), 'utf8').startsWith('//')
  const isWanted = (name) => !tutorial.test(name) && (values.all || isQuick(name))
  const names = all.filter(values.skipped ? isLeft : isWanted)
  return names.map((name) => `.tests/run/${name}.js`)
}

/** A program has a folder for what its tests write, by its name: under each Node.js it has another one. */
function underNode(program, node) {
  const bin = path.dirname(node)
  const version = path.basename(path.dirname(bin))
  const copy = `.tests/${version}/${nameOf(program)}-${version}.js`
  cpSync(path.join(root, program), path.join(root, copy))
  return { program: copy, node, env: { PATH: `${bin}${path.delimiter}${process.env.PATH}` } }
}

async function run({ program, node, env }) {
  const name = nameOf(program)
  const log = logOf(name)
  const output = await open(log, 'w')
  const { code, seconds } = await runNode([...flags, program], {
    node,
    stdio: ['ignore', output.fd, output.fd],
    env: {
      ...process.env,
      ...env,
      TAP_TIMEOUT: String(limit),
      ...(values.quick && { TESTS_LEAVE_OUT: Object.keys(needs).join(',') }),
      ...(values.coverage && { COVERAGE_FILE: path.join(coverage, `${name}.json`) }),
    },
    // After tap's own limit, which says which test was running.
    timeout: (limit + 10) * 1000,
    killSignal: 'SIGKILL',
  })
  await output.close()
  const text = readFileSync(log, 'utf8')
  const { pass, fail } = totals(text, code)
  const reasons = reasonsIn(log)
  const failed = values.skipped ? fail + reasons.length : fail
  right += pass
  wrong += failed
  skips.push(...reasons)
  // A page that is followed in parts has several.
  for (const [, page, seconds] of text.matchAll(/^ *# (docs\/start\/\S+): (\d+) s$/gm)) {
    followed.set(page, (followed.get(page) ?? 0) + Number(seconds))
  }
  console.log(`${failed === 0 ? 'ok' : `FAILED with ${code}`}: ${name} (${seconds} s)`)
  if (failed > 0) console.log(failures(text))
}

/** Why tests were skipped, as they say it, once for each of them. */
function reasonsIn(log) {
  return [...readFileSync(log, 'utf8').matchAll(/^ *ok .*# SKIP (.*)$/gm)].map(
    ([, reason]) => reason,
  )
}

/** What tap says at the end: `# { total: 3, pass: 2, skip: 1 }`. A program that has tried nothing has failed. */
function totals(text, code) {
  const summary = text.match(/^# \{ total: .*\}$/gm)?.at(-1)
  const count = (word) => Number(summary?.match(new RegExp(`${word}: (\\d+)`))?.[1] ?? 0)
  const pass = count('pass')
  const fail = count('fail')
  const nothing = code !== 0 || pass + count('skip') === 0
  return { pass, fail: fail === 0 && nothing ? 1 : fail }
}

/** The assertions that failed, each with what tap says about it, or else the end of what was printed */
function failures(text) {
  const assertions = text.match(/^( *)not ok .*\n\1 {2}---\n[^]*?^\1 {2}\.\.\.$/gm)
  return assertions?.join('\n') ?? text.split('\n').slice(-20).join('\n')
}
