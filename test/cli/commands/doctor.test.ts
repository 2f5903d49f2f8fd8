import path from 'node:path'
import t from 'tap'
import { configFromEnv } from '../../../lib/index.js'
import { startupError, variables } from '../../../lib/cli/environment.js'
import { cli } from '../../helpers/cli.js'
import { derOf, encryptedPem, passphrase } from '../../helpers/keys.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'

type Env = Record<string, string>

const secret = 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae'
const production = { NODE_ENV: 'production' }
const rsa = privatePem(keys.rsa.privateKey)
const ec = privatePem(keys.p256.privateKey)
const jwk = JSON.stringify(JSON.stringify(keys.p256.publicKey.export({ format: 'jwk' })))
const der = derOf(keys.p256.publicKey).toString('base64')
const basic = { AUTH_BASIC_USERNAME: 'admin', AUTH_BASIC_PASSWORD: 'open sesame 42' }

async function doctor(env: Env, words: readonly string[] = []) {
  const { exit, stdout } = await cli(['doctor', '--json', ...words], { env })
  const { findings } = JSON.parse(stdout) as { findings: { level: string; problem: string }[] }
  return { exit, findings: findings.map(({ level, problem }) => `${level}: ${problem}`), stdout }
}

t.test('doctor knows every variable that configFromEnv reads', async (t) => {
  const asked = new Set<string>()
  configFromEnv(new Proxy<Env>({}, { get: (_, name) => void asked.add(String(name)) }))
  t.strictSame([...asked].toSorted(), variables.toSorted())
})

t.test('doctor exits with 0 if nothing is wrong', async (t) => {
  const { exit, stdout, stderr } = await cli('doctor', {
    env: { ...production, AUTH_JWT_SECRET: secret, AUTH_JWT_EXPIRY: '900', JWT_SECRET: 'x' },
  })
  t.strictSame([exit, stderr], [0, ''])
  t.equal(
    stdout,
    'Set: AUTH_JWT_SECRET, AUTH_JWT_EXPIRY\nnote: argon2: runs on @node-rs/argon2.\nNothing is wrong.\n',
  )
  const full = {
    ...production,
    ...basic,
    AUTH_JWT_SECRET: secret,
    AUTH_JWT_RSA_PRIVATE: rsa,
    AUTH_JWT_RSA_PUBLIC: publicPem(keys.rsa.publicKey),
    AUTH_JWT_ECDSA_PRIVATE: encryptedPem(keys.p256.privateKey),
    AUTH_JWT_ECDSA_PASSPHRASE: passphrase,
    AUTH_SESSIONS_REDIS_URL: 'redis://localhost',
    AUTH_TRUST_HOST: 'of other software',
  }
  t.match(await doctor(full), { exit: 0, findings: [] })
  t.match(await doctor({ ...production, ...basic }), { exit: 0, findings: [] })
})

t.test('doctor reports what would make startup fail, and prints no value', async (t) => {
  const pairs = { AUTH_JWT_RSA_PRIVATE: rsa, AUTH_JWT_ECDSA_PRIVATE: ec }
  const broken: [env: Env, problem: RegExp, words?: string[]][] = [
    [{ AUTH_JWT_SECRET: 'short' }, /^error: AUTH_JWT_SECRET: is 40 bits/],
    [{ AUTH_JWT_SECRET: jwk }, /^error: AUTH_JWT_SECRET: holds a key/],
    [{ AUTH_JWT_SECRET: der }, /^error: AUTH_JWT_SECRET: holds a key/],
    [{ AUTH_JWT_SECRET: 'x'.repeat(64) }, /^error: AUTH_JWT_SECRET: .*fastify-authn secret/],
    [{ AUTH_JWT_SECRET: secret, AUTH_JWT_EXPIRY: '15m' }, /^error: .*AUTH_JWT_EXPIRY/],
    [{ AUTH_JWT_SECRET: secret }, /^error: AUTH_JWT_RSA: is missing/, ['--alg', 'RS256']],
    [{ AUTH_JWT_RSA_PRIVATE: '/nowhere/key.pem' }, /^error: AUTH_JWT_RSA_PRIVATE: .*ENOENT/],
    [{ AUTH_JWT_RSA_PRIVATE: 'a phrase in the wrong place' }, /^error: AUTH_JWT_RSA_PRIVATE: /],
    [{ AUTH_JWT_RSA_PRIVATE: ec }, /^error: AUTH_JWT_RSA_PRIVATE: /],
    [{ AUTH_JWT_RSA_PASSPHRASE: 'alone' }, /^error: AUTH_JWT_RSA/],
    [pairs, /^error: several key pairs are configured\. .*--alg/],
    [{ AUTH_BASIC_USERNAME: 'admin' }, /^error: /],
  ]
  for (const [env, problem, words] of broken) {
    const { exit, findings, stdout } = await doctor({ ...production, ...env }, words)
    t.equal(exit, 1, String(problem))
    t.match(findings, [problem])
    for (const value of ['short', 'xxx', 'alone', 'phrase in', '-----']) t.notMatch(stdout, value)
  }
  t.match(await doctor({ ...production, ...pairs }, ['--alg', 'ES256']), { exit: 0, findings: [] })
  const { exit, findings } = await doctor({ ...production, AUTH_JWT_ECDSA_PRIVATE: ec })
  t.equal(exit, 0)
  t.match(findings, [/^note: .*jwt\.signingMethod: 'ES256'/])
})

