// program: its own
// Runs the lines of the guides about key sets, section by section, as an operator would.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { cli } from '../helpers/cli.js'
import { blocksOf, readPage } from '../helpers/readme.js'
import type { KeyFileEntry } from '../../types/keys.js'

const file = 'keys/keys.json'
const entries = (): KeyFileEntry[] => JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]
const states = (): string[] => entries().map(({ state }) => state)
const kids = (): (string | undefined)[] => entries().map(({ kid }) => kid)

/** Lets the keys be old enough for a rotation. */
function age(): void {
  const aged = entries().map((entry) =>
    entry.since === undefined ? entry : { ...entry, since: '2026-01-01T00:00:00Z' },
  )
  writeFileSync(file, JSON.stringify(aged))
}

/** The words of a line: those of this page have no quotes but those around `$KID`. */
const wordsOf = (line: string): string[] =>
  line.split(' ').map((word) => (word === '"$KID"' ? String(entries()[0]?.kid) : word))

async function run(t: Test, line: string): Promise<void> {
  const [program = '', ...words] = wordsOf(line)
  if (program === 'curl') return
  if (program === 'export') return run(t, line.replace(/^export \w+=\$\((.*)\)$/, '$1'))
  if (program === 'npx') {
    const { exit, stderr } = await cli(words.slice(1), { env: { NODE_ENV: 'production' } })
    t.equal(exit, 0, `${line}\n${stderr}`)
  } else {
    t.equal(spawnSync(program, words).status, 0, line)
  }
}

const linesOf = (page: string, title: string): string[] => {
  const section = readPage(`docs/guides/${page}.md`)
    .split(/^(?=## )/m)
    .find((each) => each.startsWith(`## ${title}\n`))
  return blocksOf(section ?? '')
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.split('\n'))
    .filter((line) => !line.startsWith('#'))
}

t.test(
  'every section of the guides about key sets works',
  { skip: process.platform === 'win32' && 'needs cp and mv' },
  async (t) => {
    const before = process.cwd()
    t.teardown(() => process.chdir(before))
    const folder = t.testdir()
    process.chdir(folder)
    const follow = async (page: string, title: string): Promise<void> => {
      const lines = linesOf(page, title)
      t.ok(lines.length > 0, title)
      for (const line of lines) await run(t, line)
    }
    await follow('key-sets', 'Making a key set')
    t.strictSame(states(), ['sign', 'next'])
    age()
    const first = kids()
    await follow('rotate-keys', 'Rotate')
    t.strictSame(states(), ['verify', 'sign', 'next'])
    t.strictSame(kids().slice(0, 2), first)
    await follow('rotate-keys', 'Check that it worked')
    await follow('rotate-keys', 'Undo a rotation')
    t.strictSame(kids(), first)
    await follow('leaked-key', 'One key has leaked')
    t.notOk(kids().includes(first[0]), 'the key is gone')
    await follow('leaked-key', 'The whole file has leaked')
    const found = kids().some((kid) => first.includes(kid))
    t.notOk(found, 'in the end it is another key set')

    process.chdir(before)
    mkdirSync(path.join(folder, 'other/keys'), { recursive: true })
    process.chdir(path.join(folder, 'other'))
    const secret = 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae'
    const old = { alg: 'HS256', kid: 'before', secret, state: 'sign', legacy: true }
    writeFileSync(file, JSON.stringify([old]), { mode: 0o600 })
    await follow('key-sets', 'Move from a secret to ES256')
    t.match(entries(), [old, { alg: 'ES256', state: 'next' }])
    age()
    await run(t, `npx fastify-authn keys rotate --key-set ${file}`)
    t.match(entries(), [
      { kid: old.kid, state: 'verify' },
      { alg: 'ES256', state: 'sign' },
      { alg: 'ES256', state: 'next' },
    ])
  },
)
