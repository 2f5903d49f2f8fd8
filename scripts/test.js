// `npm test`: builds, checks types, lint and format, compiles the tests once, and runs them. It tells the
// seconds of each step, and stops after a group of steps one of which has failed.
//
//   npm test                              everything
//   npm test -- test/flows/login.test.ts  these tests only, after all the other steps
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const require = createRequire(import.meta.url)
const bin = (name) => {
  const { bin } = require(path.join(root, 'node_modules', name, 'package.json'))
  return path.join(root, 'node_modules', name, typeof bin === 'string' ? bin : bin[name])
}
const words = process.argv
  .slice(2)
  .map((word) => word.replace(/^(?:\.\/)?test\/(.*)\.ts$/, '.tests/test/$1.js'))

/** The steps of a group run two at a time: one for each core of a small machine. */
const groups = [
  { build: ['scripts/build.js'] },
  {
    'TypeScript 6': ['scripts/typecheck.js', '6'],
    'TypeScript 7': ['scripts/typecheck.js', '7'],
    lint: [bin('oxlint'), '--type-aware'],
    format: [bin('prettier'), '--check', '--log-level', 'warn', '.'],
    'compile the tests': ['scripts/compile-tests.js'],
  },
  { tap: [bin('tap'), ...words] },
]

const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal)
    process.exitCode = 1
  })
}

for (const group of groups) {
  const names = Object.keys(group)
  const queue = [...names]
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      if (!(await run(name, group[name], names.length === 1))) process.exitCode = 1
    }
  }
  await Promise.all([worker(), worker()])
  if (process.exitCode) break
}

/** Runs a step. What it prints is kept until it has ended, unless it runs alone. @returns whether it went well */
function run(name, args, alone) {
  const start = performance.now()
  return new Promise((done) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: alone ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text))
    }
    child.once('close', (code) => {
      running.delete(child)
      process.stdout.write(output)
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      console.log(`${code === 0 ? 'ok' : 'FAILED'}: ${name} (${seconds} s)`)
      done(code === 0)
    })
  })
}
