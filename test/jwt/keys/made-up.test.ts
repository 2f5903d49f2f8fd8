// Also of lib/jwt/keys/words.ts and lib/jwt/keys/published.ts.
import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { madeUp } from '../../../lib/jwt/keys/made-up.js'
import { JwtService } from '../../../lib/jwt/service.js'
import { cases } from '../../helpers/cases.js'
import { root } from '../../helpers/project.js'

const phrase = 'the quick brown fox jumps over the lazy dog'

t.test('made-up secrets are told', async (t) => {
  const rows: Record<string, (string | Buffer)[]> = {
    'stands in documentation': [
      'replace me by 32 or more random bytes',
      ' a-secret-of-at-least-32-bytes-here\n',
      'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow',
      '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
    ],
    'repeats itself': [
      'x'.repeat(32),
      'x'.repeat(5000),
      'ab'.repeat(20),
      '0123456789abcdef'.repeat(4),
      'deadbeef'.repeat(8),
      'secret-secret-secret-secret-secret',
      `${'k'.repeat(40)}!`,
      Buffer.alloc(32),
      Buffer.alloc(64, 0xff),
    ],
    'hardly any different': ['abbaababbbabaaabbabbbaabababaaabbabaabbb'],
    'follows the alphabet': [
      'abcdefghijklmnopqrstuvwxyz012345',
      'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef',
      'qwertyuiopasdfghjklzxcvbnm123456',
      '1q2w3e4r5t6y7u8i9o0p1q2w3e4r5t6y',
      'a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6',
    ],
    'made of words': [
      phrase,
      Buffer.from(phrase),
      Buffer.from(phrase).toString('base64'),
      Buffer.from(phrase).toString('base64url'),
      Buffer.from(phrase).toString('hex'),
      'a-secret-that-nobody-may-see-in-the-output',
      'THE_KEY_HAS_TO_BE_REPLACED_IN_PRODUCTION',
      'ThisIsAVeryLongKeyForTheTokensOfMyApp123',
      'mein-geheimes-passwort-fuer-die-anwendung',
      'un-secret-très-long-que-personne-ne-devine',
      'P@ssw0rdP@ssw0rdForMyServer2025!',
      'очень-секретный-ключ-для-приложения',
    ],
  }
  for (const [expected, secrets] of Object.entries(rows)) {
    for (const secret of secrets) t.match(madeUp(secret), expected, String(secret).slice(0, 50))
  }
})

t.test('what is too short is refused for that', async (t) => {
  t.equal(madeUp('secret'), null)
})

/** `length` characters of an alphabet of 2, 4, 8 … 256 letters, or of any number by rejection. */
function picker(alphabet: string): (length: number) => string {
  const limit = 256 - (256 % alphabet.length)
  return (length) => {
    let text = ''
    while (text.length < length) {
      for (const byte of randomBytes(length)) {
        if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length]
      }
    }
    return text
  }
}

const small = 'abcdefghijklmnopqrstuvwxyz'
const large = small.toUpperCase()
const generators: Record<string, (length: number) => string | Buffer> = {
  bytes: (length) => randomBytes(length),
  base64: (length) => randomBytes(length).toString('base64').slice(0, length),
  base64url: (length) => randomBytes(length).toString('base64url').slice(0, length),
  hex: (length) => randomBytes(length).toString('hex').slice(0, length),
  'hex, large': (length) => randomBytes(length).toString('hex').toUpperCase().slice(0, length),
  base32: picker(`${large}234567`),
  base36: picker(`${small}0123456789`),
  'letters and digits': picker(`${small}${large}0123456789`),
  ASCII: picker(String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index))),
  UUID: () => randomUUID(),
}

t.test('of 10,000 generated secrets none is taken for made up', async (t) => {
  for (const [name, generate] of Object.entries(generators)) {
    const wrong: string[] = []
    for (let turn = 0; turn < cases(1000); turn++) {
      const secret = generate([32, 43, 64, 86][turn % 4] as number)
      const found = madeUp(secret)
      if (found !== null) wrong.push(`${secret.toString('latin1' as never)}: ${found}`)
    }
    t.strictSame(wrong, [], name)
  }
})

t.test('what documentation and examples show is known', async (t) => {
  const files = ['README.md', ...['docs', 'examples'].flatMap((folder) => below(folder))]
  const found = files.flatMap((file) =>
    [
      ...readFileSync(path.join(root, file), 'utf8').matchAll(
        /(?:\bsecret: ?|AUTH_JWT_SECRET ?(?:\|\||\?\?|=) ?)(['"`])([^'"`$\n]{32,})\1/g,
      ),
    ].map(([, , secret = '']) => [file, secret] as const),
  )
  for (const [file, secret] of found) t.not(madeUp(secret), null, `${file}: ${secret}`)
})

t.test('no example has a secret to fall back on', async (t) => {
  const files = ['README.md', ...['docs', 'examples'].flatMap((folder) => below(folder))]
  for (const file of files) {
    const text = readFileSync(path.join(root, file), 'utf8')
    t.notOk(/(?:SECRET|PASSWORD)\b["'\]]* ?(?:\|\||\?\?|:-)/.test(text), file)
  }
})

function below(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:md|[cm]?[jt]s|html)$/.test(file))
    .map((file) => `${folder}/${file}`)
}

t.test('production refuses it, however production is spelled', async (t) => {
  const { NODE_ENV } = process.env
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
  for (const name of ['production', 'Production', 'prod', 'production ']) {
    process.env.NODE_ENV = name
    for (const secret of [phrase, Buffer.from(phrase)]) {
      t.throws(() => new JwtService({ secret }), {
        code: 'ERR_AUTH_KEY',
        message: /option "jwt.secret": it is made of words, .*npx fastify-authn secret$/,
      })
    }
    t.ok(new JwtService({ secret: randomBytes(64).toString('base64url') }))
  }
})

t.test('elsewhere a warning tells of it once, without it', async (t) => {
  const secret = `${phrase} and another one`
  const warnings: Error[] = []
  const listen = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  t.ok(new JwtService({ secret }))
  t.ok(new JwtService({ secret }))
  t.ok(new JwtService({ secret: randomBytes(64).toString('base64url') }))
  await new Promise(setImmediate)
  t.equal(warnings.length, 1)
  t.match(warnings[0], {
    code: 'AUTHN_MADE_UP_SECRET',
    message: /"jwt.secret": it is made of words/,
  })
  t.notMatch(warnings[0]?.message, /quick|fox/)
})
