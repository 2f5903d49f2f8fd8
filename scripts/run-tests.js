// Runs compiled tests (scripts/compile-tests.js), each program in a process of its own. Tells the seconds of
// each, what was skipped and what failed; the last line says how many assertions were right and wrong.
//
//   node scripts/run-tests.js                       all programs of .tests/run/
//   node scripts/run-tests.js .tests/run/jwt.js …   these
//     --coverage      fails too when they leave out more of lib/ than .taprc allows
//     --limit=100     the seconds that a program may take, if not 280
//
// Not `tap` itself: it puts a module loader into each program and each process that a test starts, which costs
// 0.8 s of CPU in each program and 0.1 to 0.5 s in each of the others.
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { root, runNode, severalAtATime } from './processes.js'

/** Those that take longest come first, so that none of them is left alone at the end. */
const first = [
  'flows-demo',
  'flows',
  'small',
  'readme',
  'flows-docs-page',
  'flows-demo-page',
  'sessions-stores-sql',
  'testing-attacks',
  'testing',
  'cli',
  'attacks-tokens',
  'sessions-stores-faults',
  'sessions',
  'attacks-authorization-header',
]

const { values, positionals } = parseArgs({
  options: { coverage: { type: 'boolean' }, limit: { type: 'string', default: '280' } },
  allowPositionals: true,
})
const logs = path.join(root, '.tests/logs')
const coverage = path.join(root, '.tap/coverage')
for (const folder of [logs, coverage]) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}

let right = 0
let wrong = 0
// Some of them wait for a clock or for a server: one more than there are cores.
await severalAtATime(availableParallelism() + 1, inOrder(programs()), run)
if (values.coverage && wrong === 0) {
  const tap = path.join(root, 'node_modules/tap/dist/esm/run.mjs')
  const { code, seconds } = await runNode([tap, 'report'], { stdio: 'inherit' })
  console.log(`${code === 0 ? 'ok' : 'FAILED'}: coverage (${seconds} s)`)
  if (code !== 0) wrong += 1
}
console.log(`${right} passed, ${wrong} failed`)
if (wrong > 0) process.exitCode = 1

function programs() {
  if (positionals.length > 0) return positionals
  const all = readdirSync(path.join(root, '.tests/run')).map((file) => `.tests/run/${file}`)
  const gone = first.filter((name) => !all.includes(`.tests/run/${name}.js`))
  if (gone.length > 0) throw new Error(`There is no program of this name: ${gone.join(', ')}`)
  return all
}

function inOrder(programs) {
  const place = (program) =>
    first.indexOf(path.basename(program, '.js')) + 1 || Number.MAX_SAFE_INTEGER
  return programs.toSorted((a, b) => place(a) - place(b))
}

async function run(program) {
  const name = path.basename(program, '.js')
  const log = path.join(logs, `${name}.tap`)
  const output = openSync(log, 'w')
  const { code, seconds } = await runNode(
    ['--no-warnings', '--enable-source-maps', '--import', './scripts/coverage.js', program],
    {
      stdio: ['ignore', output, output],
      // tap's limit comes before ours: it says which test was running.
      env: {
        ...process.env,
        TAP_TIMEOUT: String(values.limit - 10),
        ...(values.coverage && { COVERAGE_FILE: path.join(coverage, `${name}.json`) }),
      },
      timeout: values.limit * 1000,
      killSignal: 'SIGKILL',
    },
  )
  closeSync(output)
  const text = readFileSync(log, 'utf8')
  const { pass, fail } = totals(text, code)
  right += pass
  wrong += fail
  console.log(`${fail === 0 ? 'ok' : `FAILED with ${code}`}: ${name} (${seconds} s)`)
  for (const line of text.match(/^.*# SKIP.*$/gm) ?? []) console.log(`skipped: ${line.trim()}`)
  if (fail > 0) console.log(failures(text))
}

/** What tap says at the end: `# { total: 3, pass: 2, fail: 1 }`. A program that says nothing of it has failed. */
function totals(text, code) {
  const summary = text.match(/^# \{ total: .*\}$/gm)?.at(-1)
  const count = (word) => Number(summary?.match(new RegExp(`${word}: (\\d+)`))?.[1] ?? 0)
  const pass = count('pass')
  const fail = count('fail')
  return { pass, fail: fail === 0 && (code !== 0 || pass === 0) ? 1 : fail }
}

/** The assertions that failed, each with what tap says about it, or else the end of what was printed */
function failures(text) {
  const assertions = text.match(/^( *)not ok .*\n\1 {2}---\n[^]*?^\1 {2}\.\.\.$/gm)
  return assertions?.join('\n') ?? text.split('\n').slice(-20).join('\n')
}
