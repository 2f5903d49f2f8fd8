import { randomBytes } from 'node:crypto'
import t from 'tap'
import { JwtService } from '../../../lib/index.js'
import { isKey } from '../../../lib/tokens/keys/asymmetric.js'
import { certificateOf, pemOf } from '../../helpers/certificate.js'
import { rejectionOf, reveals, thrownBy } from '../../helpers/errors.js'
import { derOf, encryptedPem, hmacSecret, moreKeys, passphrase } from '../../helpers/keys.js'
import { memoryFs } from '../../helpers/memory-fs.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'
import type { JwtConfig, KeyPairConfig, SigningMethod } from '../../../types/jwt.js'

const rsa = { private: privatePem(keys.rsa.privateKey), public: publicPem(keys.rsa.publicKey) }
const ec = { private: privatePem(keys.p256.privateKey), public: publicPem(keys.p256.publicKey) }
const certificate = certificateOf(keys.p256.privateKey, keys.p256.publicKey)
const certificatePem = pemOf('CERTIFICATE', certificate)
const pkcs1 = keys.rsa.publicKey.export({ type: 'pkcs1', format: 'der' })

/** Whether a configuration makes and accepts the tokens that the other one does. */
function isSame(one: JwtConfig, other: JwtConfig, method: SigningMethod): boolean {
  const [a, b] = [new JwtService(one), new JwtService(other)]
  return b.verify(a.generateTokenWithClaims({ sub: 'a' }, method), method).sub === 'a'
}

t.test('a secret needs 256 bits, counted in bytes of UTF-8', async (t) => {
  const config = { secret: Buffer.from(hmacSecret) }
  t.ok(isSame({ secret: hmacSecret }, config, 'HS512'))
  t.ok(isSame({ secret: new Uint8Array(config.secret) as Buffer }, config, 'HS256'))
  const fine = [
    'é'.repeat(16),
    '{"this is": "no key", "but": "JSON of an object"}',
    '["a list", "of things", "that are no keys, not even kty"]',
    'BEGIN PUBLIC KEY without its dashes, that is',
    Buffer.alloc(64, 1).toString('base64'),
  ]
  for (const secret of fine) t.ok(new JwtService({ secret }).canSign('HS256'), secret)
  const short: [string | Buffer, number][] = [
    ['', 0],
    ['hunter2', 56],
    ['x'.repeat(31), 248],
    [Buffer.alloc(31), 248],
    ['é'.repeat(15), 240],
  ]
  for (const [secret, bits] of short) {
    const { code, message } = thrownBy(() => new JwtService({ secret }))
    t.equal(code, 'ERR_AUTH_KEY')
    t.match(
      message,
      new RegExp(`"jwt\\.secret": is ${bits} bits long, .* 256 for HS256\\. Make one with`),
    )
  }
})

/** DER as files, variables and tools hand it on. */
function spellings(title: string, der: Buffer): Record<string, string | Buffer> {
  const mark = Buffer.from('\ufeff')
  return {
    [`DER, ${title}`]: der,
    [`DER, ${title}, as a string`]: der.toString('latin1'),
    [`DER, ${title}, after a byte order mark`]: Buffer.concat([mark, der]),
    [`DER, ${title}, in base64`]: der.toString('base64'),
    [`DER, ${title}, in base64url`]: der.toString('base64url'),
    [`DER, ${title}, in base64 after a byte order mark`]: `\ufeff${der.toString('base64')}`,
    [`DER, ${title}, after a byte order mark in base64`]: Buffer.concat([mark, der]).toString(
      'base64',
    ),
    [`DER, ${title}, in lines of base64`]: der.toString('base64').replaceAll(/.{64}/g, '$&\n'),
  }
}

t.test('10,000 random secrets in each form are taken for no key', async (t) => {
  for (const form of ['base64', 'base64url', 'hex'] as const) {
    const secrets = Array.from({ length: 10_000 }, () => randomBytes(64).toString(form))
    t.strictSame(secrets.filter(isKey), [], form)
    t.ok(new JwtService({ secret: secrets[0] }).canSign('HS512'), `${form}: is accepted`)
  }
})

