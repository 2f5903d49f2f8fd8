// Also holds lib/cli/commands/keys/init.ts, lib/cli/commands/keys/rotate.ts, lib/cli/commands/keys/revoke.ts,
// lib/cli/commands/keys/list.ts, lib/cli/ring/options.ts, lib/cli/ring/report.ts and lib/cli/key-pairs.ts.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parseKeySetFile, readKeySet } from '../../../../lib/tokens/keys/entries.js'
import { thisMachine } from '../../../../lib/cli/ring/files.js'
import { cli, type Ran } from '../../../helpers/cli.js'
import type { KeyFileEntry } from '../../../../types/keys.js'

const entriesOf = (file: string): KeyFileEntry[] => parseKeySetFile(readFileSync(file, 'utf8'), file)
const write = (file: string, entries: readonly unknown[]): void =>
  writeFileSync(file, JSON.stringify(entries))

/** A ring in a folder of its own, made by the command line. */
async function newRing(
  t: Test,
  alg = 'ES256',
): Promise<{ file: string; on(words: string): Promise<Ran> }> {
  const file = path.join(t.testdir(), 'my ring.json')
  const on = (words: string): Promise<Ran> => cli(['keys', ...words.split(' '), '--ring', file])
  t.equal((await on(`init ${alg}`)).exit, 0)
  return { file, on }
}

/** Long texts that stand in a ring and nowhere else. */
function secretsOf(file: string): string[] {
  return entriesOf(file).flatMap(({ private: pem = '', secret = '' }) =>
    [
      ...pem.split('\n').filter((line) => line.length > 20 && !line.includes('-----')),
      secret,
    ].filter(Boolean),
  )
}

t.test('init: a ring that boots, and what to do with it', async (t) => {
  const file = path.join(t.testdir(), 'keys/my ring.json')
  const { exit, stdout, stderr } = await cli(['keys', 'init', 'EdDSA', '--ring', file])
  t.equal(exit, 0)
  const [sign, next] = entriesOf(file)
  t.match(
    [sign, next],
    [
      { alg: 'EdDSA', state: 'sign', since: /^20.*:\d\dZ$/ },
      { alg: 'EdDSA', state: 'next' },
    ],
  )
  t.equal(stdout.split('\n').length, 4)
  t.match(stdout, /^kid +alg +state +since +until\n/)
  t.match(stdout, new RegExp(`^${sign?.kid} +EdDSA +sign +${sign?.since} +-$`, 'm'))
  t.match(stderr, `jwt: { keys: ${JSON.stringify(file)}, reloadEvery: 60 }`)
  t.match(stderr, `npx fastify-authn keys rotate --ring '${file}'`)
  const loaded = await readKeySet(file, thisMachine.files as never)
  t.strictSame(
    loaded.map(({ kid }) => kid),
    [sign?.kid, next?.kid],
  )
  const again = await cli(['keys', 'init', 'ES256', '--ring', file])
  t.strictSame([again.exit, again.stdout], [1, ''])
  t.match(again.stderr, /^fastify-authn keys init: ".*" is there already\. Nothing was written\.\n/)
})

t.test(
  'init: a folder that everybody may write is told of',
  { skip: process.platform === 'win32' },
  async (t) => {
    const open = path.join(t.testdir({ open: {} }), 'open')
    chmodSync(open, 0o777)
    const { exit, stderr } = await cli(['keys', 'init', 'HS256', '--ring', `${open}/ring.json`])
    t.equal(exit, 0)
    t.match(
      stderr,
      /Warning: everybody may write to the folder ".*open"\. Choose another one with --ring\./,
    )
  },
)