t.test('doctor reports all errors, each once', async (t) => {
  const pair = { AUTH_JWT_RSA_PRIVATE: ec, AUTH_JWT_RSA_PUBLIC: '/nowhere/key.pem' }
  const everything = {
    AUTH_JWT_SECRET: 'short',
    AUTH_JWT_EXPIRY: '15m',
    AUTH_JWT_KEYS: '/nowhere/keys.json',
    AUTH_JWT_ECDSA_PASSPHRASE: 'alone',
  }
  const bad = { AUTH_BASIC_USERNAME: 'a:b', AUTH_BASIC_PASSWORD: 'a\nb' }
  const broken: [env: Env, problems: string[], words?: string[]][] = [
    [
      { ...everything, ...pair, ...bad },
      'EXPIRY KEYS SECRET USERNAME PASSWORD RSA_PUBLIC RSA_PRIVATE ECDSA'.split(' '),
    ],
    [{ ...pair, AUTH_JWT_RSA_PUBLIC: publicPem(keys.p256.publicKey) }, ['PRIVATE', 'PUBLIC']],
    [{ ...pair, AUTH_BASIC_USERNAME: 'a' }, ['RSA_PUBLIC', 'RSA_PRIVATE', 'BASIC_PASSWORD']],
    [{ AUTH_JWT_SECRET: secret, AUTH_JWT_EXPIRY: 'x' }, ['EXPIRY']],
    [{ AUTH_JWT_EXPIRY: 'x' }, ['EXPIRY', 'KEYS'], ['--key-set', '/nowhere/keys.json']],
    [{ AUTH_JWT_RSA_PUBLIC: publicPem(keys.rsa.publicKey), ...bad }, ['USERNAME', 'PASSWORD']],
  ]
  for (const [env, problems, words] of broken) {
    const { exit, findings } = await doctor({ ...production, ...env }, words)
    t.equal(exit, 1)
    const errors = findings.filter((each) => each.startsWith('error: '))
    t.equal(errors.length, problems.length, errors.join('\n'))
    for (const name of problems) {
      const named = name === 'KEYS' ? /"jwt\.keys"/ : new RegExp(`AUTH_\\w*${name}:`)
      const found = errors.some((each) => named.test(each))
      t.ok(found, name)
    }
  }
})

t.test('doctor warns of misspelt variables and weak secrets', async (t) => {
  const base = { ...production, AUTH_JWT_SECRET: secret }
  for (const [name, meant] of [
    ['AUTH_JWT_EXPIRE', 'AUTH_JWT_EXPIRY'],
    ['\ufeffauth_basic_username', 'AUTH_BASIC_USERNAME'],
    ['AUTH_JWT_RSA_PRIVTE', 'AUTH_JWT_RSA_PRIVATE, .*'],
  ] as const) {
    const { exit, findings } = await doctor({ ...base, [name]: 'my value' })
    t.equal(exit, 1)
    t.match(findings, [
      new RegExp(`^warning: .* is not read\\. Is one of these meant: ${meant}\\?$`),
    ])
    t.notMatch(findings, /my value/)
  }
  t.match(await doctor(production), { exit: 1, findings: [/^warning: .*--env \.env/] })
  const weak = { NODE_ENV: 'test', AUTH_JWT_SECRET: 'yx'.repeat(32) }
  t.match(await doctor(weak), { exit: 1, findings: [/^\w+: AUTH_JWT_SECRET: /] })
  const names = Array.from({ length: 20 }, (_, index) => [`AUTH_JWT_X${index}`, 'x'])
  const many = await doctor({ ...base, ...(Object.fromEntries(names) as Env) })
  t.equal(many.findings.length, 11, 'at most ten, and the note')
})

t.test('doctor checks a file of variables and a key set', async (t) => {
  const folder = t.testdir({ '.env': `AUTH_JWT_SECRET=${secret}\n` })
  const words = ['--env', path.join(folder, '.env')]
  t.match(await doctor(production, words), { exit: 0, findings: [] })
  t.equal((await doctor({ ...production, AUTH_JWT_SECRET: 'short' }, words)).exit, 1, 'it wins')

  const file = path.join(folder, 'keys.json')
  const env = { ...production, PHRASE: 'of the keys' }
  const init = ['keys', 'init', 'ES256', '--key-set', file, '--passphrase-env', 'PHRASE']
  t.equal((await cli(init, { env })).exit, 0)
  t.match(await doctor(env, ['--key-set', file]), { exit: 0, findings: [] })
  t.match(await doctor({ ...env, AUTH_JWT_KEYS: file }), { exit: 0, findings: [] })
  t.match(await doctor(production, ['--key-set', file]), { exit: 1, findings: [/PHRASE/] })
  const both = await doctor({ ...env, AUTH_JWT_KEYS: file, AUTH_JWT_SECRET: secret })
  t.match(both, { exit: 1, findings: [/^error: /] })
  const gone = await doctor({ ...env, AUTH_JWT_KEYS: `${file}.gone` })
  t.match(gone, { exit: 1, findings: [/^error: .*ENOENT/] })
})

t.test('doctor passes on errors that are not about the configuration', async (t) => {
  t.throws(() => startupError(new RangeError('other')), RangeError)
})
