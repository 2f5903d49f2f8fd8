// Also holds lib/cli/environment.ts, lib/cli/doctor/boot.ts, lib/cli/doctor/doubts.ts,
// lib/cli/doctor/files.ts, lib/cli/doctor/finding.ts and lib/cli/doctor/secrets.ts.
import { chmodSync, copyFileSync } from 'node:fs'
import Fastify from 'fastify'
import t from 'tap'
import authn, { configFromEnv } from '../../../lib/index.js'
import { inVariables, variables } from '../../../lib/cli/environment.js'
import { cli } from '../../helpers/cli.js'
import { encryptedPem, moreKeys, passphrase } from '../../helpers/keys.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'
import type { Finding } from '../../../lib/cli/doctor/finding.js'

type Env = Record<string, string>

const secret = 'qF3-Zk8_wLr1Tn5Yd7Hs0Xv2Bm4Gc6Pj9Ae'
const production = { NODE_ENV: 'production' }
const rsa = privatePem(keys.rsa.privateKey)
const ec = privatePem(keys.p256.privateKey)
const locked = encryptedPem(keys.p256.privateKey)

async function doctor(env: Env, words: readonly string[] = []) {
  const { exit, stdout, stderr } = await cli(['doctor', '--json', ...words], { env })
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] }
  return { exit, ok, findings, stderr, stdout }
}

/** What an app says that boots with this environment; null: it boots. */
async function boot(env: Env): Promise<string | null> {
  const app = Fastify()
  try {
    app.register(authn, { ...configFromEnv(env), userService: { findByUsername: () => null } })
    await app.ready()
    return null
  } catch (error) {
    return inVariables((error as Error).message)
  } finally {
    await app.close()
  }
}

t.test('every variable that configFromEnv reads is known', async (t) => {
  const asked = new Set<string>()
  const env = new Proxy<Env>({}, { get: (_, name) => void asked.add(String(name)) })
  configFromEnv(env)
  t.strictSame([...asked].toSorted(), variables.toSorted())
})

t.test('nothing wrong', async (t) => {
  const { exit, stdout, stderr } = await cli('doctor', {
    env: { ...production, AUTH_JWT_SECRET: secret, AUTH_JWT_EXPIRY: '900' },
  })
  t.strictSame([exit, stderr], [0, ''])
  t.equal(stdout, 'In the environment: AUTH_JWT_SECRET, AUTH_JWT_EXPIRY\n\nNothing is wrong.\n')
  const full = {
    ...production,
    AUTH_JWT_SECRET: secret,
    AUTH_JWT_RSA_PRIVATE: rsa,
    AUTH_JWT_RSA_PUBLIC: publicPem(keys.rsa.publicKey),
    AUTH_JWT_ECDSA_PRIVATE: locked,
    AUTH_JWT_ECDSA_PASSPHRASE: passphrase,
    AUTH_JWT_EDDSA_PRIVATE: privatePem(keys.ed25519.privateKey),
    AUTH_BASIC_USERNAME: 'admin',
    AUTH_BASIC_PASSWORD: 'open sesame 42',
  }
  t.match(await doctor(full), { exit: 0, ok: true, findings: [] })
})

