// Also holds lib/cli/ring/files.ts.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { thisMachine, type Machine } from '../../../lib/cli/ring/files.js'
import { withLock } from '../../../lib/cli/ring/lock.js'
import { rejectionOf } from '../../helpers/errors.js'
import { failing, machineWith } from '../../helpers/machine.js'

const hasModes = process.platform !== 'win32'
const start = Date.parse('2027-01-01T12:00:00Z')
const impatient: Machine = { ...thisMachine, patience: 30, now: () => start }

/** A folder with a ring that nobody reads, and with a lock. */
function ringWith(
  t: Test,
  lock?: object | string,
): { ring: string; lock: string; names(): string[] } {
  const folder = t.testdir()
  const ring = path.join(folder, 'ring.json')
  if (lock !== undefined)
    writeFileSync(`${ring}.lock`, typeof lock === 'string' ? lock : JSON.stringify(lock))
  return { ring, lock: `${ring}.lock`, names: () => readdirSync(folder) }
}

const time = (secondsAgo: number): string => new Date(start - secondsAgo * 1000).toISOString()
const { host, mark } = thisMachine
/** Another process, which is there. */
const pid = process.ppid
/** No process has this number: it is the largest one, which Linux and macOS do not give away. */
const nobody = 2_147_483_647

t.test('it names the process, the host and the time, and goes', async (t) => {
  const { ring, lock, names } = ringWith(t)
  const result = await withLock(impatient, ring, async ({ isOurs }) => {
    const { count, ...content } = JSON.parse(readFileSync(lock, 'utf8')) as Record<string, unknown>
    t.strictSame(content, { pid: process.pid, host, time: time(0), mark })
    t.type(count, 'number')
    t.ok(await isOurs())
    t.strictSame(names(), ['ring.json.lock'])
    return 5
  })
  t.equal(result, 5)
  t.strictSame(names(), [])
  t.match(await rejectionOf(withLock(impatient, ring, failing('EWORK'))), { code: 'EWORK' })
  t.strictSame(names(), [], 'also when the work fails')
})

t.test('one at a time', async (t) => {
  const { ring } = ringWith(t)
  let inside = 0
  let done = 0
  await Promise.all(
    Array.from({ length: 8 }, () =>
      withLock(thisMachine, ring, async () => {
        inside += 1
        t.equal(inside, 1)
        await later(2)
        inside -= 1
        done += 1
      }),
    ),
  )
  t.equal(done, 8)
})

