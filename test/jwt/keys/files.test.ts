import t from 'tap'
import { keyFilePaths, readKeyFiles } from '../../../lib/jwt/keys/files.js'
import { rejectionOf, reveals } from '../../helpers/errors.js'
import { derOf, encryptedPem } from '../../helpers/keys.js'
import { memoryFs } from '../../helpers/memory-fs.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'
import type { JwtConfig, KeyFileSystem } from '../../../types/jwt.js'

const rsa = { private: privatePem(keys.rsa.privateKey), public: publicPem(keys.rsa.publicKey) }
const ec = { private: privatePem(keys.p256.privateKey), public: publicPem(keys.p256.publicKey) }

t.test('keyFilePaths: every value of a pair that is not PEM text', async (t) => {
  t.equal(keyFilePaths({}).size, 0)
  t.equal(keyFilePaths({ secret: 'not/a/path' }).size, 0)
  t.equal(keyFilePaths({ rsa, ecdsa: ec }).size, 0)
  const paths = keyFilePaths({
    rsa: { private: 'rsa.pem', public: rsa.public },
    ecdsa: { private: 'rsa.pem', public: '/abs/ec.pem', passphrase: 'x' },
    eddsa: { private: 'C:\\keys\\ed.pem' },
  })
  t.strictSame(
    [...paths],
    [
      ['rsa.pem', 'jwt.rsa.private'],
      ['/abs/ec.pem', 'jwt.ecdsa.public'],
      ['C:\\keys\\ed.pem', 'jwt.eddsa.private'],
    ],
  )
})

t.test('readKeyFiles: each file once, also one that is named twice', async (t) => {
  const fs = memoryFs({ a: 'text of a', b: Buffer.from('text of b') })
  const config = { rsa: { private: 'a', public: 'b' }, ecdsa: { private: 'a' } }
  const files = await readKeyFiles(config, fs)
  t.strictSame(
    [...files],
    [
      ['a', 'text of a'],
      ['b', 'text of b'],
    ],
  )
  t.strictSame(fs.reads, { a: 1, b: 1 })
})

t.test('readKeyFiles: any object with readFile', async (t) => {
  const config = { rsa: { public: 'key.pem' } }
  const never = (): never => {
    throw new Error('not this one')
  }
  const systems: [string, KeyFileSystem][] = [
    ['a promise of a Buffer', { readFile: async () => Buffer.from('text') }],
    ['a promise of a string', { readFile: async () => 'text' }],
    ['a Buffer at once', { readFile: () => Buffer.from('text') }],
    ['a string at once', { readFile: () => 'text' }],
    [
      'like node:fs: asked through its promises',
      Object.assign({ promises: { readFile: async () => 'text' } }, { readFile: never }),
    ],
    ['promises without readFile', Object.assign({ promises: {} }, { readFile: () => 'text' })],
    [
      'an instance that needs its `this`',
      new (class {
        #text = 'text'
        readFile(): string {
          return this.#text
        }
      })(),
    ],
  ]
  for (const [title, fs] of systems) {
    t.strictSame([...(await readKeyFiles(config, fs))], [['key.pem', 'text']], title)
  }
})

t.test('readKeyFiles: bytes that are no Buffer, as Deno and browsers have them', async (t) => {
  const bytes = new Uint8Array(Buffer.from('text'))
  const files = await readKeyFiles({ rsa: { public: 'key.pem' } }, { readFile: async () => bytes })
  t.strictSame([...files], [['key.pem', 'text']])
})

t.test('readKeyFiles: a file that cannot be read', async (t) => {
  const config: JwtConfig = {
    rsa: { private: 'rsa.pem', public: 'rsa.pub' },
    ecdsa: { public: 'ec "quoted".pem' },
  }
  const failWith =
    (path: string, fault: unknown): ((asked: string) => Promise<string>) =>
    async (asked) => {
      if (asked === path) throw fault
      return 'text'
    }
  const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
  const cases: [string, unknown, string][] = [
    ['rsa.pem', denied, '"jwt.rsa.private": the key file "rsa.pem" cannot be read (EACCES).'],
    ['rsa.pub', denied, '"jwt.rsa.public": the key file "rsa.pub" cannot be read (EACCES).'],
    [
      'ec "quoted".pem',
      denied,
      '"jwt.ecdsa.public": the key file "ec \\"quoted\\".pem" cannot be read (EACCES).',
    ],
    ['rsa.pem', new Error('x'), 'the key file "rsa.pem" cannot be read (unknown reason).'],
    ['rsa.pem', null, 'the key file "rsa.pem" cannot be read (unknown reason).'],
    ['rsa.pem', undefined, 'the key file "rsa.pem" cannot be read (unknown reason).'],
  ]
  for (const [path, fault, text] of cases) {
    const caught = await rejectionOf(readKeyFiles(config, { readFile: failWith(path, fault) }))
    t.equal(caught.code, 'ERR_AUTH_KEY', text)
    t.ok(caught.message.includes(text), caught.message)
    t.match(caught.message, /Give PEM text, or the path of a PEM file that the process may read\.$/)
    t.equal(caught.error.cause, fault, 'the reason is kept')
  }
  const atOnce = {
    readFile(): never {
      throw denied
    },
  }
  t.match((await rejectionOf(readKeyFiles(config, atOnce))).message, '(EACCES)', 'thrown at once')
})

