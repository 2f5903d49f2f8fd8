import { existsSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { JwtService } from '../../../lib/tokens/service.js'
import { cli, type Ran } from '../../helpers/cli.js'
import type { KeyFileEntry } from '../../../types/keys.js'

const entriesOf = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]
const write = (file: string, entries: readonly unknown[]): void =>
  writeFileSync(file, JSON.stringify(entries))
const statesOf = (file: string): string[] => entriesOf(file).map(({ state }) => state)
const modeOf = (file: string): number => statSync(file).mode & 0o777

/** A key set in a folder of its own, made by the command line. */
async function newKeySet(t: Test, alg = 'ES256') {
  const file = path.join(t.testdir(), 'my keys.json')
  const on = (words: string): Promise<Ran> => cli(['keys', ...words.split(' '), '--key-set', file])
  t.equal((await on(`init ${alg}`)).exit, 0)
  return { file, on }
}

/** Long texts that stand in a key set and nowhere else. */
function secretsOf(file: string): string[] {
  return entriesOf(file).flatMap(({ private: pem = '', secret = '' }) =>
    [
      ...pem.split('\n').filter((line) => line.length > 20 && !line.includes('-----')),
      secret,
    ].filter(Boolean),
  )
}

t.test('keys init writes a key set that an app starts with, and overwrites no file', async (t) => {
  for (const alg of ['EdDSA', 'HS512', 'RS256 --bits 2048'] as const) {
    const file = path.join(t.testdir(), 'new/my keys.json')
    const words = ['keys', 'init', ...alg.split(' '), '--key-set', file]
    const { exit, stdout, stderr } = await cli(words)
    t.equal(exit, 0)
    const [sign, next] = entriesOf(file)
    const [name] = alg.split(' ')
    t.match(sign, { alg: name, state: 'sign', since: /^20.*:\d\dZ$/ })
    t.match(next, { alg: name, state: 'next' })
    t.match(stdout, new RegExp(`^kid +alg .*\\n${sign?.kid} +${name} +sign .*\\n${next?.kid} `))
    t.match(stderr, `jwt: { keys: ${JSON.stringify(file)} }`)
    const service = await new JwtService({ keys: file, reloadEvery: 0 }).load()
    t.match(service.verify(service.generateToken('alice')), { sub: 'alice' })
    if (process.platform !== 'win32') t.equal(modeOf(file), 0o600)
    const before = readFileSync(file, 'utf8')
    t.match(await cli(words), { exit: 1, stdout: '', stderr: /exists already/ })
    t.equal(readFileSync(file, 'utf8'), before)
  }
})

t.test('--passphrase-env encrypts keys with a passphrase of the environment', async (t) => {
  const folder = t.testdir({ '.env': 'PHRASE=quite a phrase\n' })
  const file = path.join(folder, 'keys.json')
  const words = ['--key-set', file, '--env', path.join(folder, '.env')]
  const made = await cli(['keys', 'init', 'ES256', '--passphrase-env', 'PHRASE', ...words])
  t.match(made, { exit: 0, stderr: /passphrase in PHRASE\./ })
  t.equal((await cli(['keys', 'rotate', '--settle', '0', ...words])).exit, 0)
  t.equal((await cli(['keys', 'list', ...words])).exit, 0)
  t.equal((await cli(['token', '--sub', 'alice', ...words])).exit, 0)
  for (const { private: pem, passphraseEnv } of entriesOf(file)) {
    t.match(pem, 'ENCRYPTED')
    t.equal(passphraseEnv, 'PHRASE')
  }
  const before = readFileSync(file, 'utf8')
  for (const command of ['rotate', 'list']) {
    const without = await cli(['keys', command, '--key-set', file])
    t.match(without, { exit: 1, stdout: '', stderr: /PHRASE, .*is not set/ })
  }
  const secret = await cli(['keys', 'rotate', '--settle', '0', '--alg', 'HS256', ...words])
  t.match(secret, { exit: 1, stderr: /a secret for HS256 cannot be/ })
  const unset = ['keys', 'init', 'ES256', '--passphrase-env', 'PHRASE', '--key-set', `${file}.new`]
  t.match(await cli(unset), { exit: 1, stderr: /PHRASE, .*is not set/ })
  t.equal(readFileSync(file, 'utf8'), before)
  const phrase = await cli(['keys', 'init', 'ES256', '--passphrase-env', 'my phrase', ...words])
  t.match(phrase, { exit: 2, stderr: /name of an environment variable/ })
  t.notMatch(phrase.stderr, 'my phrase')
})

t.test('keys rotate fails too early, and later rotates', async (t) => {
  const { file, on } = await newKeySet(t)
  const before = readFileSync(file, 'utf8')
  t.match(await on('rotate'), { exit: 1, stdout: '', stderr: /too early: .*--settle/ })
  t.equal(readFileSync(file, 'utf8'), before)
  const [sign, next] = entriesOf(file)
  write(file, [{ ...sign, since: '2026-01-01T00:00:00+01:00' }, next])
  const { exit, stdout, stderr } = await on('rotate')
  t.equal(exit, 0)
  const [verify, signs, made] = entriesOf(file)
  t.strictSame([verify?.kid, signs?.kid], [sign?.kid, next?.kid])
  const left = (Date.parse(verify?.until ?? '') - Date.now()) / 1000
  t.ok(left > 660 && left <= 721, `${left} seconds`)
  t.match(stdout.split('\n'), [
    `ES256 ${next?.kid} signs`,
    `ES256 ${sign?.kid} verifies until ${verify?.until}, in 1`,
    `ES256 ${made?.kid} is new`,
  ])
  t.match(stderr, '120 seconds (--lag)')
})

