// Also holds lib/cli/ring/change.ts and lib/cli/ring/write.ts.
import { spawn } from 'node:child_process'
import type { FileHandle } from 'node:fs/promises'
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { thisMachine, type Files } from '../../../lib/cli/ring/files.js'
import { parseKeySetFile } from '../../../lib/tokens/keys/entries.js'
import { cli } from '../../helpers/cli.js'
import { programOf } from '../../helpers/project.js'
import { rotateBySteps } from '../../helpers/ring-steps.js'

const isWindows = process.platform === 'win32'

/** The program of the child in one file, which loads quickly. */
async function buildChild(folder: string): Promise<string> {
  const program = path.join(folder, 'child.mjs')
  await build({
    entryPoints: [programOf('test/helpers/ring-child.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return program
}

/** What a rotation came to. */
interface Rotation {
  readonly steps: readonly string[]
  readonly end: string | number | null
}

/** Rotates a ring in a process of its own, which is killed at a step. */
async function rotateInChild(program: string, file: string, killedAt = 0): Promise<Rotation> {
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

/** A number that no process has. */
const gone = { pid: 2_147_483_647, mark: 'of a process that is gone' }

/** Rotates a ring in this process, as one that is gone: at a step it stops, and nothing of it runs any more. */
async function rotateAsOneGone(file: string, stopsAt = 0): Promise<Rotation> {
  const steps: string[] = []
  const handles: FileHandle[] = []
  const open: Files['open'] = async (...words) => {
    const handle = await thisMachine.files.open(...words)
    handles.push(handle)
    return handle
  }
  const machine = { ...gone, files: { ...thisMachine.files, open } }
  const end = await new Promise<string | number>((resolve, reject) => {
    const now = (): Promise<never> => {
      resolve('stopped')
      return new Promise(() => undefined)
    }
    const told = (name: string): void => void steps.push(name)
    rotateBySteps(file, machine, told, { at: stopsAt, now }).then(() => resolve(0), reject)
  })
  // As the system closes them.
  await Promise.all(handles.map((handle) => handle.close()))
  return { steps, end }
}

const statesIn = (file: string): string[] =>
  parseKeySetFile(readFileSync(file, 'utf8'), file).map(({ state }) => state)

t.test('gone at each step: the ring is the old one or the new one', async (t) => {
  const root = t.testdir({ before: {} })
  const before = path.join(root, 'before/ring.json')
  t.equal((await cli(['keys', 'init', 'HS256', '--ring', before])).exit, 0)
  const copy = (name: string): string => {
    mkdirSync(path.join(root, name))
    const file = path.join(root, name, 'ring.json')
    cpSync(before, file)
    return file
  }
  const { steps: names, end } = await rotateAsOneGone(copy('whole'))
  t.equal(end, 0)
  t.ok(names.length > 20, `${names.length} steps`)
  t.equal(names.filter((name) => name === 'rename').length, 1)
  const renamed = names.indexOf('rename') + 1

  async function recovers(file: string, step: number): Promise<void> {
    const isNew = step > renamed
    const states = isNew ? ['verify', 'sign', 'next'] : ['sign', 'next']
    t.strictSame(statesIn(file), states, `gone before step ${step}, ${names[step - 1]}`)
    // The lock of a process that is gone is broken at once, and what it left behind is removed.
    const { exit, stderr } = await cli(['keys', 'rotate', '--ring', file, '--settle', '0'])
    t.equal(exit, 0, stderr)
    t.strictSame(
      statesIn(file),
      isNew ? ['verify', 'verify', 'sign', 'next'] : ['verify', 'sign', 'next'],
    )
    t.strictSame(readdirSync(path.dirname(file)), ['ring.json'])
  }

  for (const step of names.map((_, index) => index + 1)) {
    const file = copy(`gone-${step}`)
    t.match(await rotateAsOneGone(file, step), { steps: { length: step }, end: 'stopped' })
    await recovers(file, step)
  }

  await t.test('and killed: while it writes, and on both sides of the renaming', async (t) => {
    const program = await buildChild(root)
    const writing = names.flatMap((name, index) => (name === 'writeFile' ? [index + 1] : []))
    t.equal(writing.length, 2, 'the lock, and the ring')
    for (const step of [...writing, renamed, renamed + 1]) {
      const file = copy(`killed-${step}`)
      const killed = await rotateInChild(program, file, step)
      t.strictSame(killed.steps, names.slice(0, step), 'the steps of a process are the same')
      if (!isWindows) t.equal(killed.end, 'SIGKILL', `step ${step}`)
      await recovers(file, step)
    }
  })
})

t.test('five processes at once rotate five times, one after the other', async (t) => {
  const folder = t.testdir({ ring: {} })
  const file = path.join(folder, 'ring/ring.json')
  t.equal((await cli(['keys', 'init', 'HS256', '--ring', file])).exit, 0)
  const program = await buildChild(folder)
  const ends = await Promise.all(Array.from({ length: 5 }, () => rotateInChild(program, file)))
  t.strictSame(
    ends.map(({ end }) => end),
    Array.from({ length: 5 }, () => 0),
  )
  const entries = parseKeySetFile(readFileSync(file, 'utf8'), file)
  t.strictSame(
    entries.map(({ state }) => state),
    [...Array.from({ length: 5 }, () => 'verify'), 'sign', 'next'],
  )
  t.equal(new Set(entries.map(({ kid }) => kid)).size, 7)
  t.strictSame(readdirSync(path.dirname(file)), ['ring.json'])
})