t.test('a key that is not PEM is never shown', async (t) => {
  const body = (pem: string): string => pem.split('\n').slice(1, -2).join('\n')
  const pkcs8 = derOf(keys.rsa.privateKey).toString('base64')
  const pkcs1 = keys.rsa.privateKey.export({ type: 'pkcs1', format: 'der' }).toString('base64')
  const sec1 = keys.p256.privateKey.export({ type: 'sec1', format: 'der' }).toString('base64')
  const notPem: [string, string][] = [
    ['base64 of PKCS#8', pkcs8],
    ['base64url of PKCS#8', Buffer.from(pkcs8, 'base64').toString('base64url')],
    ['base64 of PKCS#1', pkcs1],
    ['base64 of SEC 1', sec1],
    ['base64 of Ed25519', derOf(keys.ed25519.privateKey).toString('base64')],
    ['base64 of an encrypted one', body(encryptedPem(keys.rsa.privateKey)).replaceAll('\n', '')],
    ['base64 of PEM', Buffer.from(rsa.private).toString('base64')],
    ['PEM that lost its markers', body(rsa.private)],
    ['PEM that lost its markers, \\n spelled out', body(rsa.private).replaceAll('\n', '\\n')],
    ['a JSON Web Key', JSON.stringify(keys.rsa.privateKey.export({ format: 'jwk' }))],
    ['a JSON Web Key after a space', ` ${JSON.stringify({ kty: 'EC', d: 'A'.repeat(43) })}`],
    ['a list of JSON Web Keys', JSON.stringify([{ kty: 'oct', k: 'A'.repeat(43) }])],
    ['base64 of a public key', derOf(keys.rsa.publicKey).toString('base64')],
  ]
  for (const [title, text] of notPem) {
    await t.test(title, async (t) => {
      const missing = {
        async readFile(path: string): Promise<never> {
          const problem = `ENOENT: no such file or directory, open '${path}'`
          throw Object.assign(new Error(problem), { code: 'ENOENT', path })
        },
      }
      const caught = await rejectionOf(readKeyFiles({ rsa: { private: text } }, missing))
      t.equal(caught.code, 'ERR_AUTH_KEY')
      t.match(caught.message, 'fastify-authn: option "jwt.rsa.private":')
      t.match(caught.message, /Give PEM text, .*or the path of a PEM file/)
      t.notOk(reveals(caught.error, text), 'neither in the message nor in the cause')
    })
  }
})

t.test('a key that is not PEM is told from a path', async (t) => {
  const fs = memoryFs({})
  const jwk = JSON.stringify(keys.rsa.privateKey.export({ format: 'jwk' }))
  for (const text of [jwk, ` ${jwk}`, derOf(keys.rsa.privateKey).toString('base64')]) {
    const { message } = await rejectionOf(readKeyFiles({ rsa: { private: text } }, fs))
    t.equal(
      message,
      'fastify-authn: option "jwt.rsa.private": holds a JSON Web Key, or a key without the lines of PEM. Give PEM text, with its BEGIN and END lines, or the path of a PEM file.',
    )
  }
  t.strictSame(fs.reads, {}, 'the file system is not asked')
})

t.test('paths that look a little like a key', async (t) => {
  const fs = { readFile: async () => 'text' }
  for (const path of [
    'MIIB.pem',
    'keys/MIIEvQIBADANBgkqhkiG9w0BAQ',
    'MA==',
    'rsa key.pem',
    '[a]/b',
    'Mount/secrets/production/signing/private-key-of-the-api',
  ]) {
    t.ok((await readKeyFiles({ rsa: { private: path } }, fs)).has(path), path)
  }
})

t.test('what may be a passphrase is not quoted, not even by the cause', async (t) => {
  const fs: KeyFileSystem = {
    async readFile(path: string) {
      throw Object.assign(new Error(`ENOENT: no such file, open '${path}'`), {
        code: 'ENOENT',
        path,
      })
    },
  }
  for (const typed of [
    'hunter2-hunter2',
    'ab/cd+Ef012==',
    '/kd8Fj2LmQ+/x',
    'the phrase of the key',
  ]) {
    const { error, ...rest } = await rejectionOf(readKeyFiles({ rsa: { private: typed } }, fs))
    t.match(rest, { code: 'ERR_AUTH_KEY', message: /"jwt.rsa.private": found what is neither/ })
    t.notOk(reveals(error, typed), typed)
  }
  for (const path of ['rsa.pem', './rsa', '/run/secrets/rsa', 'C:\\keys\\rsa', 'keys/rsa.KEY']) {
    const { message } = await rejectionOf(readKeyFiles({ rsa: { private: path } }, fs))
    t.match(message, `the key file ${JSON.stringify(path)} cannot be read (ENOENT)`)
  }
})
