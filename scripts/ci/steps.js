// Runs the lines of its input in a clone of the repository, each by bash in a process group of its own, of which nothing
// is left when it ends. In these lines, $WORK is a folder that is removed at the end.
//
//   command          a step: it fails by its exit code, or by its last line `3 passed, 1 failed`
//   command &        the same, beside the steps that follow; of these, one runs after the other
//   wait             until those have ended
//   told: command    is not counted
//
// At the end come the seconds of each step, and a line that says how much passed and failed.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync } from 'node:fs'
import { readFileSync, readSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** No step takes as long, unless it hangs. */
const limit = 600
const work = mkdtempSync(path.join(tmpdir(), 'ci-'))
const cwd = path.join(work, 'clone')
const running = new Set()
const summary = []
const count = { passed: 0, failed: 0 }
let ended = false

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.once(signal, () => end(code))
}
process.once('uncaughtException', (error) => {
  console.error(error)
  return end(1)
})

chmodSync(work, 0o755)
execFileSync('git', ['clone', '-q', '.', cwd])
const lines = readFileSync(0, 'utf8')
  .split('\n')
  .map((line) => line.trim())
  .filter((line) => line !== '' && !line.startsWith('#'))
let others = Promise.resolve()
console.log(`== Node ${process.version}`)
for (const line of lines) {
  if (line === 'wait') await others
  else if (line.endsWith(' &')) others = others.then(() => runBeside(line.slice(0, -2)))
  else report(line, await run(line, (text) => process.stdout.write(text)))
}
await others
await end(0)

/** Runs a line, whose output is told when it ends. */
async function runBeside(line) {
  let output = ''
  const result = await run(line, (text) => (output += text), 'beside')
  process.stdout.write(output)
  report(line, result, ', beside')
}

async function run(line, write, where = 'step') {
  if (where === 'step') console.log(`\n== ${line}`)
  const start = performance.now()
  const log = path.join(work, `${where}.log`)
  const output = openSync(log, 'w')
  const child = spawn('bash', ['-c', line.replace(/^told: /, '')], {
    cwd,
    env: environment(),
    detached: true,
    stdio: ['ignore', output, output],
  })
  running.add(child.pid)
  const stop = setTimeout(() => kill(child.pid), limit * 1000)
  const exit = once(child, 'exit')
  // What the step writes goes to a file: a process that outlives it would keep a pipe open.
  const reading = openSync(log, 'r')
  const buffer = Buffer.alloc(65_536)
  let text = ''
  const copy = () => {
    for (let size; (size = readSync(reading, buffer)) > 0;) {
      const more = buffer.toString('utf8', 0, size)
      text = (text + more).slice(-100_000)
      write(more)
    }
  }
  const timer = setInterval(copy, 200)
  const [code, signal] = await exit
  clearInterval(timer)
  clearTimeout(stop)
  kill(child.pid)
  running.delete(child.pid)
  copy()
  closeSync(reading)
  closeSync(output)
  const seconds = Math.round((performance.now() - start) / 1000)
  return { code: code ?? signal, seconds, text }
}

/** Counts what a step says that it has tried; if it says nothing, the step itself. */
function report(line, { code, seconds, text }, where = '') {
  const name = line.length > 90 ? `${line.slice(0, 90)}…` : line
  if (!line.startsWith('told: ')) {
    const told = [...text.matchAll(/^(\d+) passed, (\d+) failed.*$/gm)].at(-1)
    const [passed, failed] = told?.slice(1).map(Number) ?? [Number(code === 0), 0]
    const isRight = code === 0 && passed > 0
    count.passed += passed
    count.failed += isRight ? failed : Math.max(failed, 1)
  }
  console.log(`-- ${name}: ${seconds} s${where}, exit code ${code}`)
  summary.push(`${String(seconds).padStart(8)} s  ${name}${where}`)
  for (const [page] of text.matchAll(/^ {2}docs\/start\/.*$/gm)) summary.push(`            ${page}`)
}

/** What steps get: the servers that Debian installs outside of PATH, too. */
function environment() {
  const servers = '/usr/lib/postgresql'
  const versions = existsSync(servers) ? readdirSync(servers) : []
  const folders = [...versions.map((version) => `${servers}/${version}/bin`), '/usr/sbin']
  return {
    ...process.env,
    PATH: [process.env.PATH, ...folders].join(':'),
    WORK: work,
    CI: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_loglevel: 'error',
    npm_config_update_notifier: 'false',
  }
}

function kill(pid, signal = 'SIGKILL') {
  try {
    process.kill(-pid, signal)
  } catch {
    // Nothing of the group is left.
  }
}

async function end(code) {
  if (ended) return
  ended = true
  for (const pid of running) kill(pid, 'SIGTERM')
  if (running.size > 0) await sleep(200)
  for (const pid of running) kill(pid)
  rmSync(work, { recursive: true, force: true, maxRetries: 3 })
  if (code !== 0) count.failed += 1
  console.log(`\n== ${Math.round(performance.now() / 1000)} s in all\n${summary.join('\n')}`)
  console.log(`${count.passed} passed, ${count.failed} failed`)
  process.exit(code || Number(count.failed > 0))
}
