import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { cli } from '../../helpers/cli.js'
import type { Finding } from '../../../lib/cli/doctor/finding.js'
import type { KeyFileEntry } from '../../../types/keys.js'

const hasModes = process.platform !== 'win32'

async function doctor(
  ring: string,
  env: Record<string, string> = {},
): Promise<{ exit: number; found: string[]; text: string }> {
  const { exit, stdout } = await cli(['doctor', '--ring', ring, '--json'], {
    env: { NODE_ENV: 'production', ...env },
  })
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  return { exit, found: findings.map(({ level, problem }) => `${level}: ${problem}`), text: stdout }
}

/** A ring, with its entries changed. */
async function ringWith(
  t: Test,
  change: (entries: KeyFileEntry[]) => readonly unknown[] = (entries) => entries,
): Promise<string> {
  const file = path.join(t.testdir(), 'ring.json')
  await cli(['keys', 'init', 'ES256', '--ring', file])
  const entries = JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]
  writeFileSync(file, JSON.stringify(change(entries)))
  return file
}

t.test('a new ring: nothing is wrong', async (t) => {
  const file = await ringWith(t)
  t.match(await doctor(file), { exit: 0, found: [] })
  await cli(['keys', 'rotate', '--settle', '0', '--ring', file])
  t.match(await doctor(file), { exit: 0, found: [] })
})

t.test('what is probably a mistake', async (t) => {
  const cases: [
    change: (entries: KeyFileEntry[]) => readonly unknown[],
    exit: number,
    found: RegExp[],
  ][] = [
    [
      ([sign, next]) => [{ ...sign, since: '2020-01-01T00:00:00Z' }, next],
      1,
      [/^warning: the key "\S+" for ES256 has been signing for \d+ years/],
    ],
    [([sign]) => [sign], 1, [/^warning: .* signs, and no key is next/]],
    [
      ([sign, next]) => [sign, { ...next, state: 'verify' }],
      1,
      [/verifies for ever: it has no "until"/, /no key is next/],
    ],
    [
      ([sign, next]) => [sign, { ...next, state: 'verify', until: '2020-01-01T00:00:00Z' }],
      1,
      [/^note: .* is over since 2020-01-01T00:00:00Z/, /no key is next/],
    ],
    [
      ([sign, next]) => [sign, next, { ...sign, kid: 'other', state: 'next' }],
      1,
      [/^error: .*jwt\.keys\[2\].* is the same key as/],
    ],
    [
      ([sign, next]) => [{ ...sign, state: 'sing' }, next],
      1,
      [/^error: option "jwt\.keys\[0\]\.state" \(ring file/],
    ],
    [() => [], 1, [/^error: .*an array of 0/]],
    [
      ([sign, next]) => [
        {
          ...sign,
          passphraseEnv: 'NO_SUCH',
          private: (sign?.private ?? '').replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'),
        },
        next,
      ],
      1,
      [/^error: .*NO_SUCH, which is not set/],
    ],
    [
      ([sign]) => [{ ...sign, kid: undefined, private: 'nothing.pem' }],
      1,
      [/^error: .*nothing\.pem/, /"\?" for ES256 signs, and no key is next/],
    ],
  ]
  for (const [change, exit, patterns] of cases) {
    const result = await doctor(await ringWith(t, change))
    t.equal(result.exit, exit)
    t.equal(result.found.length, patterns.length, result.found.join('\n'))
    for (const pattern of patterns)
      t.ok(
        result.found.some((each) => pattern.test(each)),
        `${pattern}: ${result.found.join('\n')}`,
      )
    t.notMatch(result.text, 'MIGH', 'no key is shown')
  }
})

t.test('two keys that sign need two that are next', async (t) => {
  const file = await ringWith(t, ([sign, next]) => [
    sign,
    next,
    { alg: 'HS256', kid: 'hs', state: 'sign', secret: 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae' },
  ])
  const { found, text } = await doctor(file)
  t.equal(found.length, 1)
  t.match(found[0], /the key "hs" for HS256 signs, and no key is next/)
  t.match(text, `--ring ${file} --alg HS256`)
})

t.test('files that others may read', { skip: !hasModes }, async (t) => {
  const file = await ringWith(t, ([sign, next]) => [{ ...sign, private: 'a.pem' }, next])
  const [, next] = JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]
  const other = path.join(path.dirname(file), 'a.pem')
  const made = await cli(['keys', 'ES256', '--out', path.dirname(file)])
  t.equal(made.exit, 0)
  writeFileSync(other, readFileSync(path.join(path.dirname(file), 'es256-private.pem')), {
    mode: 0o600,
  })
  const { kid: _, ...sign } = (
    JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]
  )[0] as KeyFileEntry
  writeFileSync(file, JSON.stringify([sign, next]))
  t.match(await doctor(file), { exit: 0, found: [] })
  chmodSync(file, 0o640)
  chmodSync(other, 0o604)
  const { exit, found } = await doctor(file)
  t.equal(exit, 1)
  t.strictSame(
    found.map((each) => /\(mode \d+\)/.exec(each)?.[0]),
    ['(mode 640)', '(mode 604)'],
  )
})

t.test('a folder in which others may put keys', { skip: !hasModes }, async (t) => {
  const file = await ringWith(t)
  chmodSync(path.dirname(file), 0o777)
  const { exit, found } = await doctor(file)
  t.equal(exit, 1)
  t.match(found, [/^warning: everybody may write to the folder/])
})

t.test('no ring, and a secret beside it', async (t) => {
  const missing = await doctor(path.join(t.testdir(), 'none.json'))
  t.equal(missing.exit, 1)
  t.match(missing.found, [/^error: there is no ring file/])
  t.match(await doctor(t.testdir()), {
    exit: 1,
    found: [/^error: the ring file ".*" (?:is not a regular file|cannot be read)/],
  })
  const beside = await doctor(await ringWith(t), {
    AUTH_JWT_SECRET: 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae',
  })
  t.match(beside, { exit: 0, found: [/^note: is set beside a ring/] })
})
