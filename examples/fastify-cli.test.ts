// Projects of fastify-cli, started by the real one, which makes the app itself.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { alice } from './support/expected.js'
import { root } from '../test/helpers/project.js'

const run = promisify(execFile)
const installed = (file: string): string => path.join(root, 'node_modules', file)
const notLoadedFirst = /ERR_AUTH_MARK[^]*fastify-cli.*app\.js/

/** A copy of an example, in whose node_modules are fastify-cli and this package; the rest is found further up. */
function copy(t: Test, example: string): string {
  const home = t.testdir({ node_modules: {} })
  cpSync(path.join(root, 'examples/fastify-cli', example), home, { recursive: true })
  cpSync(installed('fastify-cli'), path.join(home, 'node_modules/fastify-cli'), { recursive: true })
  symlinkSync(root, path.join(home, 'node_modules/fastify-authn'), 'dir')
  return home
}

/** Edits a file of a copy: each of these texts has to be in it. */
function edit(home: string, file: string, ...replaced: readonly [string, string][]): void {
  const name = path.join(home, file)
  const text = replaced.reduce(
    (left, [from, to]) => {
      if (!left.includes(from)) throw new Error(`${file} has no ${from}`)
      return left.replace(from, to)
    },
    readFileSync(name, 'utf8'),
  )
  writeFileSync(name, text)
}

/** Runs `fastify start`, until it listens or has ended. */
async function start(t: Test, home: string, ...args: readonly string[]) {
  const folder = mkdtempSync(path.join(tmpdir(), 'authn-cli-'))
  const socketPath = path.join(folder, 'socket')
  const program = path.join(home, 'node_modules/fastify-cli/cli.js')
  const child = spawn(
    process.execPath,
    [program, 'start', '-l', 'info', '-s', socketPath, ...args],
    { cwd: home, timeout: 60_000, killSignal: 'SIGKILL' },
  )
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  let output = ''
  const listens = new Promise<boolean>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (part: Buffer) => {
        output += part.toString()
        if (output.includes('Server listening')) resolve(true)
      })
    }
  })
  const isListening = await Promise.race([listens, ended.then(() => false)])
  return { isListening, output: () => output, ask: ask.bind(null, socketPath) }
}

async function ask(socketPath: string, url: string, token?: string, body?: object) {
  const method = body === undefined ? 'GET' : 'POST'
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const sent = httpRequest({ socketPath, path: url, method, headers, timeout: 30_000 })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
  let text = ''
  for await (const part of response) text += String(part)
  return { status: response.statusCode, body: JSON.parse(text) as Record<string, unknown> }
}

async function expectProtected(
  t: Test,
  { isListening, output, ask }: Awaited<ReturnType<typeof start>>,
) {
  t.ok(isListening, output())
  t.strictSame(await ask('/'), { status: 200, body: { root: true } })
  t.equal((await ask('/notes')).status, 401)
  const login = await ask('/login', undefined, { username: alice.name, password: alice.password })
  const notes = await ask('/notes', String(login.body.token))
  t.strictSame(notes, { status: 200, body: { notes: [], of: 'alice' } })
}

t.test('JavaScript: a mark in routes/ protects its route', async (t) => {
  await expectProtected(t, await start(t, copy(t, 'javascript'), 'app.js'))
})

t.test('TypeScript: the project compiles, and a mark in routes/ protects its route', async (t) => {
  const home = copy(t, 'typescript')
  await run(process.execPath, [installed('typescript7/bin/tsc'), '-p', home])
  await expectProtected(t, await start(t, home, 'dist/app.js'))
})

t.test('startup fails for a route in plugins/, unless the package is loaded first', async (t) => {
  const home = copy(t, 'javascript')
  const early =
    "module.exports = require('fastify-plugin')(async (app) => app.get('/a', () => 'a'))"
  writeFileSync(path.join(home, 'plugins/a.js'), early)
  const failed = await start(t, home, 'app.js')
  t.notOk(failed.isListening)
  t.match(failed.output(), notLoadedFirst)
  await expectProtected(t, await start(t, home, '-r', 'fastify-authn', 'app.js'))
  const first = "const path = require('node:path')"
  edit(home, 'app.js', [first, `require('fastify-authn')\n${first}`])
  await expectProtected(t, await start(t, home, 'app.js'))
})

t.test('a project of ES modules', async (t) => {
  const home = copy(t, 'javascript')
  edit(home, 'package.json', ['"commonjs"', '"module"'])
  edit(
    home,
    'app.js',
    ["const path = require('node:path')", "import path from 'node:path'"],
    ["const autoload = require('@fastify/autoload')", "import autoload from '@fastify/autoload'"],
    ['module.exports =', 'export default'],
    ['__dirname', 'import.meta.dirname'],
    ['__dirname', 'import.meta.dirname'],
  )
  edit(
    home,
    'plugins/authn.js',
    ["const fp = require('fastify-plugin')", "import fp from 'fastify-plugin'"],
    [
      "const { authn, hashPassword } = require('fastify-authn')",
      "import { authn, hashPassword } from 'fastify-authn'",
    ],
    ['module.exports =', 'export default'],
  )
  for (const file of ['routes/root.js', 'routes/notes/index.js']) {
    edit(home, file, ['module.exports =', 'export default'])
  }
  await expectProtected(t, await start(t, home, 'app.js'))
})
