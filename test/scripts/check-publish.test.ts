// program: small
// scripts/check-publish.js: what `npm publish` runs first.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { root } from '../helpers/project.js'

const required = ['repository', 'bugs', 'author']
const complete = {
  repository: { type: 'git', url: 'git+https://forge.example/app.git' },
  bugs: { url: 'https://forge.example/app/issues' },
  author: 'A. Author <author@forge.example>',
}

t.test('npm publish fails, naming what package.json lacks', async (t) => {
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const [, script = ''] = /^node (\S+)/.exec(scripts.prepublishOnly ?? '') ?? []
  const rows: [members: object, lacks: string[]][] = [
    [{}, required],
    [{ ...complete, bugs: undefined, author: '' }, ['bugs', 'author']],
    [complete, []],
  ]
  for (const [members, lacks] of rows) {
    const cwd = t.testdir({ 'package.json': JSON.stringify({ name: 'app', ...members }) })
    const { status, stderr } = spawnSync(process.execPath, [path.join(root, script)], { cwd })
    t.equal(status, lacks.length === 0 ? 0 : 1, lacks.join())
    const named = required.filter((member) => String(stderr).includes(member))
    t.strictSame(named, lacks)
  }
})