t.test('init: encrypted, with a passphrase from a file of variables', async (t) => {
  const folder = t.testdir({ '.env': 'RING_PHRASE=quite a phrase\n' })
  const words = ['--ring', path.join(folder, 'ring.json'), '--env', path.join(folder, '.env')]
  const made = await cli([
    'keys',
    'init',
    'RS256',
    '--bits',
    '2048',
    '--passphrase-env',
    'RING_PHRASE',
    ...words,
  ])
  t.equal(made.exit, 0, made.stderr)
  t.match(made.stderr, 'The app needs the passphrase in RING_PHRASE.')
  t.equal((await cli(['keys', 'rotate', '--settle', '0', ...words])).exit, 0)
  t.equal((await cli(['keys', 'list', ...words])).exit, 0)
  const entries = entriesOf(path.join(folder, 'ring.json'))
  t.ok(
    entries.every(
      ({ private: pem, passphraseEnv }) =>
        /ENCRYPTED/.test(pem ?? '') && passphraseEnv === 'RING_PHRASE',
    ),
  )
  const without = await cli(['keys', 'rotate', '--settle', '0', ...words.slice(0, 2)])
  t.equal(without.exit, 1)
  t.match(without.stderr, 'RING_PHRASE, which is not set')
  const shown = await cli(['keys', 'list', ...words.slice(0, 2)])
  t.equal(shown.exit, 1)
  for (const { kid } of entries) t.match(shown.stdout, kid)
  t.match(shown.stderr, /^Not checked: .*RING_PHRASE, which is not set/m)
})

t.test('rotate: too early, and then not', async (t) => {
  const { file, on } = await newRing(t)
  const before = readFileSync(file, 'utf8')
  const early = await on('rotate')
  t.strictSame([early.exit, early.stdout], [1, ''])
  t.match(
    early.stderr,
    /^fastify-authn keys rotate: too early: the sign key is \d+ seconds? old, expected 600 \(--settle\)\. \d{3} seconds are left\./,
  )
  t.equal(readFileSync(file, 'utf8'), before)
  const [sign, next] = entriesOf(file)
  write(file, [{ ...sign, since: '2026-01-01T00:00:00+01:00' }, next])
  const { exit, stdout, stderr } = await on('rotate')
  t.equal(exit, 0)
  const [verify, signs, made] = entriesOf(file)
  t.strictSame([verify?.kid, signs?.kid], [sign?.kid, next?.kid])
  const left = (Date.parse(verify?.until ?? '') - Date.now()) / 1000
  t.ok(left > 660 && left <= 721, `${left} seconds`)
  t.equal(
    stdout,
    [
      `ES256 ${next?.kid} signs from now on.`,
      `ES256 ${sign?.kid} verifies until ${verify?.until}, in 12 minutes.`,
      `ES256 ${made?.kid} is new, and signs after the next rotation.`,
      '',
    ]
      .join('\n')
      .replace('12 minutes.', /12 minutes\.|11 minutes \d+ seconds?\./.exec(stdout)?.[0] ?? ''),
  )
  t.match(stderr, 'has to have the new file within 120 seconds (--lag)')
  t.match(stderr, 'not within 600 seconds (--settle)')
})

t.test('rotate: spans, JSON, and old keys that go', async (t) => {
  const { file, on } = await newRing(t, 'HS512')
  writeFileSync(path.join(path.dirname(file), 'old.pem'), '')
  const [sign, next] = entriesOf(file)
  const past = {
    alg: 'HS512',
    kid: 'past',
    secret: 'A7'.repeat(3) + secretsOf(file)[0]?.slice(6),
    state: 'verify',
    until: '2026-01-01T00:00:00Z',
  }
  write(file, [past, { ...sign, legacy: true }, next])
  const listed = await on('list')
  t.match(listed.stdout, /^past +HS512 +verify +- +2026-01-01T00:00:00Z \(past\)$/m)
  t.match(listed.stdout, / sign .* - \(legacy\)$/m)
  const { exit, stdout } = await on('rotate --settle 0s --life 8h --lag 10m --json')
  t.equal(exit, 0)
  const result = JSON.parse(stdout) as { keys: { until: string | null }[] }
  t.match(result, {
    ok: true,
    ring: file,
    sign: next?.kid,
    verify: sign?.kid,
    gone: ['past'],
    keys: { length: 3 },
  })
  const left = (Date.parse(result.keys[0]?.until ?? '') - Date.now()) / 1000
  t.ok(left > 29_640 && left <= 29_701)
  t.strictSame(Object.keys(result.keys[0] ?? {}), [
    'kid',
    'alg',
    'state',
    'since',
    'until',
    'legacy',
  ])
  write(
    file,
    entriesOf(file).filter(({ state }) => state !== 'next'),
  )
  const lonely = await on('rotate')
  t.equal(lonely.exit, 0)
  t.match(lonely.stderr, 'The ring had no next key: now it has one, and nothing else has changed.')
  t.strictSame(
    entriesOf(file).map(({ state }) => state),
    ['verify', 'sign', 'next'],
  )
})

