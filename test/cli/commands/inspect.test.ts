import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { JwtService } from '../../../lib/tokens/service.js'
import { cli, FakeTerminal, piped } from '../../helpers/cli.js'
import {
  encode,
  hmacToken,
  keys,
  epochSeconds,
  privatePem,
  publicPem,
} from '../../helpers/tokens.js'
import type { KeyFileEntry } from '../../../types/keys.js'

const secret = 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9AeqF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae'
const env = { AUTH_JWT_SECRET: secret }
const service = new JwtService({ secret })
const header = { alg: 'HS256', typ: 'JWT' }
const invalid = 'ERR_AUTH_JWT_INVALID'
const sign = (claims: object, more: object = {}): string =>
  hmacToken({ ...header, ...more }, claims, secret)

async function inspectJson(
  token: string,
  words: readonly string[] = [],
  variables: Record<string, string> = env,
): Promise<Record<string, unknown>> {
  const { exit, stdout, stderr } = await cli(['inspect', '--json', ...words], {
    env: variables,
    stdin: piped(token),
  })
  const found = JSON.parse(stdout) as Record<string, unknown>
  return { ...found, exit, stderr }
}

t.test('inspect shows header, claims and times of a valid token', async (t) => {
  const nbf = epochSeconds() - 200
  const exp = epochSeconds() + 9000
  const token = sign({ sub: 'alice', admin: true, 'a b': [1, { c: 'ü' }], nbf, exp })
  const { exit, stdout, stderr } = await cli('inspect', { env, stdin: piped(token) })
  t.strictSame([exit, stderr], [0, ''])
  const time = (seconds: number): string =>
    `${seconds}  ${new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')}`
  t.strictSame(stdout.split('\n'), [
    'Header',
    '  alg  "HS256"',
    '  typ  "JWT"',
    '',
    'Claims',
    '  sub    "alice"',
    '  admin  true',
    '  "a b"  [1,{"c":"ü"}]',
    `  nbf    ${time(nbf)}, 3 minutes ago`,
    `  exp    ${time(exp)}, in 2 hours`,
    '',
    'Valid: signed with HS256.',
    '',
  ])
  t.strictSame(await inspectJson(sign({ sub: 'alice', exp })), {
    exit: 0,
    stderr: '',
    ok: true,
    valid: true,
    header,
    claims: { sub: 'alice', exp },
    scopes: [],
  })
})

t.test('inspect reads a token from a pipe, a prompt or an argument', async (t) => {
  const token = service.generateToken('alice')
  for (const form of [`${token}\n`, `  Bearer ${token}\r\n`, `Authorization: bearer  ${token}`]) {
    for (const words of [['inspect'], ['inspect', '-']]) {
      const { exit, stderr } = await cli(words, { env, stdin: piped(form) })
      t.strictSame([exit, stderr], [0, ''], form.slice(0, 20))
    }
  }
  const typed = await cli('inspect', { env, stdin: new FakeTerminal(`${token}\r`) })
  t.match(typed, { exit: 0, stdout: '\nValid: ', stderr: /^Token: \n$/ })
  const { exit, stderr } = await cli(['inspect', token], { env, stdin: piped('x.y.z') })
  t.equal(exit, 0, 'what is piped in beside it is not read')
  t.match(stderr, /^Warning: other users and the shell history see arguments\. Pipe the token in/)
  t.notMatch(stderr, token)
})

t.test('an invalid token exits with 1 and shows the code and the cause', async (t) => {
  const exp = epochSeconds() + 60
  const good = { sub: 'alice', exp }
  const valid = sign(good)
  const cases: [token: string, words: string[], code: string, cause?: string | RegExp][] = [
    [sign({ sub: 'a', exp: epochSeconds() - 181 }), [], 'ERR_AUTH_JWT_EXPIRED'],
    [sign({ ...good, nbf: epochSeconds() + 999 }), [], 'ERR_AUTH_JWT_NOT_VALID_YET'],
    [hmacToken(header, good, 'y'.repeat(64)), [], invalid, 'invalid signature'],
    [`${encode({ alg: 'none' })}.${encode(good)}.`, [], invalid],
    [sign({ sub: 'a' }), [], invalid, 'claim exp'],
    [valid, ['--issuer', 'me'], invalid, 'claim iss'],
    [sign({ ...good, aud: 'b' }), ['--audience', 'a'], invalid, 'claim aud'],
    [sign({ exp }), [], invalid, 'claim sub'],
    [sign({ ...good, sub: 'a\0' }), [], invalid, 'claim sub'],
    [valid, ['--claim-name', 'userid'], invalid, 'claim userid'],
    [valid, ['--alg', 'HS384'], invalid],
    [sign(good, { typ: 'reset+jwt' }), [], invalid, 'typ'],
    [sign(good), ['--typ', 'reset+jwt'], invalid, 'typ'],
    ...['', 'Bearer ', 'garbage', 'a.b.c.d.e', `${encode([])}.${encode({})}.x`].map(
      (text): [string, string[], string] => [text, [], invalid],
    ),
  ]
  for (const [token, words, code, cause] of cases) {
    const found = await inspectJson(token, words)
    t.match(found, { exit: 1, stderr: '', ok: false, valid: false, code }, code)
    if (cause !== undefined) t.match(found, { cause })
    const text = await cli(['inspect', ...words], { env, stdin: piped(token) })
    t.equal(text.exit, 1)
    t.ok(text.stdout.includes(`Not valid: ${code}`), text.stdout)
  }
  const half = await cli('inspect', { env, stdin: piped(`${encode(header)}.x.x`) })
  t.match(half.stdout, /^Header\n {2}alg {2}"HS256"\n/, 'what can be read is shown')
})

