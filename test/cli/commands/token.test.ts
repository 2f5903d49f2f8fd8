import util from 'node:util'
import t from 'tap'
import { JwtService } from '../../../lib/tokens/service.js'
import { cli } from '../../helpers/cli.js'
import { moreKeys } from '../../helpers/keys.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'

const secret = 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9AeqF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae'
const env = { AUTH_JWT_SECRET: secret }
const service = new JwtService({ secret })

t.test('token prints a token and nothing else', async (t) => {
  const before = Math.floor(Date.now() / 1000)
  const { exit, stdout, stderr } = await cli('token --sub alice', { env })
  t.strictSame([exit, stderr], [0, ''])
  t.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const { sub, nbf, exp, ...rest } = service.verify(stdout.trim())
  t.strictSame([sub, rest], ['alice', {}])
  t.equal(Number(exp) - Number(nbf), 300)
  t.ok(Number(nbf) >= before)
})

t.test('--claim values are JSON if they parse, and strings otherwise', async (t) => {
  const claims = {
    'admin=true': true,
    'n=1': 1,
    'f=1.5': 1.5,
    'big=12345678901234567890': '12345678901234567890',
    'nothing=null': null,
    'list=["a",1]': ['a', 1],
    'digits=["12345678901234567890","\\"",1.5e20]': ['12345678901234567890', '"', 1.5e20],
    'text="1"': '1',
    'name=Jörg Müller': 'Jörg Müller',
    'url=https://a.example/?b=c': 'https://a.example/?b=c',
    'empty=': '',
    'broken={"a"': '{"a"',
    'aud=["one","two"]': ['one', 'two'],
    'iss=me': 'me',
    'jti="7"': '7',
    'iat=5': 5,
    '__proto__={"admin":true}': { admin: true },
  }
  const words = Object.keys(claims).flatMap((claim) => ['--claim', claim])
  const { exit, stdout } = await cli(['token', '--sub', '42', ...words, '--json'], { env })
  t.equal(exit, 0)
  const result = JSON.parse(stdout) as { ok: boolean; token: string; alg: string; claims: object }
  t.strictSame([result.ok, result.alg], [true, 'HS256'])
  const rules = { audience: false } as const
  const { nbf, exp, ...verified } = service.verify(result.token, undefined, rules)
  t.strictSame([typeof nbf, typeof exp], ['number', 'number'])
  const expected = Object.entries(claims).map(
    ([claim, value]) => [claim.slice(0, claim.indexOf('=')), value] as const,
  )
  t.strictSame(
    new Map(Object.entries(verified)),
    new Map<string, unknown>([['sub', '42'], ...expected]),
    'and the name stays a string',
  )
  t.strictSame(result.claims, { ...verified, nbf, exp })
})

t.test('--sub may be missing if --claim names the user', async (t) => {
  for (const [words, claims] of [
    ['--claim userid=7', { userid: 7 }],
    ['--claim sub=7', { sub: 7 }],
  ] as const) {
    const { exit, stdout } = await cli(`token ${words}`, { env })
    t.equal(exit, 0)
    t.match(service.verify(stdout.trim()), claims)
  }
})

t.test('--issuer and --audience make a token that a server with these rules accepts', async (t) => {
  for (const [words, aud] of [
    ['--audience a', 'a'],
    ['--audience a --audience b', ['a', 'b']],
  ] as const) {
    const { exit, stdout } = await cli(`token --sub alice --issuer me ${words}`, { env })
    t.equal(exit, 0)
    const claims = service.verify(stdout.trim(), 'HS256', { issuer: 'me', audience: 'a' })
    t.match(claims, { sub: 'alice', iss: 'me', aud })
  }
})

t.test('--expires wins over AUTH_JWT_EXPIRY as the lifetime', async (t) => {
  const life = async (words: string, more: Record<string, string> = {}): Promise<number> => {
    const { stdout } = await cli(`token --sub alice ${words}`, { env: { ...env, ...more } })
    const { nbf, exp } = service.verify(stdout.trim())
    return Number(exp) - Number(nbf)
  }
  t.equal(await life('', { AUTH_JWT_EXPIRY: '77' }), 77)
  // The clock may have gone on between the two times.
  for (const [span, seconds] of [
    ['900', 900],
    ['15m', 900],
    ['1h', 3600],
  ] as const) {
    const found = await life(`--expires ${span}`, { AUTH_JWT_EXPIRY: '77' })
    t.ok(Math.abs(found - seconds) <= 1, `${span}: ${found}`)
  }
  const expired = await cli('token --sub alice --claim exp=1', { env })
  t.throws(() => service.verify(expired.stdout.trim()), { code: 'ERR_AUTH_JWT_EXPIRED' })
})