t.test('rotate: tokens of the environment may live for longer', async (t) => {
  const { file } = await newRing(t)
  const lifeWith = async (AUTH_JWT_EXPIRY: string, ...words: string[]): Promise<number> => {
    const all = [
      'keys',
      'rotate',
      '--ring',
      file,
      '--settle',
      '0',
      '--lag',
      '0',
      '--json',
      ...words,
    ]
    const { stdout } = await cli(all, { env: { AUTH_JWT_EXPIRY } })
    const { keys, verify } = JSON.parse(stdout) as {
      keys: { kid: string; since: string; until: string }[]
      verify: string
    }
    const { since = '', until = '' } = keys.find(({ kid }) => kid === verify) ?? {}
    return Math.round((Date.parse(until) - Date.parse(since)) / 1000) - 300
  }
  for (const [expiry, life] of [
    ['3600', 3600],
    ['60', 300],
  ] as const) {
    const found = await lifeWith(expiry)
    t.ok(found === life || found === life + 1, `${found} seconds`)
  }
  t.ok((await lifeWith('3600', '--life', '10')) <= 11)
})

t.test('revoke: also a name that begins with "-"', async (t) => {
  const { file, on } = await newRing(t)
  const [sign, next] = entriesOf(file)
  const dashed = `-${sign?.kid?.slice(1)}`
  write(file, [{ ...sign, kid: dashed }, next])
  const { exit, stdout, stderr } = await on(`revoke ${dashed}`)
  t.equal(exit, 0, stderr)
  t.match(stdout, `ES256 ${next?.kid} signs from now on.`)
  t.match(stdout, `ES256 ${dashed} is out of the ring.`)
  t.match(stderr, /Put the file on every machine now/)
  t.match(stderr, /has to log in again/)
  t.strictSame(
    entriesOf(file).map(({ state }) => state),
    ['sign', 'next'],
  )
  const twice = await on(`revoke ${dashed}`)
  t.strictSame([twice.exit, twice.stdout], [1, ''])
  t.match(twice.stderr, /^fastify-authn keys revoke: the ring has no such key\./)
  write(file, [{ ...entriesOf(file)[0], kid: '--odd' }])
  const last = await cli(['keys', 'revoke', '--ring', file, '--', '--odd'])
  t.equal(last.exit, 0)
  t.match(last.stderr, 'There was no next key')
  t.strictSame(
    entriesOf(file).map(({ state }) => state),
    ['sign', 'next'],
  )
})

t.test('revoke: a key that signs no more, where nobody has to know', async (t) => {
  const { file, on } = await newRing(t)
  const [sign] = entriesOf(file)
  t.equal((await on('rotate --settle 0')).exit, 0)
  const { exit, stdout, stderr } = await on(`revoke ${sign?.kid}`)
  t.strictSame([exit, stdout], [0, `ES256 ${sign?.kid} is out of the ring.\n`])
  t.match(stderr, /has to log in again/)
  t.notMatch(stderr, 'no next key')
})

t.test('files of keys that went are named, and stay', async (t) => {
  const { file, on } = await newRing(t)
  const [sign, next] = entriesOf(file)
  const folder = path.join(path.dirname(file), 'pem')
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'a.pem'), sign?.private ?? '')
  write(file, [{ ...sign, private: 'pem/a.pem' }, next])
  const { stderr } = await on(`revoke ${sign?.kid}`)
  t.match(stderr, '1 key file may be deleted: "pem/a.pem"')
  t.ok(existsSync(path.join(folder, 'a.pem')))
})

t.test('nothing secret is ever printed', async (t) => {
  for (const alg of ['HS256', 'ES256', 'RS256 --bits 2048']) {
    const { file, on } = await newRing(t, alg)
    const secrets = new Set(secretsOf(file))
    const printed: Ran[] = []
    for (const words of [
      'list',
      'list --json',
      'rotate',
      'rotate --settle 0',
      'rotate --settle 0 --json',
      'revoke x',
    ]) {
      printed.push(await on(words))
      for (const secret of secretsOf(file)) secrets.add(secret)
    }
    t.ok(secrets.size >= 4)
    for (const text of printed.map(({ stdout, stderr }) => stdout + stderr)) {
      for (const secret of secrets) t.notMatch(text, secret)
    }
  }
})