t.test('keys rotate takes spans, prints JSON and removes expired keys', async (t) => {
  const { file, on } = await newKeySet(t, 'HS512')
  const [sign, next] = entriesOf(file)
  const past = {
    alg: 'HS512',
    kid: 'past',
    secret: `A7bX9q${secretsOf(file)[0]?.slice(6)}`,
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
    keySet: file,
    sign: next?.kid,
    verify: sign?.kid,
    removed: ['past'],
    keys: { length: 3 },
  })
  const left = (Date.parse(result.keys[0]?.until ?? '') - Date.now()) / 1000
  t.ok(left > 29_640 && left <= 29_701)
  const names = ['kid', 'alg', 'state', 'since', 'until', 'legacy']
  t.strictSame(Object.keys(result.keys[0] ?? {}), names)

  const env = { AUTH_JWT_EXPIRY: '3600', AUTH_JWT_KEYS: file }
  const longer = await cli('keys rotate --settle 0 --lag 0 --json', { env })
  const { keys, verify } = JSON.parse(longer.stdout) as {
    keys: { kid: string; until: string }[]
    verify: string
  }
  const until = Date.parse(keys.find(({ kid }) => kid === verify)?.until ?? '')
  const seconds = (until - Date.now()) / 1000
  t.ok(seconds > 3840 && seconds <= 3901, 'tokens of the environment live for an hour')
})

t.test('keys rotate makes a key of the given algorithm, in the size of the old one', async (t) => {
  const { file, on } = await newKeySet(t, 'HS256')
  t.equal((await on('rotate --settle 0 --alg RS256')).exit, 0)
  const [, , made] = entriesOf(file)
  t.equal(made?.alg, 'RS256')
  const { file: rsa, on: onRsa } = await newKeySet(t, 'RS256 --bits 2048')
  const before = entriesOf(rsa)[0]?.private?.length ?? 0
  t.equal((await onRsa('rotate --settle 0')).exit, 0)
  const after = entriesOf(rsa)[2]?.private?.length ?? 0
  t.ok(Math.abs(after - before) < 20, 'the new key has the size of the old one')
})

t.test('keys revoke removes a key at once, and the next key takes over', async (t) => {
  const { file, on } = await newKeySet(t)
  const [sign, next] = entriesOf(file)
  write(file, [{ ...sign, kid: '-odd' }, next])
  const { exit, stdout } = await cli(['keys', 'revoke', '--key-set', file, '--', '-odd'])
  t.equal(exit, 0)
  t.match(stdout, `ES256 ${next?.kid} signs`)
  t.match(stdout, 'ES256 -odd is removed.')
  t.strictSame(statesOf(file), ['sign', 'next'])
  t.match(await on('revoke odd'), { exit: 1, stdout: '', stderr: /no such key/ })
})

t.test('keys rotate keeps a symbolic link and the mode of its file', async (t) => {
  const { file } = await newKeySet(t)
  const link = path.join(path.dirname(file), 'link.json')
  symlinkSync(file, link)
  t.equal((await cli(['keys', 'rotate', '--settle', '0', '--key-set', link])).exit, 0)
  t.ok(lstatSync(link).isSymbolicLink())
  t.equal(statesOf(file).length, 3)
  if (process.platform !== 'win32') t.equal(modeOf(file), 0o600)
})

t.test('keys list and keys rotate print no secret', async (t) => {
  for (const alg of ['HS256', 'ES256', 'RS256 --bits 2048']) {
    const { file, on } = await newKeySet(t, alg)
    const secrets = new Set(secretsOf(file))
    const printed: Ran[] = []
    for (const words of ['list', 'list --json', 'rotate --settle 0', 'rotate --settle 0 --json']) {
      printed.push(await on(words))
      for (const secret of secretsOf(file)) secrets.add(secret)
    }
    t.ok(secrets.size >= 4)
    for (const text of printed.map(({ stdout, stderr }) => stdout + stderr)) {
      for (const secret of secrets) t.notMatch(text, secret)
    }
  }
})

t.test('wrong usage exits with 2, and a bad key set with 1, unchanged', async (t) => {
  const file = path.join(t.testdir(), 'keys.json')
  const cases: [words: string, message: RegExp][] = [
    ['init ES256', /--key-set is missing/],
    ['init es256 --key-set F', /Allowed choices/],
    ['rotate', /--key-set is missing/],
    ['rotate --key-set F --life never', /option --life/],
    ['rotate --key-set F --settle 1.5', /option --settle/],
    ['rotate --key-set F --alg ES999', /Allowed choices/],
    ['revoke --key-set F', /missing required argument 'kid'/],
  ]
  for (const [words, message] of cases) {
    const ran = await cli(['keys', ...words.replace('F', file).split(' ')])
    t.match(ran, { exit: 2, stdout: '', stderr: message }, words)
  }
  t.notOk(existsSync(file))
  t.match(await cli(['keys', 'list', '--key-set', file]), {
    exit: 1,
    stderr: /ENOENT.*\n.*keys init/,
  })
  for (const text of ['', '[]', '[{"alg":"ES256","state":"sing"}]']) {
    writeFileSync(file, text)
    for (const words of ['list', 'rotate', 'revoke x']) {
      const ran = await cli(['keys', ...words.split(' '), '--key-set', file])
      t.match(ran, { exit: 1, stdout: '', stderr: /jwt\.keys/ })
      t.equal(readFileSync(file, 'utf8'), text)
    }
  }
})