t.test('held by another process: waiting ends', async (t) => {
  const holders: [holder: object | string, message: RegExp][] = [
    [
      { pid, host, time: time(5) },
      new RegExp(
        `: process ${pid} on ".*" held the lock ".*", for 5 s; gave up after 0\\.03 s\\. Nothing was changed\\.$`,
      ),
    ],
    [{ pid: nobody, host: 'elsewhere', time: time(30) }, /process \d+ on "elsewhere" held/],
    [{ pid: nobody, host: 'el\u001b[2J\n"se', time: time(1) }, /on "el\\u001b\[2J\\n\\"se" held/],
    [{ pid: -1, host, time: time(1) }, /another process on/],
    [{ pid: '1; rm', host, time: time(1) }, /another process on/],
    [{ pid, host: 5, time: time(1) }, /process \d+ held/],
  ]
  for (const [holder, message] of holders) {
    const { ring, names } = ringWith(t, holder)
    const { error } = await rejectionOf(withLock(impatient, ring, async () => t.fail('not locked')))
    t.match(error, { exit: 1, message: new RegExp(message.source.replace(/^: /, '')) })
    t.strictSame(names(), ['ring.json.lock'], 'and it stays')
  }
})

t.test('broken: of a process that is gone, and older than 30 seconds', async (t) => {
  const stale = [
    { pid: nobody, host, time: time(0) },
    { pid, host, time: time(31) },
    // The number of this process, from a time when another one had it.
    { pid: process.pid, host, time: time(0) },
    { pid: process.pid, host, time: time(0), mark: 'another' },
    { pid: nobody, host: 'elsewhere', time: time(31) },
    { time: time(40) },
  ]
  for (const holder of stale) {
    const { ring, lock, names } = ringWith(t, holder)
    await withLock(impatient, ring, async () => {
      t.match(JSON.parse(readFileSync(lock, 'utf8')), { pid: process.pid, host, time: time(0) })
    })
    t.strictSame(names(), [], JSON.stringify(holder))
  }
})

t.test('a lock that tells no time, or one to come: the disk does', async (t) => {
  for (const text of [
    '',
    '{',
    '5',
    'null',
    '[]',
    { time: 5 },
    { time: 'soon' },
    { pid, host, time: time(-90) },
  ]) {
    const old = ringWith(t, text)
    utimesSync(old.lock, start / 1000, start / 1000 - 31)
    t.equal(await withLock(impatient, old.ring, async () => 1), 1)
    const fresh = ringWith(t, text)
    utimesSync(fresh.lock, start / 1000, start / 1000 - 29)
    const { message } = await rejectionOf(withLock(impatient, fresh.ring, async () => 1))
    t.match(message, /held the lock/, JSON.stringify(text))
  }
})

t.test('what is no lock is neither followed nor taken away', async (t) => {
  const linked = ringWith(t)
  const target = path.join(path.dirname(linked.ring), 'target')
  writeFileSync(target, JSON.stringify({ pid: nobody, host, time: time(99) }))
  symlinkSync(target, linked.lock)
  const problem = await rejectionOf(withLock(impatient, linked.ring, async () => 1))
  if (hasModes) t.match(problem.message, /the lock file ".*" cannot be read \(ELOOP\)\./)
  t.match(problem.error, { exit: 1, remedy: /not one of ours/ })
  t.match(readFileSync(target, 'utf8'), 'time')
  t.strictSame(linked.names().toSorted(), ['ring.json.lock', 'target'])
  const folder = ringWith(t)
  mkdirSync(folder.lock)
  t.match(await rejectionOf(withLock(impatient, folder.ring, async () => 1)), {
    message: /is not a regular file|cannot be read/,
  })
  const long = ringWith(t, ' '.repeat(1_048_577))
  t.match(await rejectionOf(withLock(impatient, long.ring, async () => 1)), {
    message: /is longer than 1 MiB/,
  })
})

t.test('two that break the same lock: the second one puts back what it took', async (t) => {
  const { ring, lock, names } = ringWith(t, { pid: nobody, host, time: time(0) })
  const theirs = JSON.stringify({ pid, host, time: time(0), id: 'theirs' })
  let renamed = 0
  const late = machineWith(
    {
      async rename(from: string, to: string) {
        renamed += 1
        // Another process was faster, and holds a lock of its own by now.
        if (renamed === 1) writeFileSync(from, theirs)
        await thisMachine.files.rename(from, to)
      },
    },
    { patience: 30, now: () => start },
  )
  t.match(await rejectionOf(withLock(late, ring, async () => 1)), { message: /held the lock/ })
  t.equal(readFileSync(lock, 'utf8'), theirs)
  t.strictSame(names(), ['ring.json.lock'])
})

t.test('a lock that somebody else takes away in between', async (t) => {
  const { ring } = ringWith(t, { pid: nobody, host, time: time(0) })
  const gone = machineWith({
    async rename(from: string) {
      await thisMachine.files.unlink(from)
      return failing('ENOENT')()
    },
  })
  t.equal(await withLock(gone, ring, async () => 1), 1)
  const stuck = ringWith(t, { pid: nobody, host, time: time(0) })
  const { message } = await rejectionOf(
    withLock(machineWith({ rename: failing('EPERM') }), stuck.ring, async () => 1),
  )
  t.match(message, /the old lock file ".*" cannot be taken away \(EPERM\)\./)
})

t.test('a lock that was broken is not ours, and is not taken away', async (t) => {
  const { ring, lock, names } = ringWith(t)
  await withLock(impatient, ring, async ({ isOurs }) => {
    writeFileSync(lock, '{"pid":1}')
    t.notOk(await isOurs())
  })
  t.strictSame(names(), ['ring.json.lock'])
})

t.test('where it cannot be made', async (t) => {
  const { ring } = ringWith(t)
  for (const code of ['EACCES', 'EROFS', 'ENOSPC']) {
    const { error, message } = await rejectionOf(
      withLock(machineWith({ open: failing(code) }), ring, async () => 1),
    )
    t.match(message, new RegExp(`the lock file ".*\\.lock" cannot be made \\(${code}\\)\\.`))
    t.match(error, { exit: 1, remedy: /write to the folder/ })
  }
})

t.test('a disk without hard links', async (t) => {
  const { ring, lock, names } = ringWith(t)
  const fat = machineWith({ link: failing('EPERM') }, { patience: 30 })
  await withLock(fat, ring, async () => {
    t.match(JSON.parse(readFileSync(lock, 'utf8')), { pid: process.pid })
    t.match(await rejectionOf(withLock(fat, ring, async () => 1)), { message: /held the lock/ })
  })
  t.strictSame(names(), [])
})

t.test('a process of another user is there', async (t) => {
  const kill = process.kill.bind(process)
  t.teardown(() => Object.assign(process, { kill }))
  const errors = ['EPERM', 'ESRCH']
  Object.assign(process, {
    kill() {
      throw Object.assign(new Error('no'), { code: errors.shift() })
    },
  })
  t.strictSame([thisMachine.isRunning(1), thisMachine.isRunning(1)], [true, false])
})

t.test(
  'the lock is readable by its owner alone, whatever the mask',
  { skip: !hasModes },
  async (t) => {
    const { ring, lock } = ringWith(t)
    const before = process.umask(0)
    t.teardown(() => process.umask(before))
    for (const mask of [0, 0o777]) {
      process.umask(mask)
      await withLock(impatient, ring, async () => {
        const { mode } = await thisMachine.files.stat(lock)
        t.equal(mode & 0o777, 0o600)
      })
    }
    chmodSync(path.dirname(ring), 0o700)
  },
)