t.test('AUTH_JWT_KEYS names the ring where --ring does not', async (t) => {
  const folder = t.testdir({ other: {} })
  const [file, other] = [path.join(folder, 'ring.json'), path.join(folder, 'other/ring.json')]
  const env = { AUTH_JWT_KEYS: file }
  t.equal((await cli('keys init HS256', { env })).exit, 0)
  t.equal((await cli(['keys', 'init', 'HS256', '--ring', other], { env })).exit, 0)
  t.equal((await cli('keys rotate --settle 0', { env })).exit, 0)
  t.equal(entriesOf(file).length, 3)
  t.equal((await cli(`keys revoke ${entriesOf(file)[0]?.kid}`, { env })).exit, 0)
  t.equal(entriesOf(file).length, 2)
  t.match((await cli('keys list --json', { env })).stdout, JSON.stringify(file))
  t.equal(entriesOf(other).length, 2)
})

t.test('wrong usage', async (t) => {
  const file = path.join(t.testdir(), 'ring.json')
  const cases: [words: string, message: RegExp][] = [
    ['init --ring F', /keys init: <alg> is missing/],
    ['init ES256', /keys init: --ring is missing/],
    ['init es256 --ring F', /unknown algorithm\. Did you mean ES256\?/],
    ['init ES256 --ring F --bits 2048', /--bits is for RSA/],
    ['init ES256 --ring F --passphrase-env a.b', /expected the name of an environment variable/],
    ['init ES256 --rnig F', /unknown option "--rnig"\. Did you mean --ring\?/],
    ['rotate', /keys rotate: --ring is missing/],
    ['rotate ES256 --ring F', /found an argument, expected none/],
    ['rotate --ring F --life never', /option --life: expected seconds, or a span/],
    ['rotate --ring F --lag -1', /option --lag needs a value/],
    ['rotate --ring F --settle 1.5', /option --settle: expected seconds/],
    ['rotate --ring F --alg ES999', /unknown algorithm/],
    ['rotate --ring F --aplg ES256', /Did you mean --alg\?/],
    ['revoke --ring F', /<kid> is missing/],
    ['list', /keys list: --ring is missing/],
    ['rotat --ring F', /unknown command "keys rotat"\. Did you mean keys rotate\?/],
    ['lst', /Did you mean keys list\?/],
  ]
  for (const [words, message] of cases) {
    const { exit, stdout, stderr } = await cli(['keys', ...words.replace('F', file).split(' ')])
    t.strictSame([exit, stdout], [2, ''], words)
    t.match(stderr, message)
    t.match(stderr, /\nSee: npx fastify-authn keys(?: \w+)? --help\n$/)
  }
  t.notOk(existsSync(file))
})

t.test('a ring that is wrong is told of in the words of the boot', async (t) => {
  const { file, on } = await newRing(t)
  write(
    file,
    entriesOf(file).map((entry) => ({ ...entry, state: 'sing' })),
  )
  for (const words of ['list', 'rotate', 'revoke x']) {
    const { exit, stdout, stderr } = await on(words)
    t.strictSame([exit, stdout], [1, ''])
    t.match(stderr, /option "jwt\.keys\[0\]\.state" \(ring file ".*"\)/)
  }
})

t.test('help', async (t) => {
  const overview = await cli('keys --help')
  for (const name of ['init', 'rotate', 'revoke', 'list']) {
    t.match(overview.stdout, new RegExp(`^  keys ${name} +\\w`, 'm'))
    const { exit, stdout } = await cli(`keys ${name} --help`)
    t.equal(exit, 0)
    t.match(stdout, new RegExp(`^Usage: npx fastify-authn keys ${name} .*\\n\\n`))
    t.equal((await cli(`help keys ${name}`)).stdout, stdout)
    t.ok(stdout.split('\n').every((line) => line.length <= 90))
  }
})