t.test('a key as a secret makes startup fail', async (t) => {
  const jwk = keys.rsa.publicKey.export({ format: 'jwk' })
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const base64url = (text: string): string => Buffer.from(text).toString('base64url')
  const cases: Record<string, string | Buffer> = {
    'PEM, public': rsa.public,
    'PEM, private': rsa.private,
    'PEM, PKCS#1': pemOf('RSA PUBLIC KEY', pkcs1),
    'PEM, a certificate': pemOf('CERTIFICATE', certificate),
    'PEM as a Buffer': Buffer.from(ec.public),
    'PEM after other text': `Bag Attributes\n  friendlyName: x\n${ec.public}`,
    'PEM after a byte order mark': `\ufeff${ec.public}`,
    'base64 of base64 of PEM': base64(base64(rsa.public)),
    'base64url of base64url of PEM': base64url(base64url(rsa.public)),
    'base64url of base64 of PEM': base64url(base64(ec.private)),
    'base64 of base64 of a JWK': base64(base64(JSON.stringify(jwk))),
    'base64 of base64 of DER': base64(pkcs1.toString('base64')),
    'base64 of lines of base64 of PEM': base64(base64(rsa.public).replaceAll(/.{76}/g, '$&\n')),
    'PEM in lower case': '-----begin public key-----\nMFkwEwYHKoZIzj0CAQY',
    'base64 of PEM': base64(rsa.public),
    'base64url of PEM': Buffer.from(rsa.public).toString('base64url'),
    'JWK, public': JSON.stringify(jwk),
    'JWK, symmetric': JSON.stringify({ kty: 'oct', k: 'A'.repeat(43) }),
    'JWK after a byte order mark': `\ufeff${JSON.stringify(jwk)}`,
    'JWK as a Buffer': Buffer.from(JSON.stringify(jwk)),
    'base64 of a JWK': base64(JSON.stringify(jwk)),
    JWKS: JSON.stringify({ keys: [jwk] }),
    'a list of JWKs': JSON.stringify([jwk, jwk]),
    'JWK inside other text': `AUTH_JWT_SECRET=${JSON.stringify(jwk)} # from the provider`,
    'JWK in a JSON string': JSON.stringify(JSON.stringify(jwk)),
    'JWK in a JSON string, twice': JSON.stringify(JSON.stringify(JSON.stringify(jwk))),
    'JWK with an escaped letter': JSON.stringify(jwk).replace('kty', String.raw`\u006Bty`),
    'JWK with escaped quotes': JSON.stringify(jwk).replaceAll('"', String.raw`\u0022`),
    'JWK in single quotes': JSON.stringify(jwk).replaceAll('"', "'"),
    'JWK in a URL': encodeURIComponent(JSON.stringify(jwk)),
    'JWK in HTML': JSON.stringify(jwk).replaceAll('"', '&quot;'),
    'JWK in UTF-16': Buffer.from(`\ufeff${JSON.stringify(jwk)}`, 'utf16le'),
    'base64url of a JWK in a JSON string': Buffer.from(
      JSON.stringify(JSON.stringify(jwk)),
    ).toString('base64url'),
    ...spellings('SPKI', keys.p256.publicKey.export({ type: 'spki', format: 'der' })),
    ...spellings('SPKI, Ed25519', keys.ed25519.publicKey.export({ type: 'spki', format: 'der' })),
    ...spellings('PKCS#1, public', pkcs1),
    ...spellings('PKCS#1, private', keys.rsa.privateKey.export({ type: 'pkcs1', format: 'der' })),
    ...spellings('PKCS#8', derOf(keys.p256.privateKey)),
    ...spellings(
      'PKCS#8, encrypted',
      keys.p256.privateKey.export({
        type: 'pkcs8',
        format: 'der',
        cipher: 'aes-256-cbc',
        passphrase,
      }),
    ),
    ...spellings('SEC 1', keys.p256.privateKey.export({ type: 'sec1', format: 'der' })),
    ...spellings('a certificate', certificate),
  }
  for (const [title, secret] of Object.entries(cases)) {
    const inSet = { alg: 'HS256', kid: 'a', state: 'sign', secret } as const
    const caught = [
      thrownBy(() => new JwtService({ secret })),
      await rejectionOf(new JwtService({ keys: [inSet] }).load()),
    ]
    for (const { code, message, error } of caught) {
      t.equal(code, 'ERR_AUTH_KEY', title)
      t.match(message, /secret": holds a key .*PEM.*JSON Web Key.* jwt\.rsa/, title)
      t.notOk(reveals(error, secret.toString('latin1' as never)), `${title}: not shown`)
    }
  }
})

t.test('keys are accepted in every form of PEM', async (t) => {
  const { privateKey, publicKey } = keys.rsa
  const spellings: [string, string, string][] = [
    [
      'PKCS#1',
      String(privateKey.export({ type: 'pkcs1', format: 'pem' })),
      String(publicKey.export({ type: 'pkcs1', format: 'pem' })),
    ],
    ['\\n spelled out', rsa.private.replaceAll('\n', '\\n'), rsa.public.replaceAll('\n', '\\n')],
    ['CRLF', rsa.private.replaceAll('\n', '\r\n'), rsa.public.replaceAll('\n', '\r\n')],
    ['text before', `a comment\n${rsa.private}`, `a comment\n${rsa.public}`],
  ]
  /** As files, variables and tools change the ends of lines. */
  const lineEnds: [string, (pem: string) => string][] = [
    ['lone CR', (pem) => pem.replaceAll('\n', '\r')],
    ['\\r\\n spelled out', (pem) => pem.replaceAll('\n', '\\r\\n')],
    ['\\r spelled out', (pem) => pem.replaceAll('\n', '\\r')],
    ['\\n spelled out twice', (pem) => pem.replaceAll('\n', '\\\\n')],
    ['lines that YAML has indented', (pem) => pem.replaceAll(/^/gm, '    ')],
    ['lines that are indented by tabs', (pem) => pem.replaceAll('\n', '\r\n\t')],
    ['spaces at the ends of lines', (pem) => pem.replaceAll('\n', '  \n')],
    ['blank lines and spaces around', (pem) => `\n \r\n  ${pem}\n\n`],
    ['a byte order mark and a blank line', (pem) => `\ufeff\n${pem}`],
  ]
  const folded = (pem: string): string => pem.trim().replaceAll('\n', ' ')
  spellings.push(['spaces for line ends', folded(rsa.private), folded(rsa.public)])
  const longLine = (pem: string): string => pem.replaceAll(/([\w+/])\n(?=[\w+/])/g, '$1')
  spellings.push(['one long line', longLine(rsa.private), longLine(rsa.public)])
  const comment = 'Bag Attributes\n  friendlyName: a key\n'
  for (const [title, change] of lineEnds) {
    spellings.push([title, change(rsa.private), change(rsa.public)])
    const both = (pem: string): string => change(comment + pem)
    spellings.push([`text before, ${title}`, both(rsa.private), both(rsa.public)])
    // Its headers end with a blank line (RFC 1421).
    const pair = { private: change(encryptedPem(privateKey, 'pkcs1')), passphrase }
    t.ok(isSame({ rsa: pair }, { rsa }, 'RS256'), `encrypted pkcs1, ${title}`)
    const service = new JwtService(
      { rsa: { private: 'a' } },
      { fs: memoryFs({ a: change(rsa.private) }) },
    )
    await service.load()
    t.ok(service.canSign('RS256'), `${title}, in a file`)
  }
  for (const [title, priv, pub] of spellings) {
    t.ok(isSame({ rsa }, { rsa: { private: priv, public: pub } }, 'PS256'), title)
  }
  const sec1 = String(keys.p256.privateKey.export({ type: 'sec1', format: 'pem' }))
  t.ok(isSame({ ecdsa: { private: sec1 } }, { ecdsa: ec }, 'ES256'), 'SEC 1')
  const public_ = pemOf('CERTIFICATE', certificate)
  t.ok(isSame({ ecdsa: ec }, { ecdsa: { public: public_ } }, 'ES256'), 'a certificate')
  t.ok(isSame({ ecdsa: { ...ec, public: public_ } }, { ecdsa: ec }, 'ES256'), 'beside its key')
  for (const type of ['pkcs8', 'pkcs1'] as const) {
    const pair = { private: encryptedPem(privateKey, type), passphrase }
    t.ok(isSame({ rsa: pair }, { rsa }, 'RS256'), `encrypted ${type}`)
    const spelled = { ...pair, private: pair.private.replaceAll('\n', '\\n') }
    t.ok(isSame({ rsa: spelled }, { rsa }, 'RS256'), `encrypted ${type}, \\n spelled out`)
  }
  t.ok(isSame({ rsa: { ...rsa, passphrase: 'of no use' } }, { rsa }, 'RS256'))
})

t.test('only a key on lines of its own is used, and only one', async (t) => {
  const old = privatePem(moreKeys.otherRsa.privateKey)
  const oldPublic = publicPem(moreKeys.otherRsa.publicKey)
  const [folded, escaped] = [' ', '\\n'].map((end) => old.trim().replaceAll('\n', end)) as [
    string,
    string,
  ]
  const comments = [`# ${folded}`, `# ${escaped}`, `OLD="${escaped}\\n"`, `OLD="${old.trim()}"`]
  const used: [string, string][] = [
    ...comments.map((comment): [string, string] => [`${comment}\n${rsa.private}`, rsa.public]),
    [`${old.replaceAll('\n', '\u00a0\n')}${rsa.private}`, rsa.public],
    [`${rsa.private}${comments.join('\n')}`, rsa.public],
    [rsa.private + oldPublic, `# ${oldPublic.trim().replaceAll('\n', ' ')}\n${rsa.public}`],
  ]
  for (const [priv, pub] of used)
    t.ok(isSame({ rsa }, { rsa: { private: priv, public: pub } }, 'RS256'), priv.slice(0, 40))
  const one = rsa.private.trim()
  const inside = ['\u00a0', '\u0085', '\u2003', '\u2028', '\u3000', '\ufeff'].flatMap((space) => [
    one.replace(/([\w+/]{30})\n?/, `$1${space}`),
    one.replaceAll('\n', space),
    one.replaceAll('\n', `${space}\n`),
  ])
  const privates = [
    ...inside,
    `key: ${one}`,
    `${one} foo`,
    `"${one}"`,
    `KEY="${one.replaceAll('\n', '\\n')}"`,
    JSON.stringify({ old: folded, new: one }),
    JSON.stringify({ old, new: one }),
    old + one,
    `${one}\n${old}`,
    `${folded}\n${one}`,
    `${escaped}\\n${one}`,
    `${old.replace(/-----END.*/, '')}${one}`,
    `OLD="\n${old}"\nNEW="\n${one}\n"`,
  ]
  const publics = [oldPublic + rsa.public, `key: ${rsa.public}`, certificatePem + rsa.public]
  const pairs = [
    ...privates.map((text) => ({ private: text })),
    ...publics.map((text) => ({ public: text })),
  ]
  for (const [index, pair] of pairs.entries()) {
    const { code, message } = thrownBy(() => new JwtService({ rsa: pair }))
    t.equal(code, 'ERR_AUTH_KEY', String(index))
    t.match(message, /jwt\.rsa\.(?:private|public)": .*(?:Give|Leave) /)
  }
})

/** An option with its value, what the error says, and what else is in the pair. */
const wrong: [option: string, pem: string, text: string, more?: KeyPairConfig][] = [
  ['rsa.private', rsa.public, 'holds a public key'],
  ['rsa.private', pemOf('RSA PUBLIC KEY', pkcs1), 'holds a public key'],
  ['ecdsa.private', pemOf('CERTIFICATE', certificate), 'holds a public key'],
  ['rsa.public', rsa.private, 'holds a private key'],
  ['rsa.public', publicPem(moreKeys.otherRsa.publicKey), 'is not the public half', rsa],
  ['rsa.public', ec.public, 'type ec, expected an RSA key', { private: rsa.private }],
  ['rsa.private', encryptedPem(keys.rsa.privateKey), 'passphrase is missing'],
  ['rsa.private', encryptedPem(keys.rsa.privateKey, 'pkcs1'), 'passphrase is missing'],
  ['rsa.private', encryptedPem(keys.rsa.privateKey), 'is wrong', { passphrase: 'another one' }],
  ['rsa.private', privatePem(moreKeys.rsa1024.privateKey), 'is 1024 bits long, expected at least'],
  ['rsa.public', publicPem(moreKeys.rsa1024.publicKey), 'is 1024 bits long, expected at least'],
  // No engine takes it for RS256.
  ['rsa.private', privatePem(moreKeys.rsaPss.privateKey), 'of type rsa-pss'],
  ['rsa.private', ec.private, 'of type ec'],
  ['eddsa.private', ec.private, 'of type ec'],
  ['eddsa.private', privatePem(moreKeys.x25519.privateKey), 'of type x25519'],
  ['ecdsa.private', privatePem(moreKeys.secp256k1.privateKey), 'is on the curve secp256k1'],
  ['rsa.private', pemOf('PRIVATE KEY', Buffer.from('AAAA')), 'is not a private key'],
  ['rsa.public', pemOf('PUBLIC KEY', Buffer.from('AAAA')), 'is not a public key'],
]

t.test('a bad key makes startup fail; the error names option, file and remedy', async (t) => {
  for (const [option, pem, text, more] of wrong) {
    const [family = '', half = ''] = option.split('.')
    const fs = memoryFs({ 'key.pem': pem })
    const config = (value: string): JwtConfig => ({ [family]: { ...more, [half]: value } })
    const caught = [
      thrownBy(() => new JwtService(config(pem))),
      await rejectionOf((async () => new JwtService(config('key.pem'), { fs }).load())()),
    ]
    for (const [index, { code, message, error }] of caught.entries()) {
      t.equal(code, 'ERR_AUTH_KEY', text)
      t.match(message, `option "jwt.${option}": `)
      t.match(message, text)
      t.match(message, /(?:Give|Set|Make) [^.]+/, `${text}: a remedy`)
      if (index === 1 && more !== rsa) t.match(message, '(file "key.pem")')
      for (const secret of [pem, more?.passphrase ?? pem]) {
        t.notOk(reveals(error, secret), `${text}: nothing is shown`)
      }
    }
  }
  for (const pair of [{}, { passphrase }]) {
    const { code, message } = thrownBy(() => new JwtService({ rsa: pair }))
    t.equal(code, 'ERR_AUTH_KEY')
    t.match(message, /"jwt\.rsa": has no key/)
  }
})

t.test('where lines of a key are missing or joined, the error speaks of lines', async (t) => {
  const [firstLine = ''] = rsa.private.split('\n')
  const encrypted = encryptedPem(keys.rsa.privateKey, 'pkcs1')
  for (const pem of [
    firstLine,
    rsa.private.slice(0, 600),
    rsa.private.replaceAll('\n', 'n'),
    encrypted.slice(0, 40),
    encrypted.replaceAll('\n', ' '),
  ]) {
    const { code, message, error } = thrownBy(
      () => new JwtService({ rsa: { private: pem, passphrase } }),
    )
    t.equal(code, 'ERR_AUTH_KEY')
    t.match(message, /"jwt\.rsa\.private": .*all its lines/)
    t.notOk(reveals(error, pem))
  }
})

t.test('an unreadable key file makes startup fail without quoting the option', async (t) => {
  const fs = {
    async readFile(path: string): Promise<never> {
      const error = new Error(`ENOENT: no such file or directory, open '${path}'`)
      throw Object.assign(error, { code: 'ENOENT', path })
    },
  }
  const values = [
    'keys/the-private-key-of-production.pem',
    'hunter2-hunter2-hunter2',
    derOf(keys.rsa.privateKey).toString('base64'),
    rsa.private.split('\n').slice(1, -2).join('\n'),
    JSON.stringify(keys.rsa.privateKey.export({ format: 'jwk' })),
  ]
  for (const value of values) {
    const entry = { alg: 'RS256', private: value, state: 'sign' } as const
    const configs: [string, JwtConfig][] = [
      ['jwt.rsa.private', { rsa: { private: value } }],
      ['jwt.keys[0].private', { keys: [entry] }],
      ['jwt.keys', { keys: value }],
    ]
    for (const [option, config] of configs) {
      const { code, message, error } = await rejectionOf(new JwtService(config, { fs }).load())
      t.equal(code, 'ERR_AUTH_KEY')
      t.ok(message.includes(`option "${option}": the file that it names cannot be read (ENOENT)`))
      t.notOk(reveals(error, value), option)
    }
  }
  const odd = { readFile: () => Promise.reject(new Error()) }
  const { message } = await rejectionOf(new JwtService({ keys: 'x' }, { fs: odd }).load())
  t.match(message, 'cannot be read (unknown reason)')
})
