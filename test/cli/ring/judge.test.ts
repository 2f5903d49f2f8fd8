// Also holds lib/cli/token-report.ts and lib/cli/ring/sign.ts.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { JwtService } from '../../../lib/tokens/service.js'
import { cli, piped } from '../../helpers/cli.js'
import { keys, publicPem } from '../../helpers/tokens.js'
import type { KeyFileEntry } from '../../../types/keys.js'

const past = '2020-01-01T00:00:00Z'
const secret = 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae'

t.test('inspect says which key judges a token, and is of one mind with the server', async (t) => {
  const file = path.join(t.testdir(), 'ring.json')
  t.equal((await cli(['keys', 'init', 'ES256', '--ring', file])).exit, 0)
  const [sign, next] = JSON.parse(readFileSync(file, 'utf8')) as [KeyFileEntry, KeyFileEntry]
  const old = { alg: 'HS256', kid: 'old', secret, state: 'verify', legacy: true }
  const write = (...entries: readonly object[]): void =>
    writeFileSync(file, JSON.stringify(entries))
  const ask = async (token: string, ...words: string[]) => {
    const { exit, stdout } = await cli(['inspect', '--ring', file, '--json', ...words], {
      stdin: piped(token),
    })
    return {
      exit,
      ...(JSON.parse(stdout) as { valid: boolean; reason: string; key: object | null }),
    }
  }
  const service = async () => new JwtService({ keys: file, reloadEvery: 0 }).load()
  write(sign, next, old)
  const server = await service()
  const own = server.generateToken('alice')
  const legacy = (await new JwtService({ secret }).load()).generateToken('alice')
  write({ ...sign, state: 'verify' }, { ...next, state: 'sign' }, old)
  const ofNext = (await service()).generateToken('alice')
  write(sign, next, old)
  const [head, body, end] = own.split('.') as [string, string, string]
  const withHead = (change: object): string => {
    const header = {
      ...(JSON.parse(Buffer.from(head, 'base64url').toString()) as object),
      ...change,
    }
    return [Buffer.from(JSON.stringify(header)).toString('base64url'), body, end].join('.')
  }

  const cases: [
    token: string,
    valid: boolean,
    reason: RegExp,
    kid: string | undefined,
    words?: string[],
  ][] = [
    [
      own,
      true,
      /^signed with ES256, with the key of the ring ".*ring\.json" with the kid "\S+" \(sign\)\.$/,
      sign.kid,
    ],
    [ofNext, true, /\(next\)/, next.kid],
    [
      legacy,
      true,
      /^signed with HS256, with the key of the ring ".*" with the kid "old" \(verify\)\.$/,
      'old',
    ],
    [own, true, /^signed/, sign.kid, ['--alg', 'ES256']],
    [
      own,
      false,
      /its algorithm is ES256, the server accepts HS256 only\.$/,
      sign.kid,
      ['--alg', 'HS256'],
    ],
    [own, false, /"iss" is missing/, sign.kid, ['--issuer', 'me']],
    [`${own.slice(0, -9)}AAAAAAAAA`, false, /its signature does not fit/, sign.kid],
    [withHead({ kid: next.kid }), false, /its signature does not fit/, next.kid],
    [
      withHead({ kid: 'other' }),
      false,
      /^no key of the ring has its "kid"\. The ring has "/,
      undefined,
    ],
    [withHead({ kid: null }), false, /^its "kid" is null, expected a text\.$/, undefined],
    [withHead({ kid: '' }), false, /^its "kid" is "", expected a text\.$/, undefined],
    [
      withHead({ kid: 'old' }),
      false,
      /^its algorithm is "ES256", but its key is for HS256 only\.$/,
      'old',
    ],
    [
      withHead({ kid: undefined }),
      false,
      /^it names no key \("kid"\), and no key of the ring for "ES256" has legacy: true\.$/,
      undefined,
    ],
  ]
  for (const [token, valid, reason, kid, words = []] of cases) {
    const { exit, ...found } = await ask(token, ...words)
    t.match(found, { valid, reason, key: kid === undefined ? null : { kid } })
    t.equal(exit, valid ? 0 : 1)
    if (words.length > 0) continue
    if (valid) t.equal(server.verify(token).sub, 'alice')
    else t.throws(() => server.verify(token), { code: 'ERR_AUTH_JWT_INVALID' })
  }
  write({ ...sign, state: 'verify', until: past }, { ...next, state: 'sign' })
  t.match(await ask(own), {
    valid: false,
    reason: /^its key ended: 2020-01-01T00:00:00/,
    key: { until: /^2020/ },
  })
  const { stdout } = await cli(['inspect', '--ring', file], { stdin: piped(ofNext) })
  t.match(
    stdout,
    new RegExp(`^Key\\n  kid     "${next.kid}"\\n  alg     "ES256"\\n  state   "sign"`, 'm'),
  )
})

