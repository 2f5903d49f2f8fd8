import { createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { configFromEnv } from '../../../lib/options/environment.js'
import { JwtService } from '../../../lib/tokens/service.js'
import { signingMethods } from '../../../lib/common/algorithms.js'
import { cli, envOf, FakeTerminal, piped } from '../../helpers/cli.js'

const pairMethods = signingMethods.filter((method) => !method.startsWith('HS'))
/** What makes RSA keys quickly. */
const bits = (method: string): string[] => (/^[RP]S/.test(method) ? ['--bits', '2048'] : [])
const modeOf = (file: string): number => statSync(file).mode & 0o777

t.test('keys makes a pair for every algorithm and prints what the server needs', async (t) => {
  for (const method of pairMethods) {
    const out = path.join(t.testdir(), 'new', 'folder')
    const { exit, stdout, stderr } = await cli(['keys', method, '--out', out, ...bits(method)])
    t.equal(exit, 0, method)
    t.equal(
      stderr,
      `Set the method in the app: jwt: { ...configFromEnv().jwt, signingMethod: '${method}' }\n`,
    )
    const names = ['private', 'public'].map((half) => `${method.toLowerCase()}-${half}.pem`)
    t.strictSame(readdirSync(out), names)
    const [key = '', publicKey = ''] = names.map((name) => path.join(out, name))
    const { jwt = {} } = configFromEnv(envOf(stdout))
    const service = await new JwtService({ ...jwt, signingMethod: method }).load()
    t.match(service.verify(service.generateToken('alice')), { sub: 'alice' })
    if (process.platform !== 'win32') {
      t.strictSame([modeOf(key), modeOf(out)], [0o600, 0o700])
      t.equal(modeOf(publicKey) & 0o600, 0o600)
    }
    t.match(readFileSync(key, 'utf8'), /^-----BEGIN PRIVATE KEY-----\n/)
    t.match(readFileSync(publicKey, 'utf8'), /^-----BEGIN PUBLIC KEY-----\n/)
  }
})

t.test('an RSA key has 3072 bits by default', async (t) => {
  const out = t.testdir()
  const { stdout } = await cli(['keys', 'RS256', '--out', out, '--json'])
  const files = {
    private: path.join(out, 'rs256-private.pem'),
    public: path.join(out, 'rs256-public.pem'),
  }
  t.strictSame(JSON.parse(stdout), {
    ok: true,
    alg: 'RS256',
    files,
    encrypted: false,
    env: { AUTH_JWT_RSA_PRIVATE: files.private, AUTH_JWT_RSA_PUBLIC: files.public },
  })
  const key = createPublicKey(readFileSync(files.public))
  t.equal(key.asymmetricKeyDetails?.modulusLength, 3072)
})

t.test('a passphrase that is typed, piped in or in a file encrypts the key', async (t) => {
  const folder = t.testdir({ phrase: 'the phrase\n' })
  const typed = new FakeTerminal('the phrase\rthe phrase\r')
  const ways: [words: string[], options: Parameters<typeof cli>[1]][] = [
    [['--encrypt'], { stdin: typed }],
    [['--encrypt'], { stdin: piped('the phrase\n') }],
    [['--passphrase-file', path.join(folder, 'phrase')], {}],
  ]
  for (const [index, [words, options]] of ways.entries()) {
    const out = path.join(folder, String(index))
    const { exit, stdout, stderr } = await cli(['keys', 'ES256', '--out', out, ...words], options)
    t.equal(exit, 0)
    t.match(stderr, 'the passphrase in AUTH_JWT_ECDSA_PASSPHRASE.')
    t.notMatch(stdout + stderr, 'the phrase')
    const pem = readFileSync(path.join(out, 'es256-private.pem'), 'utf8')
    t.match(pem, /^-----BEGIN ENCRYPTED PRIVATE KEY-----/)
    t.throws(() => createPrivateKey(pem))
    t.equal(createPrivateKey({ key: pem, passphrase: 'the phrase' }).type, 'private')
    const env = { ...envOf(stdout), AUTH_JWT_ECDSA_PASSPHRASE: 'the phrase' }
    t.equal((await cli('doctor', { env: { ...env, NODE_ENV: 'production' } })).exit, 0)
  }
})

t.test('a bad passphrase exits with 1 and writes nothing', async (t) => {
  const folder = t.testdir({ empty: '\n', bytes: Buffer.from([0xff]) })
  const at = (name: string): string => path.join(folder, name)
  const cases: [words: string[], message: string][] = [
    [['--passphrase-file', at('empty')], 'the passphrase is empty.'],
    [
      ['--passphrase-file', at('bytes')],
      `the passphrase file ${JSON.stringify(at('bytes'))} is not UTF-8.`,
    ],
    [
      ['--passphrase-file', at('none')],
      `the passphrase file ${JSON.stringify(at('none'))} cannot be read (ENOENT).`,
    ],
    [['--encrypt'], 'the passphrase is empty.'],
  ]
  for (const [words, message] of cases) {
    const { exit, stdout, stderr } = await cli(['keys', 'ES256', '--out', at('out'), ...words])
    t.strictSame([exit, stdout, stderr], [1, '', `fastify-authn: ${message}\n`])
  }
  const both = await cli(['keys', 'ES256', '--encrypt', '--passphrase-file', at('empty')])
  t.equal(both.exit, 2)
  t.match(both.stderr, '--passphrase-file')
  t.strictSame(readdirSync(folder).toSorted(), ['bytes', 'empty'])
})

t.test('keys never overwrites or removes a file', async (t) => {
  for (const taken of ['es256-private.pem', 'es256-public.pem']) {
    const folder = t.testdir({ [taken]: 'mine' })
    const { exit, stdout, stderr } = await cli(['keys', 'ES256', '--out', folder])
    t.strictSame([exit, stdout], [1, ''])
    t.match(
      stderr,
      `${JSON.stringify(path.join(folder, taken))} exists already. Nothing was written.`,
    )
    t.strictSame(readdirSync(folder), [taken], 'the other half is not left behind')
    t.equal(readFileSync(path.join(folder, taken), 'utf8'), 'mine')
  }
  const folder = t.testdir({ elsewhere: {} })
  symlinkSync(path.join(folder, 'elsewhere/key'), path.join(folder, 'es256-private.pem'))
  t.equal((await cli(['keys', 'ES256', '--out', folder])).exit, 1, 'a dangling link')
  t.strictSame(readdirSync(path.join(folder, 'elsewhere')), [])
})

t.test('a folder that cannot be made exits with 1', async (t) => {
  const folder = t.testdir({ file: 'text' })
  const out = path.join(folder, 'file', 'below')
  const { exit, stderr } = await cli(['keys', 'ES256', '--out', out])
  t.equal(exit, 1)
  t.match(stderr, /cannot be written \(ENOTDIR\)\.\n$/)
  t.equal(readFileSync(path.join(folder, 'file'), 'utf8'), 'text')
})

t.test('keys writes to the current folder by default', async (t) => {
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  process.chdir(t.testdir())
  const { exit, stdout } = await cli('keys ES256')
  t.equal(exit, 0)
  t.equal(
    stdout,
    'AUTH_JWT_ECDSA_PRIVATE=es256-private.pem\nAUTH_JWT_ECDSA_PUBLIC=es256-public.pem\n',
  )
  t.strictSame(readdirSync('.'), ['es256-private.pem', 'es256-public.pem'])
})

t.test('a folder with spaces in its name works in an env file', async (t) => {
  const out = path.join(t.testdir(), 'my keys')
  mkdirSync(out)
  const { exit, stdout } = await cli(['keys', 'EdDSA', '--out', out])
  t.equal(exit, 0)
  const file = path.join(out, '../.env')
  writeFileSync(file, stdout)
  t.equal((await cli(['token', '--sub', 'alice', '--env', file])).exit, 0)
})

t.test('wrong usage exits with 2 and writes nothing', async (t) => {
  const out = path.join(t.testdir(), 'out')
  const cases: [words: string, message: RegExp][] = [
    ['HS256', /Allowed choices are RS256, .*EdDSA\./],
    ...['1024', '2047', '9999', 'x', '2e3'].map((size): [string, RegExp] => [
      `RS256 --bits ${size}`,
      /option --bits <n>: expected a whole number from 2048 to 8192\./,
    ]),
    ['ES256 --passphrase hunter2', /unknown option '--passphrase'/],
    ['ES256 --encrypt hunter2', /too many arguments/],
  ]
  for (const [words, message] of cases) {
    const { exit, stdout, stderr } = await cli([...`keys ${words}`.split(' '), '--out', out])
    t.strictSame([exit, stdout], [2, ''], words)
    t.match(stderr, message)
    t.notMatch(stderr, 'hunter2')
  }
  t.throws(() => statSync(out), { code: 'ENOENT' })
})