t.test('inspect names the audience that a token needs', async (t) => {
  const good = { sub: 'alice', exp: epochSeconds() + 60 }
  const rows: [aud: unknown, words: string[], shown: RegExp][] = [
    ['b', [], /needs jwt\.audience .*"b"\.$/],
    [['b', 'c'], ['--audience', 'a'], /needs jwt\.audience .*\["b","c"\]\.$/],
    [null, [], /needs jwt\.audience .*null\.$/],
  ]
  for (const [aud, words, reason] of rows) {
    const token = sign({ ...good, aud })
    t.match(await inspectJson(token, words), { valid: false, cause: 'claim aud', reason })
    const { stdout } = await cli(['inspect', ...words], { env, stdin: piped(token) })
    t.match(stdout.trim(), reason)
  }
  const none = await inspectJson(sign(good), ['--audience', 'a'])
  t.strictSame([none.cause, none.reason], ['claim aud', undefined])
  t.match(await inspectJson(sign({ ...good, aud: 'b' }), ['--audience', 'b']), { valid: true })
})

t.test('inspect says of what is no token that it is none, with and without keys', async (t) => {
  const token = service.generateToken('alice')
  const [head, body, signature] = token.split('.')
  const texts = [
    'abc',
    '',
    `${head}.${body}`,
    `"${token}"`,
    `${token}.x`,
    `${head}.e30x.${signature}`,
  ]
  for (const text of texts) {
    for (const variables of [env, {}, { AUTH_JWT_SECRET: 'short' }]) {
      const found = await inspectJson(text, [], { AUTH_JWT_SECRET: '', ...variables })
      t.match(found, { exit: 1, ok: false, valid: false, code: invalid, reason: /no token/ }, text)
      const shown = await cli('inspect', { env: variables, stdin: piped(text) })
      t.match(shown, { exit: 1, stdout: /Not valid: .* no token/ })
    }
  }
})

t.test('inspect checks a token by the rules of its options', async (t) => {
  const token = sign({ sub: 'a', iss: 'me', aud: ['x', 'b'], exp: epochSeconds() - 20 })
  const words = ['--issuer', 'me', '--audience', 'a', '--audience', 'b', '--clock-tolerance', '60']
  t.equal((await inspectJson(token, words)).exit, 0)
  const exp = epochSeconds() + 60
  t.equal((await inspectJson(sign({ userid: 7, exp }), ['--claim-name', 'userid'])).exit, 0)
  const typed = sign({ sub: 'a', exp }, { typ: 'b' })
  t.equal((await inspectJson(typed, ['--typ', 'a', '--typ', 'B'])).exit, 0)
  for (const tolerance of ['301', '1.5', 'x']) {
    const { exit, stderr } = await cli(['inspect', '--clock-tolerance', tolerance], { env })
    t.equal(exit, 2)
    t.match(stderr, 'option --clock-tolerance')
  }
  const asked = await inspectJson(sign({ sub: 'a', exp, scope: ' b  a ' }))
  t.strictSame(asked.scopes, ['b', 'a'])
  const shown = await cli('inspect', {
    env,
    stdin: piped(sign({ sub: 'a', exp, scp: ['a', 'b'] })),
  })
  t.match(shown.stdout, '\n\nScopes\n  "a"\n  "b"\n\nValid: ')
})