t.test('it finds what the boot finds', async (t) => {
  const noFile = '/nowhere/key.pem'
  const broken: Env[] = [
    { AUTH_JWT_SECRET: 'short' },
    { AUTH_JWT_SECRET: rsa },
    { AUTH_JWT_SECRET: publicPem(keys.rsa.publicKey) },
    { AUTH_JWT_SECRET: JSON.stringify(keys.rsa.publicKey.export({ format: 'jwk' })) },
    { AUTH_JWT_SECRET: secret, AUTH_JWT_EXPIRY: '15m' },
    { AUTH_JWT_SECRET: secret, AUTH_JWT_EXPIRY: '0' },
    { AUTH_JWT_SECRET: secret, AUTH_JWT_EXPIRY: '9999999999' },
    { AUTH_JWT_EXPIRY: '60' },
    { AUTH_JWT_RSA_PASSPHRASE: 'alone' },
    { AUTH_JWT_RSA_PRIVATE: noFile },
    { AUTH_JWT_RSA_PUBLIC: noFile },
    { AUTH_JWT_RSA_PRIVATE: Buffer.from(rsa).toString('base64') },
    { AUTH_JWT_RSA_PRIVATE: ec },
    { AUTH_JWT_RSA_PRIVATE: publicPem(keys.rsa.publicKey) },
    { AUTH_JWT_RSA_PUBLIC: rsa },
    { AUTH_JWT_RSA_PRIVATE: privatePem(moreKeys.rsa1024.privateKey) },
    { AUTH_JWT_RSA_PRIVATE: rsa, AUTH_JWT_RSA_PUBLIC: publicPem(moreKeys.otherRsa.publicKey) },
    { AUTH_JWT_RSA_PUBLIC: '-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----' },
    { AUTH_JWT_ECDSA_PRIVATE: locked },
    { AUTH_JWT_ECDSA_PRIVATE: locked, AUTH_JWT_ECDSA_PASSPHRASE: 'mistaken' },
    { AUTH_JWT_ECDSA_PRIVATE: privatePem(moreKeys.secp256k1.privateKey) },
    { AUTH_JWT_EDDSA_PRIVATE: privatePem(moreKeys.x25519.privateKey) },
    { AUTH_BASIC_USERNAME: 'admin' },
    { AUTH_BASIC_PASSWORD: 'open sesame 42' },
    { AUTH_BASIC_USERNAME: 'a:b', AUTH_BASIC_PASSWORD: 'open sesame 42' },
    { AUTH_BASIC_USERNAME: 'admin', AUTH_BASIC_PASSWORD: 'open\nsesame 42' },
  ]
  for (const [index, env] of broken.entries()) {
    const said = await boot(env)
    const { exit, ok, findings, stderr, stdout } = await doctor({ ...production, ...env })
    t.strictSame([exit, ok, stderr], [1, false, ''], `${index}: ${Object.keys(env).join(' ')}`)
    const errors = findings.filter(({ level }) => level === 'error')
    t.ok(
      errors.some(({ problem }) => String(said).includes(problem)),
      `the boot: ${said}; found: ${JSON.stringify(errors)}`,
    )
    for (const { problem, remedy } of findings) t.ok(problem !== '' && remedy !== '', problem)
    for (const value of ['short', 'alone', 'mistaken', 'open sesame', '-----'])
      t.notMatch(stdout, value)
  }
})

t.test('all of it at once: a finding each, and none twice', async (t) => {
  const env = {
    AUTH_JWT_SECRET: 'short',
    AUTH_JWT_EXPIRY: '15m',
    AUTH_JWT_RSA_PRIVATE: '/nowhere/private.pem',
    AUTH_JWT_RSA_PUBLIC: '/nowhere/public.pem',
    AUTH_JWT_ECDSA_PRIVATE: locked,
    AUTH_JWT_ECDSA_PUBLIC: ec,
    AUTH_JWT_EDDSA_PASSPHRASE: 'x',
    AUTH_BASIC_USERNAME: 'a:b',
    AUTH_JWT_SECRT: 'x',
    NODE_ENV: 'prod',
  }
  const { findings } = await doctor(env)
  t.strictSame(
    findings.map(({ level, variable }) => `${level} ${variable}`),
    [
      'error AUTH_JWT_SECRET',
      'error AUTH_JWT_EXPIRY',
      'error AUTH_JWT_RSA_PRIVATE',
      'error AUTH_JWT_RSA_PUBLIC',
      'error AUTH_JWT_ECDSA_PRIVATE',
      'error AUTH_JWT_ECDSA_PUBLIC',
      'error AUTH_JWT_EDDSA_*',
      'error AUTH_BASIC_USERNAME',
      'error AUTH_BASIC_PASSWORD',
      'warning AUTH_JWT_SECRT',
      'warning NODE_ENV',
    ],
  )
  const { exit, stdout } = await cli('doctor', { env })
  t.equal(exit, 1)
  t.match(
    stdout,
    /^In the environment: AUTH_JWT_SECRET, .*\n\nerror {4}AUTH_JWT_SECRET: is 40 bits/,
  )
  t.match(stdout, 'expected at least 256.\n         Make one with: npx fastify-authn secret\n')
  t.match(stdout, /\n9 errors, 2 warnings\.\n$/)
  t.notMatch(stdout, 'jwt.')
})

