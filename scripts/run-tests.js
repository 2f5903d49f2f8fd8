// Runs compiled tests (scripts/compile-tests.js), each program in a process of its own. Tells the seconds of
// each, what failed, and at the end what was skipped and why; the last line says how many assertions were right and wrong.
//
//   node scripts/run-tests.js                       all programs of .tests/run/
//   node scripts/run-tests.js .tests/run/jwt.js …   these
//     --skipped       those of which the last run has skipped a test; a test that is skipped again has failed
//     --coverage      fails too when they, with the last run for --skipped, leave out more of lib/ than .taprc allows
//     --limit=100     the seconds that a program may take, if not 280
//
// Not `tap` itself: it puts a module loader into each program and each process that a test starts, which costs
// 0.8 s of CPU in each program and 0.1 to 0.5 s in each of the others.
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { explainSkips, uncovered } from './needs.js'
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
  options: {
    coverage: { type: 'boolean' },
    limit: { type: 'string', default: '280' },
    skipped: { type: 'boolean' },
  },
  allowPositionals: true,
})
const logs = path.join(root, '.tests/logs')
const coverage = path.join(root, '.tests/coverage')
/** Where `tap report` looks for it. */
const reportedCoverage = path.join(root, '.tap/coverage')

let right = 0
let wrong = 0
/** The reason of each test that was skipped. */
const skips = []
const chosen = inOrder(programs())
if (!values.skipped) for (const folder of [logs, coverage]) makeEmpty(folder)
// Some of them wait for a clock or for a server: one more than there are cores.
await severalAtATime(availableParallelism() + 1, chosen, run)
if (values.coverage && wrong === 0) await reportCoverage()
for (const line of explainSkips(skips)) console.log(line)
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
  const leftOut = uncovered(skips)
  if (leftOut.length > 0) console.log(`coverage is not enforced for ${leftOut.join(', ')}`)
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(path.join(coverage, file), 'utf8'))
    const reported = result.filter(
      ({ url }) => !leftOut.some((name) => url.endsWith(scriptOf(name))),
    )
    writeFileSync(path.join(reportedCoverage, file), JSON.stringify({ result: reported }))
  }
  const tap = path.join(root, 'node_modules/tap/dist/esm/run.mjs')
  const { code, seconds } = await runNode([tap, 'report'], { stdio: 'inherit' })
  console.log(`${code === 0 ? 'ok' : 'FAILED'}: coverage (${seconds} s)`)
  if (code !== 0) wrong += 1
}

function scriptOf(source) {
  return `/.tests/${source.replace(/ts$/, 'js')}`
}

function programs() {
  if (positionals.length > 0) return positionals
  if (values.skipped) {
    const incomplete = readdirSync(logs).filter(
      (file) => reasonsIn(path.join(logs, file)).length > 0,
    )
    return incomplete.map((file) => `.tests/run/${path.basename(file, '.tap')}.js`)
  }
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
  const reasons = reasonsIn(log)
  const failed = values.skipped ? fail + reasons.length : fail
  right += pass
  wrong += failed
  skips.push(...reasons)
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
