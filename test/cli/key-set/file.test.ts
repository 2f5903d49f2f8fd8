// What may happen to a key set file: processes that change it at once, that are killed, and disks that are full.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs, {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'
import t from 'tap'
import { withLock } from '../../../lib/cli/key-set/lock.js'
import { cli } from '../../helpers/cli.js'
import { rejectionOf } from '../../helpers/errors.js'
import { programOf } from '../../helpers/project.js'
import type { KeyFileEntry } from '../../../types/keys.js'

const posix = { skip: process.platform === 'win32' && 'needs signals of POSIX' }
/** A number that no process has. */
const gone = 2_147_483_646

const kidsOf = (file: string): (string | undefined)[] =>
  (JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]).map(({ kid }) => kid)
const rotate = (file: string) => cli(['keys', 'rotate', '--settle', '0', '--key-set', file])
const claim = (pid: number, age = 0, host = hostname()): string =>
  `\n${pid} ${host} ${new Date(Date.now() - age * 1000).toISOString()} ${randomUUID()}\n`

/** A key set in a folder of its own, and a program that rotates it as often as it is told. */
async function prepare(folder: string, alg: string): Promise<{ file: string; program: string }> {
  const program = path.join(folder, 'rotate.mjs')
  await build({
    stdin: {
      contents: `
        import { run } from ${JSON.stringify(programOf('lib/cli/main.ts'))}
        const [file, times] = process.argv.slice(2)
        const words = ['keys', 'rotate', '--settle', '0', '--key-set', file]
        for (let left = Number(times); left > 0; left--) process.exitCode ||= await run(words, process)`,
      resolveDir: folder,
    },
    outfile: program,
    bundle: true,
    packages: 'external',
    external: ['../index.js'],
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  const file = path.join(folder, 'keys/keys.json')
  await cli(['keys', 'init', ...alg.split(' '), '--key-set', file])
  return { file, program }
}

function start(program: string, file: string, times: number): ChildProcess {
  const words = ['--no-warnings', program, file, String(times)]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  child.stdout.resume()
  return child
}

t.test('processes that rotate at once lose no key, even with a stale lock', async (t) => {
  const { file, program } = await prepare(t.testdir(), 'HS256')
  writeFileSync(`${file}.lock`, claim(gone))
  const children = Array.from({ length: 4 }, () => start(program, file, 5))
  const ends = await Promise.all(children.map((child) => once(child, 'close')))
  const found = ends.map(([code]) => code as unknown)
  t.strictSame(found, [0, 0, 0, 0])
  t.equal(new Set(kidsOf(file)).size, 22)
  t.strictSame(readdirSync(path.dirname(file)), ['keys.json'])
})

t.test('a process that is killed leaves the old or the new key set', posix, async (t) => {
  const { file, program } = await prepare(t.testdir(), 'HS256')
  let before = kidsOf(file)
  for (let round = 0; round < 4; round++) {
    const child = start(program, file, 50)
    await once(child.stdout ?? child, 'data')
    await sleep(Math.random() * 30)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const kids = kidsOf(file)
    t.strictSame(kids.slice(0, before.length), before, 'no key is lost')
    t.equal((await rotate(file)).exit, 0, 'its lock is taken over at once')
    before = kidsOf(file)
    if (before.length > 60) {
      writeFileSync(file, JSON.stringify((JSON.parse(readFileSync(file, 'utf8')) as []).slice(-3)))
      before = kidsOf(file)
    }
  }
  t.notOk(existsSync(`${file}.lock`))
})

t.test('a full disk leaves the key set as it was', posix, async (t) => {
  const { file, program } = await prepare(t.testdir(), 'RS256 --bits 2048')
  const before = readFileSync(file, 'utf8')
  // 5120 bytes, in blocks of 512: the new file has more.
  const line = `ulimit -f 10; '${process.execPath}' --no-warnings '${program}' '${file}' 1`
  const [code] = (await once(spawn('sh', ['-c', line], { stdio: 'ignore' }), 'close')) as unknown[]
  t.not(code, 0)
  t.equal(readFileSync(file, 'utf8'), before)

  t.intercept(fs, 'rename', {
    value: (_from: string, _to: string, done: (error: Error) => void) =>
      done(Object.assign(new Error('full'), { code: 'ENOSPC' })),
  })
  const ran = await rotate(file)
  t.match(ran, {
    exit: 1,
    stdout: '',
    stderr: /cannot be written \(ENOSPC\)\. Nothing was changed/,
  })
  t.equal(readFileSync(file, 'utf8'), before)
  t.strictSame(readdirSync(path.dirname(file)), ['keys.json'])
})

t.test('a lock is taken over if its process is gone or its time is up', async (t) => {
  const file = path.join(t.testdir(), 'file')
  for (const text of [
    claim(gone),
    claim(process.pid, 31),
    claim(process.pid, 31, 'other'),
    // Processes that were killed as they claimed it.
    '',
    claim(gone) + claim(gone) + claim(process.pid).slice(0, -9),
  ]) {
    writeFileSync(`${file}.lock`, text)
    t.equal(await withLock(file, async () => 'done', 1000), 'done')
    t.strictSame(readdirSync(path.dirname(file)), [])
  }
})

t.test('one process at a time takes a stale lock over', async (t) => {
  const file = path.join(t.testdir(), 'file')
  writeFileSync(`${file}.lock`, claim(gone))
  let working = 0
  const work = async () => {
    working += 1
    await sleep(5)
    return working--
  }
  const all = await Promise.all(Array.from({ length: 8 }, () => withLock(file, work)))
  t.strictSame(new Set(all), new Set([1]))
})

t.test('a lock of a living process or of another host is not taken over', async (t) => {
  const file = path.join(t.testdir(), 'file')
  const never = () => Promise.reject(new Error('not to be called'))
  for (const text of [claim(process.pid, 20), claim(gone, 20, 'of.another.host')]) {
    writeFileSync(`${file}.lock`, text)
    const { message, error } = await rejectionOf(withLock(file, never, 100))
    t.match(message, /process \d+ held the lock/)
    t.match(error, { exit: 1 })
    t.ok(readFileSync(`${file}.lock`, 'utf8').startsWith(text))
  }
  mkdirSync(`${file}2.lock`)
  const noFile = await rejectionOf(withLock(`${file}2`, never))
  t.match(noFile, { message: /cannot be written \(EISDIR\)/ })
})

t.test('work that outlasts its lock fails only if another process took it over', async (t) => {
  const file = path.join(t.testdir(), 'file')
  const old = () => {
    const text = readFileSync(`${file}.lock`, 'utf8')
    writeFileSync(`${file}.lock`, text.replace(/ \d{4}-\S+/, ' 2020-01-01T00:00:00.000Z'))
  }
  await withLock(file, async (requireLock) => {
    old()
    await requireLock()
    t.pass('no other process wants it')
  })
  const lost = withLock(file, async (requireLock) => {
    old()
    appendFileSync(`${file}.lock`, claim(process.pid))
    await requireLock()
  })
  t.match(await rejectionOf(lost), { message: /taken the lock over/, error: { exit: 1 } })
  t.ok(existsSync(`${file}.lock`), 'it is that of the other process')
})