t.test('the method of the app', async (t) => {
  const both = { ...production, AUTH_JWT_RSA_PRIVATE: rsa, AUTH_JWT_ECDSA_PRIVATE: ec }
  t.match(await doctor({ ...production, AUTH_JWT_ECDSA_PRIVATE: ec }), {
    exit: 0,
    findings: [{ level: 'note', remedy: /signingMethod: 'ES256'/ }],
  })
  t.match(await doctor(both), {
    exit: 0,
    findings: [{ level: 'note', problem: 'several key pairs are configured.' }],
  })
  t.match(await doctor(both, ['--alg', 'ES256']), { exit: 0, findings: [] })
  t.match(await doctor(both, ['--alg', 'HS256']), {
    exit: 1,
    findings: [{ level: 'error', variable: 'AUTH_JWT_SECRET', problem: /is missing, but/ }],
  })
  t.match(await doctor({ ...production, AUTH_JWT_SECRET: secret }, ['--alg', 'HS512']), {
    exit: 1,
    findings: [
      {
        level: 'error',
        variable: 'AUTH_JWT_SECRET',
        remedy: 'Make one with: npx fastify-authn secret',
      },
    ],
  })
  t.match(await doctor({ ...both, AUTH_JWT_SECRET: 'short' }, ['--alg', 'HS256']), {
    findings: [{ problem: /is 40 bits/ }],
  })
  const basic = { AUTH_BASIC_USERNAME: 'a', AUTH_BASIC_PASSWORD: 'open sesame 42' }
  t.match(await doctor({ ...production, ...basic }, ['--alg', 'ES256']), { exit: 0 })
  t.equal((await cli('doctor --alg ES257')).exit, 2)
})

t.test('what the boot lets pass, and is hardly meant', async (t) => {
  const base = { ...production, AUTH_JWT_SECRET: secret }
  const hex = '9f86d081884c7d659a2feaa0c55ad015'
  const cases: [env: Env, variable: string | null, problem: RegExp, remedy: RegExp][] = [
    [production, null, /none of the variables .* is set/, /--env \.env/],
    [
      { ...base, AUTH_JWT_EXPIRE: '9' },
      'AUTH_JWT_EXPIRE',
      /is not read/,
      /Is AUTH_JWT_EXPIRY meant\?/,
    ],
    [
      { ...base, auth_jwt_expiry: '9' },
      'auth_jwt_expiry',
      /is not read/,
      /Is AUTH_JWT_EXPIRY meant\?/,
    ],
    [
      // The byte order mark of the file.
      { ...base, '\ufeffAUTH_JWT_EXPIRY': '90' },
      '\ufeffAUTH_JWT_EXPIRY',
      /is not read/,
      /Is AUTH_JWT_EXPIRY meant\?/,
    ],
    [
      {
        ...production,
        AUTH_BASIC_USERNAME: 'a',
        AUTH_BASIC_PASSWORD: 'open sesame 42',
        JWT_SECRET: 'x',
      },
      'JWT_SECRET',
      /is not read, and AUTH_JWT_SECRET is not set/,
      /Is AUTH_JWT_SECRET meant\?/,
    ],
    [
      { NODE_ENV: 'staging', AUTH_JWT_SECRET: 'ab'.repeat(32) },
      'AUTH_JWT_SECRET',
      /looks made up, not random: it repeats itself\./,
      /npx/,
    ],
    [{ ...base, AUTH_JWT_SECRET: hex }, 'AUTH_JWT_SECRET', /32 digits hold 128 random bits/, /npx/],
    [{ ...base, AUTH_JWT_SECRET: `"${secret}"` }, 'AUTH_JWT_SECRET', /quotes/, /Take them away/],
    [{ ...base, AUTH_JWT_SECRET: `${secret} ` }, 'AUTH_JWT_SECRET', /spaces/, /Take them away/],
    [
      { ...base, AUTH_JWT_EXPIRY: '900000' },
      'AUTH_JWT_EXPIRY',
      /10 days 10 hours/,
      /unit is seconds/,
    ],
    [{ ...base, AUTH_JWT_EXPIRY: '5' }, 'AUTH_JWT_EXPIRY', /for 5 seconds/, /900/],
    [
      { ...base, AUTH_JWT_ECDSA_PRIVATE: ec, AUTH_JWT_ECDSA_PASSPHRASE: 'x' },
      'AUTH_JWT_ECDSA_PASSPHRASE',
      /is not encrypted/,
      /--encrypt/,
    ],
    [
      { ...base, AUTH_BASIC_USERNAME: 'a', AUTH_BASIC_PASSWORD: 'hunter2' },
      'AUTH_BASIC_PASSWORD',
      /fewer than 12/,
      /longer/,
    ],
    [
      { ...base, NODE_ENV: 'prod' },
      'NODE_ENV',
      /no name that packages know/,
      /Is production meant\?/,
    ],
    [{ ...base, NODE_ENV: 'qqq' }, 'NODE_ENV', /no name/, /Is production meant\?/],
  ]
  for (const [env, variable, problem, remedy] of cases) {
    const { exit, findings } = await doctor(env)
    t.equal(exit, 1, String(problem))
    t.equal(findings.length, 1, JSON.stringify(findings))
    t.match(findings[0], { level: 'warning', variable, problem, remedy })
  }
})