t.test('inspect verifies with the method of the configured key', async (t) => {
  const config = { ecdsa: { private: privatePem(keys.p384.privateKey) } }
  const token = new JwtService({ ...config, signingMethod: 'ES384' }).generateToken('alice')
  const variables = { AUTH_JWT_SECRET: '', AUTH_JWT_ECDSA_PUBLIC: publicPem(keys.p384.publicKey) }
  t.match(await inspectJson(token, [], variables), { exit: 0, valid: true })
  const claims = { sub: 'a', exp: epochSeconds() + 60 }
  const confused = hmacToken(header, claims, variables.AUTH_JWT_ECDSA_PUBLIC)
  t.match(await inspectJson(confused, [], variables), { exit: 1, valid: false, code: invalid })
})

t.test('without a usable key a token is shown but not checked', async (t) => {
  const token = service.generateToken('alice')
  const pairs = {
    AUTH_JWT_RSA_PUBLIC: publicPem(keys.rsa.publicKey),
    AUTH_JWT_ECDSA_PUBLIC: publicPem(keys.p256.publicKey),
  }
  const cases: [env: Record<string, string>, words: string[], reason: RegExp][] = [
    [{}, [], /Not checked: no key is configured: .* Set one, or name a file/],
    [{ AUTH_JWT_SECRET: 'short' }, [], /Not checked: AUTH_JWT_SECRET/],
    [env, ['--alg', 'RS256'], /Not checked: AUTH_JWT_RSA/],
    [pairs, [], /Not checked: several key pairs are configured\. .*--alg/],
    [env, ['--key-set', '/nowhere/keys.json'], /Not checked: .*"jwt\.keys".*ENOENT/],
  ]
  for (const [variables, words, reason] of cases) {
    const { exit, stdout, stderr } = await cli(['inspect', ...words], {
      env: variables,
      stdin: piped(token),
    })
    t.strictSame([exit, stderr], [1, ''])
    t.match(stdout, /\nClaims\n {2}sub {2}"alice"\n/)
    t.match(stdout, reason)
  }
  t.match(await inspectJson(token, [], { AUTH_JWT_SECRET: '' }), { ok: false, valid: null })
})

t.test('control characters of a token do not reach the terminal', async (t) => {
  const hostile = '\u001b[2J\u001b]0;owned\u0007\r\n\u009b31m\u202e'
  const token = sign(
    { sub: 'a', exp: 1e300, nbf: -1e300, iat: 1e20, [hostile]: hostile, __proto__: 1 },
    { kid: hostile },
  )
  for (const words of [['inspect'], ['inspect', '--json']]) {
    const { exit, stdout, stderr } = await cli(words, { env, stdin: piped(token) })
    t.strictSame([exit, stderr], [0, ''])
    t.match(stdout, /^[ -~\n]+$/, 'nothing but what is printed')
  }
})

t.test('with a key set inspect names the key and agrees with the server', async (t) => {
  const file = path.join(t.testdir(), 'keys.json')
  t.equal((await cli(['keys', 'init', 'ES256', '--key-set', file])).exit, 0)
  const [first, next] = JSON.parse(readFileSync(file, 'utf8')) as [KeyFileEntry, KeyFileEntry]
  const old = { alg: 'HS256', kid: 'old', secret, state: 'verify', legacy: true }
  const write = (...entries: readonly object[]): void =>
    writeFileSync(file, JSON.stringify(entries))
  write(first, next, old)
  const server = await new JwtService({ keys: file, reloadEvery: 0 }).load()
  const own = server.generateToken('alice')
  const legacy = service.generateToken('alice')
  const variables = { AUTH_JWT_SECRET: '', AUTH_JWT_KEYS: file }
  const { kid } = first
  const key = { kid, alg: 'ES256', state: 'sign', until: null }
  t.match(await inspectJson(own, [], variables), { exit: 0, valid: true, key })
  t.match(await inspectJson(own, ['--key-set', file]), { exit: 0, valid: true, key })
  t.match(await inspectJson(legacy, [], variables), { valid: true, key: { kid: 'old' } })
  t.match(await inspectJson(own, ['--alg', 'HS256'], variables), { exit: 1, valid: false })
  const shown = await cli('inspect', { env: variables, stdin: piped(own) })
  t.match(
    shown.stdout,
    new RegExp(`\\nKey\\n {2}kid +"${kid}"\\n[^]*\\nValid: signed with ES256\\.`),
  )

  write({ ...first, state: 'verify', until: '2020-01-01T00:00:00Z' }, { ...next, state: 'sign' })
  const past = await inspectJson(own, [], variables)
  t.match(past, { exit: 1, valid: false, code: invalid, key: { state: 'verify' } })
  write({ ...next, state: 'sign' })
  const gone = await inspectJson(own, [], variables)
  t.match(gone, { exit: 1, valid: false, code: invalid, cause: 'unknown kid', key: undefined })
})