t.test('without a ring that can be read, the token is shown all the same', async (t) => {
  const token = (await new JwtService({ secret }).load()).generateToken('alice')
  const missing = await cli(['inspect', '--ring', path.join(t.testdir(), 'none')], {
    stdin: piped(token),
  })
  t.equal(missing.exit, 1)
  t.match(missing.stdout, /sub +"alice"[^]*\nNot checked: there is no ring file/)
  const bad = path.join(t.testdir({ bad: '[]' }), 'bad')
  t.match(
    (await cli(['inspect', '--ring', bad], { stdin: piped(token) })).stdout,
    /\nNot checked: .*an array of 0/,
  )
})

t.test('token signs with a ring, and inspect finds it good', async (t) => {
  const folder = t.testdir({ '.env': 'PHRASE=a phrase\nAUTH_JWT_EXPIRY=77\n' })
  const ring = ['--ring', path.join(folder, 'ring.json')]
  const env = ['--env', path.join(folder, '.env')]
  t.equal(
    (await cli(['keys', 'init', 'ES256', '--passphrase-env', 'PHRASE', ...ring, ...env])).exit,
    0,
  )
  const made = await cli(['token', '--sub', 'alice', '--json', ...ring, ...env])
  const { token, alg, claims } = JSON.parse(made.stdout) as Record<string, never>
  t.match({ alg, claims }, { alg: 'ES256', claims: { sub: 'alice' } })
  t.equal(Number(claims?.['exp']) - Number(claims?.['nbf']), 77)
  const judged = await cli(['inspect', ...ring, ...env], { stdin: piped(String(token)) })
  t.equal(judged.exit, 0, judged.stdout)
  t.match(judged.stdout, /Valid: signed with ES256, with the key of the ring/)
  const without = await cli(['token', '--sub', 'alice', ...ring])
  t.strictSame([without.exit, without.stdout], [1, ''])
  t.match(without.stderr, /jwt\.keys\[0\]/)
})

t.test('token with several keys that sign, and with keys in files', async (t) => {
  const folder = t.testdir()
  const file = path.join(folder, 'ring.json')
  t.equal((await cli(['keys', 'ES256', '--out', path.join(folder, 'pem')])).exit, 0)
  writeFileSync(
    file,
    JSON.stringify([
      { alg: 'HS256', kid: 'hs', secret, state: 'sign' },
      { alg: 'ES256', kid: 'es', private: 'pem/es256-private.pem', state: 'sign' },
      { alg: 'ES256', kid: 'other', public: publicPem(keys.p256.publicKey), state: 'verify' },
    ]),
  )
  const unclear = await cli(['token', '--sub', 'alice', '--ring', file])
  t.equal(unclear.exit, 1)
  t.match(unclear.stderr, 'HS256 and ES256 have the state sign')
  for (const alg of ['HS256', 'ES256']) {
    const { exit, stdout } = await cli(['token', '--sub', 'alice', '--alg', alg, '--ring', file])
    t.equal(exit, 0)
    t.equal((await cli(['inspect', '--ring', file], { stdin: piped(stdout) })).exit, 0)
  }
})