t.test('a made-up secret is an error where it stops the boot', async (t) => {
  const { NODE_ENV } = process.env
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
  for (const made of ['x'.repeat(64), 'replace me by 32 or more random bytes']) {
    for (const name of ['production', 'Production', 'prod']) {
      const env = { NODE_ENV: name, AUTH_JWT_SECRET: made }
      const { findings, stdout } = await doctor(env)
      const found = findings.filter(({ variable }) => variable === 'AUTH_JWT_SECRET')
      t.match(found, [{ level: 'error', problem: /looks made up/, remedy: /npx/ }], name)
      t.equal(found.length, 1)
      t.notMatch(stdout, made)
      process.env.NODE_ENV = name
      t.match(await boot(env), /AUTH_JWT_SECRET: it \w+/)
    }
    process.env.NODE_ENV = 'production'
    // What counts is the environment that is checked, and not that of the one who checks.
    t.match((await doctor({ NODE_ENV: 'test', AUTH_JWT_SECRET: made })).findings, [
      { level: 'warning', variable: 'AUTH_JWT_SECRET' },
    ])
  }
})

t.test('a passphrase in the place of a key is not printed', async (t) => {
  for (const typed of [
    'hunter2-hunter2',
    'ab/cd+Ef012==',
    '/kd8Fj2LmQ+/x',
    'the phrase of the key',
  ]) {
    for (const variable of ['AUTH_JWT_RSA_PRIVATE', 'AUTH_JWT_ECDSA_PUBLIC']) {
      const { exit, stdout, stderr } = await doctor({ ...production, [variable]: typed })
      t.equal(exit, 1)
      t.match(stdout, /neither PEM text nor a key file that can be read \(ENOENT\)/)
      t.notMatch(stdout + stderr, typed)
    }
  }
})

