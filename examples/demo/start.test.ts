// program: its own, in npm run test:all
// `npm start`, in a copy of the project whose demo has a database that holds nothing: starting a real one
// takes seconds, and examples/demo/demo.test.ts does it. The built package is copied, not built.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { root } from '../../test/helpers/project.js'

/** A copy in which nothing has changed since it was built. */
function copyOfProject(t: Test): string {
  const copy = t.testdir()
  mkdirSync(path.join(copy, 'lib'))
  for (const name of ['scripts', 'package.json', 'tsconfig.json', 'examples/demo', 'dist']) {
    cpSync(path.join(root, name), path.join(copy, name), { recursive: true })
  }
  const database =
    'export const openDatabase = async () => ({ query: async () => [], close: async () => {} })'
  writeFileSync(path.join(copy, 'examples/demo/database.ts'), database)
  return copy
}

interface Run {
  readonly child: ChildProcess
  /** What was printed so far, stdout and stderr in one. */
  readonly printed: () => string
  /** Waits until this is printed, and gives what it matched. */
  readonly until: (pattern: RegExp) => Promise<RegExpExecArray>
  /** Waits for the end of the process; gives its exit code or its signal. */
  readonly end: () => Promise<number | string>
}

/** Runs a program in a process group of its own, all of which ends with the test. */
function start(t: Test, cwd: string, command: string, args: string[], port: string): Run {
  const env = {
    ...process.env,
    PORT: port,
    HOST: '',
    LOG_LEVEL: 'silent',
    DEMO_KEYS_DIR: `${cwd}/keys`,
  }
  const child = spawn(command, args, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  t.teardown(() => {
    try {
      process.kill(-Number(child.pid), 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (part: string) => (text += part))
  }
  return {
    child,
    printed: () => text,
    async until(pattern) {
      for (let tries = 0; tries < 4000; tries++) {
        const found = pattern.exec(text)
        if (found !== null) return found
        if (child.exitCode !== null || child.signalCode !== null) break
        await sleep(25)
      }
      throw new Error(`${String(pattern)} was not printed, but:\n${text}`)
    },
    async end() {
      await closed
      return child.exitCode ?? String(child.signalCode)
    },
  }
}

const npm = ['start', '--silent']
const listens = /listens on (http:\S+)/

t.test('npm start rejects a bad or used PORT before it builds', async (t) => {
  const copy = copyOfProject(t)
  const later = new Date(Date.now() + 60_000)
  utimesSync(path.join(copy, 'package.json'), later, later)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  for (const [given, message] of [
    ['http', 'PORT is "http", expected a number from 0 to 65535.'],
    [String(port), `Something else listens on 127.0.0.1, port ${port}.`],
  ] as const) {
    const run = start(t, copy, process.execPath, ['scripts/start.js'], given)
    t.equal(await run.end(), 1)
    t.match(run.printed(), `The demo cannot start. ${message}`)
    t.notMatch(run.printed(), 'Building')
  }

  const run = start(t, copy, process.execPath, ['scripts/start.js'], '0')
  await run.until(/^Building…$/m)
  t.equal(run.printed(), 'Building…\n', 'the first that is said where sources are newer')
})

t.test('SIGTERM and SIGINT end the server and free its port', async (t) => {
  const copy = copyOfProject(t)
  const cases: [title: string, signal: NodeJS.Signals, toGroup: boolean][] = [
    ['SIGTERM to npm alone', 'SIGTERM', false],
    ['SIGINT to npm alone', 'SIGINT', false],
    ['Ctrl-C: SIGINT to all', 'SIGINT', true],
  ]
  for (const [title, signal, toGroup] of cases) {
    await t.test(title, async (t) => {
      const run = start(t, copy, 'npm', npm, '0')
      const [, address = ''] = await run.until(listens)
      t.notMatch(run.printed(), 'Building', 'nothing has changed')
      t.equal((await fetch(address)).status, 200)
      process.kill(Number(run.child.pid) * (toGroup ? -1 : 1), signal)
      // Its output is closed when the last process that could write into it has ended.
      t.ok([0, 130, 143, 'SIGINT', 'SIGTERM'].includes(await run.end()))
      t.match(run.printed(), /\nClosed\.\n$/, 'as on Ctrl-C in the demo itself')
      await t.rejects(fetch(address), 'nothing listens there')
    })
  }
})
