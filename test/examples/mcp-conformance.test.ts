// program: examples-mcp
// The conformance tests of the MCP project, as far as they fit. Those about authorization test clients, at a server of
// their own. Those for servers send no token, so a proxy adds one; most of them need tools that only they know.
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import t from 'tap'
import { setUp } from '../helpers/mcp.js'
import { root } from '../helpers/project.js'

const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

t.test('conformance tests pass behind the plugin', async (t) => {
  const folder = t.testdir()
  const program = path.join(folder, 'conformance.cjs')
  // As CommonJS it runs under Node 20 too, whose `fs` lacks a name that another command of it imports.
  await build({
    entryPoints: [path.join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')],
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
    t.match(stdout, /Passed: [1-9]\d*\/\d+, 0 failed/, scenario)
  }
})
