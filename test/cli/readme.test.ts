// Runs the lines of docs/command-line.md, one after the other, as they stand.
import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { commands } from '../../lib/cli/commands.js'
import { nodeArguments, programOf, root } from '../helpers/project.js'
import { blocksOf, readPage } from '../helpers/readme.js'

const section = readPage('docs/command-line.md')
const lines = blocksOf(section).flatMap(({ text }) => text.split('\n'))

t.test('every command is shown', async (t) => {
  for (const name of Object.keys(commands)) {
    t.match(section, new RegExp(`^\\| \`${name}[ \`]`, 'm'), `${name} in the table`)
    t.ok(
      lines.some((line) => line.startsWith(`npx fastify-authn ${name} `)),
      `${name} in the example`,
    )
  }
})

t.test('the picture is one of this program', async (t) => {
  const file = /!\[.*\]\((.*)\)/.exec(section)?.[1] ?? ''
  const picture = readFileSync(path.join(root, 'docs', file), 'utf8')
  const typed = [...picture.matchAll(/class="typed"[^>]*>\$ npx fastify-authn (\w+)/g)]
  t.ok(typed.length >= 4)
  for (const [, name = ''] of typed) t.ok(Object.hasOwn(commands, name), name)
  t.notMatch(picture, /\/tmp|\/home|\/root|\/Users/)
})

t.test('its lines work', { skip: process.platform === 'win32' && 'needs sh' }, async (t) => {
  const main = JSON.stringify(pathToFileURL(programOf('lib/cli/main.ts')).href)
  const folder = t.testdir({
    'bin.mjs': `import { main } from ${main}\nawait main(process)\n`,
    npx: `#!/bin/sh\nshift\nexec '${process.execPath}' ${nodeArguments.join(' ')} "$BIN" "$@"\n`,
    app: { 'password.txt': 'open sesame\n' },
  })
  chmodSync(`${folder}/npx`, 0o755)
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    BIN: `${folder}/bin.mjs`,
    NODE_ENV: 'production',
  }
  const output: Record<string, string> = {}
  for (const line of lines) {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', `umask 077; ${line}`], {
      cwd: `${folder}/app`,
      env,
      encoding: 'utf8',
      timeout: 60_000,
    })
    t.equal(status, 0, `${line}\n${stdout}${stderr}`)
    output[line.split(' ')[2] ?? ''] = stdout
  }
  t.match(output.hash, /^\$2b\$12\$/)
  t.match(output.inspect, /\n {2}admin {2}true\n[^]*\nValid: signed with HS256/)
  t.match(JSON.parse(output.doctor ?? ''), { ok: true, findings: [] })
  t.strictSame(readdirSync(`${folder}/app`).toSorted(), [
    '.env',
    'keys',
    'password.txt',
    'sessions.sql',
    'token.txt',
  ])
})