t.test('what is no reason to worry', async (t) => {
  const base = { ...production, AUTH_JWT_SECRET: secret }
  t.match(await doctor({ ...base, AUTH_TRUST_HOST: '1' }), {
    exit: 0,
    findings: [{ level: 'note', variable: 'AUTH_TRUST_HOST' }],
  })
  t.match(await doctor({ AUTH_JWT_SECRET: secret }), {
    exit: 0,
    findings: [{ level: 'note', variable: 'NODE_ENV', remedy: /NODE_ENV=production/ }],
  })
  for (const more of [
    { JWT_SECRET: 'of somebody else' },
    { AUTH_NOTHING: '' },
    { AUTH_JWT_SECRET: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752' },
    { NODE_ENV: 'test' },
    { AUTH_JWT_RSA_PRIVATE: `${rsa}\n` },
  ]) {
    t.match(
      await doctor({ ...base, ...more }),
      { exit: 0, findings: [] },
      String(Object.keys(more)),
    )
  }
})

t.test('files that others may read', async (t) => {
  const folder = t.testdir({
    'k.pem': ec,
    'my k.pem': ec,
    '.env': `AUTH_JWT_SECRET=${secret}\n`,
    plain: 'AUTH_JWT_EXPIRY=60\n',
    paths: 'AUTH_JWT_ECDSA_PRIVATE=k.pem\n',
    inline: `AUTH_JWT_ECDSA_PRIVATE="${ec}"\n`,
  })
  const [key, spaced] = [`${folder}/k.pem`, `${folder}/my k.pem`]
  const withKey = (file: string): Env => ({
    ...production,
    AUTH_JWT_SECRET: secret,
    AUTH_JWT_ECDSA_PRIVATE: file,
  })
  const expected = process.platform === 'win32' ? [] : ['644', '604', '660', '666']
  for (const mode of ['600', '400', '640', ...expected]) {
    chmodSync(key, Number.parseInt(mode, 8))
    const { findings } = await doctor(withKey(key))
    t.equal(findings.length, expected.includes(mode) ? 1 : 0, mode)
    if (!expected.includes(mode)) continue
    t.match(findings[0], {
      level: 'warning',
      variable: 'AUTH_JWT_ECDSA_PRIVATE',
      problem: new RegExp(`others on this machine .* \\(mode ${mode}\\)`),
      remedy: `chmod 600 ${key}`,
    })
  }
  chmodSync(spaced, 0o644)
  if (expected.length > 0) {
    t.match((await doctor(withKey(spaced))).findings, [{ remedy: `chmod 600 '${spaced}'` }])
  }
  const running = `${folder}/it's $(exit).pem`
  copyFileSync(key, running)
  chmodSync(running, 0o644)
  if (expected.length > 0) {
    const remedy = `chmod 600 '${folder}/it'\\''s $(exit).pem'`
    t.match((await doctor(withKey(running))).findings, [{ remedy }], 'to be pasted without harm')
  }
  const words = (name: string): string[] => ['--env', `${folder}/${name}`]
  chmodSync(`${folder}/.env`, 0o644)
  chmodSync(`${folder}/plain`, 0o644)
  t.equal((await doctor(production, words('.env'))).findings.length, expected.length > 0 ? 1 : 0)
  chmodSync(`${folder}/.env`, 0o600)
  t.strictSame((await doctor(production, words('.env'))).findings, [])
  const base = { ...production, AUTH_JWT_SECRET: secret }
  t.strictSame((await doctor(base, words('plain'))).findings, [], 'there is no secret in it')
  for (const name of ['paths', 'inline']) chmodSync(`${folder}/${name}`, 0o644)
  chmodSync(key, 0o600)
  const withPath = { ...production, AUTH_JWT_SECRET: secret, AUTH_JWT_ECDSA_PRIVATE: key }
  t.strictSame((await doctor(withPath, words('paths'))).findings, [], 'nor where it names a file')
  const { findings } = await doctor(base, words('inline'))
  t.equal(findings.length, expected.length > 0 ? 1 : 0, 'but a key is one')
})

t.test('an env file', async (t) => {
  const folder = t.testdir({
    '.env': `AUTH_JWT_SECRET=${secret}\nAUTH_JWT_EXPIRY=60\nNODE_ENV=production\n`,
    bytes: Buffer.from([0xff]),
    long: `#${'x'.repeat(1_048_576)}`,
  })
  chmodSync(`${folder}/.env`, 0o600)
  const file = `${folder}/.env`
  const { exit, stdout } = await cli(['doctor', '--env', file], {
    env: { AUTH_JWT_EXPIRY: '90' },
  })
  t.equal(exit, 0)
  t.equal(
    stdout,
    `In the environment: AUTH_JWT_EXPIRY\nIn ${JSON.stringify(file)}: AUTH_JWT_SECRET\n` +
      'In both, where the environment wins: AUTH_JWT_EXPIRY\n\nNothing is wrong.\n',
  )
  const missing = await cli(['doctor', '--env', `${folder}/none`])
  t.strictSame([missing.exit, missing.stdout], [1, ''])
  t.match(
    missing.stderr,
    /^fastify-authn doctor: the env file ".*none" cannot be read \(ENOENT\)\.\n$/,
  )
  const bytes = await cli(['doctor', '--env', `${folder}/bytes`])
  t.match(bytes.stderr, /^fastify-authn doctor: the env file ".*bytes" is no UTF-8\.\n$/)
  const long = await cli(['doctor', '--env', `${folder}/long`])
  t.match(long.stderr, /^fastify-authn doctor: the env file ".*long" is longer than 1 MiB\.\n$/)
})

t.test('what nobody has thought of is no finding', async (t) => {
  let reads = 0
  const env = {
    get AUTH_JWT_SECRET(): string {
      reads += 1
      // The checks of the parts read it three times, those of the whole come after.
      if (reads > 3) throw new TypeError('my secret')
      return secret
    },
  }
  t.strictSame(await cli('doctor', { env }), {
    exit: 1,
    stdout: '',
    stderr: 'fastify-authn doctor: unexpected error (TypeError).\n',
  })
})
