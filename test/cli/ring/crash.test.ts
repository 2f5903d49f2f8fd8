// Also holds lib/cli/ring/change.ts and lib/cli/ring/write.ts.
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { parseRingFile } from '../../../lib/jwt/ring/entries.js'
import { cli } from '../../helpers/cli.js'
import { programOf } from '../../helpers/project.js'

const isWindows = process.platform === 'win32'

/** The program of the child in one file, which loads quickly: it is started often. */
const program = path.join(t.testdir(), 'child.mjs')
await build({
  entryPoints: [programOf('test/helpers/ring-child.ts')],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
})

/** Rotates a ring in a process of its own. @returns the steps that it came to, and how it ended */
async function rotateInChild(
  file: string,
  killedAt = 0,
): Promise<{ steps: string[]; end: string | number | null }> {
  const child = spawn(process.execPath, ['--no-warnings', program, file, String(killedAt)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const end = await new Promise<string | number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(signal ?? code))
  })
  return { steps: text.trim().split('\n'), end }
}

const statesIn = (file: string): string[] =>
  parseRingFile(readFileSync(file, 'utf8'), file).map(({ state }) => state)

t.test('killed at each step: the ring is the old one or the new one', async (t) => {
  const root = t.testdir({ before: {} })
  const before = path.join(root, 'before/ring.json')
  t.equal((await cli(['keys', 'init', 'HS256', '--ring', before])).exit, 0)
  const copy = (name: string): string => {
    mkdirSync(path.join(root, name))
    const file = path.join(root, name, 'ring.json')
    cpSync(before, file)
    return file
  }
  const whole = await rotateInChild(copy('whole'))
  t.equal(whole.end, 0)
  const names = whole.steps.map((step) => step.split(' ')[1])
  t.equal(names.filter((name) => name === 'rename').length, 1)
  const renamed = names.indexOf('rename') + 1
  const waiting = names.map((_, index) => index + 1)
  const killed: number[] = []
  async function killOneAfterTheOther(): Promise<void> {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const file = copy(`killed-${step}`)
      const { steps, end } = await rotateInChild(file, step)
      t.equal(steps.length, step)
      if (!isWindows) t.equal(end, 'SIGKILL', `step ${step}`)
      const isNew = step > renamed
      const states = isNew ? ['verify', 'sign', 'next'] : ['sign', 'next']
      t.strictSame(statesIn(file), states, `killed before step ${steps.at(-1)}`)
      // The lock of a process that is gone is broken at once, and what it left behind is removed.
      const { exit, stderr } = await cli(['keys', 'rotate', '--ring', file, '--settle', '0'])
      t.equal(exit, 0, stderr)
      t.strictSame(
        statesIn(file),
        isNew ? ['verify', 'verify', 'sign', 'next'] : ['verify', 'sign', 'next'],
      )
      t.strictSame(readdirSync(path.dirname(file)), ['ring.json'])
      killed.push(step)
    }
  }
  await Promise.all([killOneAfterTheOther(), killOneAfterTheOther(), killOneAfterTheOther()])
  t.equal(killed.length, names.length)
  t.ok(names.length > 20, `${names.length} steps`)
})

t.test('ten processes at once rotate ten times, one after the other', async (t) => {
  const file = path.join(t.testdir(), 'ring.json')
  t.equal((await cli(['keys', 'init', 'HS256', '--ring', file])).exit, 0)
  const ends = await Promise.all(Array.from({ length: 10 }, () => rotateInChild(file)))
  t.strictSame(
    ends.map(({ end }) => end),
    Array.from({ length: 10 }, () => 0),
  )
  const entries = parseRingFile(readFileSync(file, 'utf8'), file)
  t.strictSame(
    entries.map(({ state }) => state),
    [...Array.from({ length: 10 }, () => 'verify'), 'sign', 'next'],
  )
  t.equal(new Set(entries.map(({ kid }) => kid)).size, 12)
  t.strictSame(readdirSync(path.dirname(file)), ['ring.json'])
})