t.test('token signs with the method of the configured key', async (t) => {
  const pairs = [
    ['RSA', keys.rsa, 'RS256'],
    ['ECDSA', keys.p256, 'ES256'],
    ['ECDSA', keys.p384, 'ES384'],
    ['ECDSA', keys.p521, 'ES512'],
    ['EDDSA', keys.ed25519, 'EdDSA'],
    ['EDDSA', moreKeys.ed448, 'EdDSA'],
  ] as const
  const algOf = async (words: string, env: Record<string, string>): Promise<unknown> => {
    const { exit, stdout, stderr } = await cli(`token --sub alice ${words} --json`, { env })
    t.equal(exit, 0, stderr)
    return (JSON.parse(stdout) as { alg: string }).alg
  }
  for (const [family, { privateKey }, method] of pairs) {
    const pair = { [`AUTH_JWT_${family}_PRIVATE`]: privatePem(privateKey) }
    t.equal(await algOf('', pair), method)
    t.equal(await algOf('', { ...pair, ...env }), 'HS256', 'a secret comes first')
    t.equal(await algOf(`--alg ${method}`, { ...pair, ...env }), method)
  }
  const rsa = { AUTH_JWT_RSA_PRIVATE: privatePem(keys.rsa.privateKey) }
  t.equal(await algOf('--alg PS512', rsa), 'PS512')
  const both = { ...rsa, AUTH_JWT_ECDSA_PRIVATE: privatePem(keys.p256.privateKey) }
  const { exit, stdout, stderr } = await cli('token --sub alice', { env: both })
  t.strictSame([exit, stdout], [2, ''])
  t.match(stderr, /several key pairs are configured\.\nChoose the signing method: --alg/)
})

t.test('--env reads variables from a file, and the environment wins', async (t) => {
  const folder = t.testdir({ '.env': `# mine\nAUTH_JWT_SECRET="${secret}"\nAUTH_JWT_EXPIRY=60\n` })
  const words = ['token', '--sub', 'alice', '--env', `${folder}/.env`]
  const { stdout } = await cli(words)
  const { nbf, exp } = service.verify(stdout.trim())
  t.equal(Number(exp) - Number(nbf), 60)
  const other = secret.toLowerCase()
  const overridden = await cli(words, { env: { AUTH_JWT_SECRET: other } })
  t.match(new JwtService({ secret: other }).verify(overridden.stdout.trim()), { sub: 'alice' })
})

t.test('--env without util.parseEnv exits with 1 and names Node 20.12', async (t) => {
  t.intercept(util, 'parseEnv', { value: undefined })
  const ran = await cli('token --sub alice --env .env', { env })
  t.match(ran, { exit: 1, stdout: '', stderr: /Node 20\.12/ })
})

t.test('a missing or bad key exits with 1 and names the variable', async (t) => {
  const cases: [env: Record<string, string>, words: string, message: RegExp][] = [
    [{}, '', /no key is configured: .*\nSet one, or name a file/],
    [{ AUTH_JWT_SECRET: 'hunter2' }, '', /: AUTH_JWT_SECRET: is 56 bits long/],
    [{ ...env, AUTH_JWT_EXPIRY: '1h' }, '', / AUTH_JWT_EXPIRY: found "1h"/],
    [env, '--alg ES256', /: AUTH_JWT_ECDSA: is missing/],
    [{ AUTH_JWT_RSA_PUBLIC: publicPem(keys.rsa.publicKey) }, '', /: AUTH_JWT_RSA_PRIVATE: /],
    [{ AUTH_JWT_RSA_PRIVATE: '/nowhere/rsa.pem' }, '', /: AUTH_JWT_RSA_PRIVATE: .*ENOENT/],
  ]
  for (const [env, words, message] of cases) {
    const { exit, stdout, stderr } = await cli(`token --sub alice ${words}`, { env })
    t.strictSame([exit, stdout], [1, ''])
    t.match(stderr, message)
    t.notMatch(stderr, 'hunter2')
  }
  const missing = await cli('token --sub alice --env /nowhere/.env', { env })
  t.match(missing, { exit: 1, stdout: '', stderr: /"\/nowhere\/\.env" .*\(ENOENT\)/ })
})

t.test('token exits with 2 for a claim that is wrong or given twice', async (t) => {
  const cases: [words: string[], message: string][] = [
    [[], '--sub is missing'],
    [['--expires', '1h'], '--sub is missing'],
    [['--claim', 'admin'], 'name=value'],
    [['--claim', '=true'], 'name=value'],
    [['--sub', 'a', '--claim', 'sub=b'], 'claim "sub" is given twice.'],
    [['--sub', 'a', '--issuer', 'me', '--claim', 'iss=b'], 'claim "iss" is given twice.'],
    [['--sub', 'a', '--claim', 'aud=b', '--audience', 'a'], 'claim "aud" is given twice.'],
    [['--sub', 'a', '--claim', 'a=1', '--claim', 'a=2'], 'claim "a" is given twice.'],
    [['--sub', 'a', '--expires', '5', '--claim', 'exp=9'], 'claim "exp" is given twice.'],
    ...['5y', 'x', '99999999999'].map((span): [string[], string] => [
      ['--sub', 'a', '--expires', span],
      'option --expires',
    ]),
  ]
  for (const [words, message] of cases) {
    const ran = await cli(['token', ...words], { env })
    t.match(ran, { exit: 2, stdout: '', stderr: message }, words.join(' '))
  }
})

t.test('--typ sets the purpose of the token', async (t) => {
  const { exit, stdout } = await cli('token --sub alice --typ reset+jwt', { env })
  t.equal(exit, 0)
  t.equal(service.verify(stdout.trim(), 'HS256', { typ: 'reset+jwt' }).sub, 'alice')
  t.throws(() => service.verify(stdout.trim()), { code: 'ERR_AUTH_JWT_INVALID' })
  const wrong = await cli(['token', '--sub', 'alice', '--typ', ' '], { env })
  t.match(wrong, { exit: 1, stdout: '', stderr: /typ/ })
})
