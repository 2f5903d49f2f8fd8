// The conformance tests of the MCP project, as far as they fit. Those about authorization test clients, at a server of
// their own. Those for servers send no token, so a proxy adds one; most of them need tools that only they know.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { test } from 'node:test'
import { setUp } from './setup.js'

const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

test('conformance tests pass behind the plugin', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'conformance-'))
  t.after(() => rm(folder, { recursive: true }))
  const program = path.join(folder, 'conformance.cjs')
  // As CommonJS it runs under Node 20 too, whose `fs` lacks a name that another command of it imports.
  await build({
    entryPoints: [
      fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js')),
    ],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: program,
  })
  const { token, withToken } = await setUp(t)
  const url = await withToken(await token('notes:read notes:write'))
  // It takes only the name `localhost` for this machine.
  url.hostname = 'localhost'
  for (const scenario of scenarios) {
    const args = [program, 'server', '--url', url.href, '--scenario', scenario, '-o', folder]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    assert.match(stdout, /Passed: [1-9]\d*\/\d+, 0 failed/, scenario)
  }
})
