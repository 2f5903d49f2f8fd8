import { createPublicKey, type KeyObject } from 'node:crypto'
import t from 'tap'
import { parseKeys } from '../../../lib/jwt/keys/parse.js'
import { certificateOf, pemOf } from '../../helpers/certificate.js'
import { reveals, thrownBy } from '../../helpers/errors.js'
import { derOf, encryptedPem, hmacSecret, moreKeys, passphrase } from '../../helpers/keys.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'
import type { JwtConfig } from '../../../types/jwt.js'

const rsa = { private: privatePem(keys.rsa.privateKey), public: publicPem(keys.rsa.publicKey) }
const ec = { private: privatePem(keys.p256.privateKey), public: publicPem(keys.p256.publicKey) }
const noFiles = new Map<string, string>()

t.test('a secret', async (t) => {
  const { secret } = parseKeys({ secret: hmacSecret }, noFiles)
  t.strictSame(secret, { sign: Buffer.from(hmacSecret), verify: secret?.sign, bits: 512 })
  const bytes = Buffer.alloc(32, 7)
  const ring = parseKeys({ secret: bytes }, noFiles)
  t.strictSame(ring.secret?.sign, bytes)
  bytes.fill(0)
  t.notSame(ring.secret?.sign, bytes, 'a copy: what happens to the Buffer later changes no key')
  t.equal(parseKeys({ secret: 'é'.repeat(16) }, noFiles).secret?.bits, 256, 'bytes count')
  const array = new Uint8Array(48) as unknown as Buffer
  t.equal(parseKeys({ secret: array }, noFiles).secret?.bits, 384)
})

t.test('secrets that look a little like a key', async (t) => {
  const fine = [
    '{"this is": "no key", "but": "JSON of an object"}',
    '["a list", "of things", "that are no keys"]',
    '"a JSON string of enough characters"',
    '12345678901234567890123456789012',
    'BEGIN PUBLIC KEY without its dashes, that is',
    Buffer.alloc(64, 1).toString('base64'),
    Buffer.alloc(64, 1).toString('hex'),
  ]
  for (const secret of fine) {
    t.ok((parseKeys({ secret }, noFiles).secret?.bits ?? 0) >= 256, secret)
  }
})

const certificate = certificateOf(keys.p256.privateKey, keys.p256.publicKey)
const pkcs1 = keys.rsa.publicKey.export({ type: 'pkcs1', format: 'der' })

t.test('key material given as a secret', async (t) => {
  const jwk = keys.rsa.publicKey.export({ format: 'jwk' })
  const pem = 'holds a PEM key or certificate, expected a random secret.'
  const json = 'holds a JSON Web Key, expected a random secret.'
  const spki = derOf(keys.rsa.publicKey)
  const cases: [string, string | Buffer, string][] = [
    ['PEM, public', rsa.public, pem],
    ['PEM, private', rsa.private, pem],
    ['PEM, encrypted', encryptedPem(keys.rsa.privateKey), pem],
    ['PEM, PKCS#1', pemOf('RSA PUBLIC KEY', pkcs1), pem],
    ['PEM, a certificate', pemOf('CERTIFICATE', certificate), pem],
    ['PEM as a Buffer', Buffer.from(ec.public), pem],
    ['PEM after other text', `Bag Attributes\n  friendlyName: x\n${ec.public}`, pem],
    ['PEM after a byte order mark', `\ufeff${ec.public}`, pem],
    ['PEM on one line', rsa.public.replaceAll('\n', ' '), pem],
    ['PEM with \\n spelled out', rsa.public.replaceAll('\n', '\\n'), pem],
    ['PEM in lower case', '-----begin public key-----\nMFkwEwYHKoZIzj0CAQY', pem],
    ['DER, RSA', spki, pem],
    ['DER, EC', derOf(keys.p256.publicKey), pem],
    ['DER, Ed25519', derOf(keys.ed25519.publicKey), pem],
    ['DER, PKCS#1', pkcs1, pem],
    ['DER, a certificate', certificate, pem],
    ['base64 of DER', spki.toString('base64'), pem],
    ['base64url of DER', spki.toString('base64url'), pem],
    ['base64 of DER in lines', rsa.public.split('\n').slice(1, -2).join('\n'), pem],
    ['base64 of DER as a Buffer', Buffer.from(spki.toString('base64')), pem],
    ['base64 of DER, PKCS#1', pkcs1.toString('base64'), pem],
    ['base64 of a certificate', certificate.toString('base64'), pem],
    ['base64 of PEM', Buffer.from(rsa.public).toString('base64'), pem],
    ['JWK, public', JSON.stringify(jwk), json],
    ['JWK, private', JSON.stringify(keys.p256.privateKey.export({ format: 'jwk' })), json],
    ['JWK, symmetric', JSON.stringify({ kty: 'oct', k: 'A'.repeat(43) }), json],
    ['JWK, indented', JSON.stringify(jwk, null, 2), json],
    ['JWK as a Buffer', Buffer.from(JSON.stringify(jwk)), json],
    ['JWKS', JSON.stringify({ keys: [jwk] }), json],
    ['a list of JWKs', JSON.stringify([jwk, jwk]), json],
  ]
  for (const [title, secret, text] of cases) {
    await t.test(title, async (t) => {
      const { code, message, error } = thrownBy(() => parseKeys({ secret }, noFiles))
      t.equal(code, 'ERR_AUTH_KEY')
      t.match(message, `fastify-authn: option "jwt.secret": ${text} `)
      t.match(message, text === pem ? 'Give the key as jwt.rsa' : 'Make one with: node -p')
      t.notOk(reveals(error, secret.toString('latin1' as never)), 'nothing of it is shown')
    })
  }
})

t.test('a secret that is too short (RFC 7518 §3.2)', async (t) => {
  for (const [secret, bits] of [
    ['', 0],
    ['x', 8],
    ['hunter2', 56],
    ['x'.repeat(31), 248],
    [Buffer.alloc(31), 248],
    ['é'.repeat(15), 240],
  ] as const) {
    const { code, message } = thrownBy(() => parseKeys({ secret }, noFiles))
    t.equal(code, 'ERR_AUTH_KEY', String(bits))
    t.equal(
      message,
      `fastify-authn: option "jwt.secret": is ${bits} bits long, expected at least 256. Make one with: node -p "crypto.randomBytes(64).toString('base64url')"`,
    )
  }
  t.doesNotThrow(() => parseKeys({ secret: 'x'.repeat(32) }, noFiles))
})

t.test('a pair', async (t) => {
  const both = parseKeys({ rsa }, noFiles).rsa
  t.strictSame(both, { sign: rsa.private, verify: rsa.public, bits: 2048 })
  const privateOnly = parseKeys({ rsa: { private: rsa.private } }, noFiles).rsa
  t.strictSame(privateOnly, both, 'the public half comes from the private one')
  const publicOnly = parseKeys({ rsa: { public: rsa.public } }, noFiles).rsa
  t.strictSame(publicOnly, { verify: rsa.public, bits: 2048 }, 'without a key that signs')
  for (const [pair, curve] of [
    [keys.p256, 'prime256v1'],
    [keys.p384, 'secp384r1'],
    [keys.p521, 'secp521r1'],
  ] as const) {
    t.strictSame(parseKeys({ ecdsa: { private: privatePem(pair.privateKey) } }, noFiles).ecdsa, {
      sign: privatePem(pair.privateKey),
      verify: publicPem(pair.publicKey),
      curve,
    })
  }
  for (const { privateKey, publicKey } of [keys.ed25519, moreKeys.ed448]) {
    t.strictSame(parseKeys({ eddsa: { private: privatePem(privateKey) } }, noFiles).eddsa, {
      sign: privatePem(privateKey),
      verify: publicPem(publicKey),
    })
  }
})

t.test('only the families that are configured', async (t) => {
  t.strictSame(parseKeys({}, noFiles), {})
  t.strictSame(Object.keys(parseKeys({ ecdsa: ec, secret: hmacSecret, rsa }, noFiles)).toSorted(), [
    'ecdsa',
    'rsa',
    'secret',
  ])
})

t.test('every spelling of PEM', async (t) => {
  const expected = parseKeys({ rsa }, noFiles).rsa
  const { privateKey, publicKey } = keys.rsa
  const spellings: [string, string, string][] = [
    ['PKCS#8 and SPKI', rsa.private, rsa.public],
    [
      'PKCS#1',
      privateKey.export({ type: 'pkcs1', format: 'pem' }) as string,
      publicKey.export({ type: 'pkcs1', format: 'pem' }) as string,
    ],
    ['\\n spelled out', rsa.private.replaceAll('\n', '\\n'), rsa.public.replaceAll('\n', '\\n')],
    ['CRLF', rsa.private.replaceAll('\n', '\r\n'), rsa.public.replaceAll('\n', '\r\n')],
    ['no line break at the end', rsa.private.trimEnd(), rsa.public.trimEnd()],
    ['text before', `a comment\n${rsa.private}`, `a comment\n${rsa.public}`],
  ]
  for (const [title, priv, pub] of spellings) {
    t.strictSame(parseKeys({ rsa: { private: priv, public: pub } }, noFiles).rsa, expected, title)
  }
  const sec1 = keys.p256.privateKey.export({ type: 'sec1', format: 'pem' }) as string
  t.strictSame(parseKeys({ ecdsa: { private: sec1 } }, noFiles).ecdsa?.sign, ec.private, 'SEC 1')
})

t.test('from files', async (t) => {
  const files = new Map([
    ['private.pem', rsa.private],
    ['public.pem', rsa.public],
  ])
  const pair = { private: 'private.pem', public: 'public.pem' }
  t.strictSame(parseKeys({ rsa: pair }, files), parseKeys({ rsa }, noFiles))
})

t.test('a certificate as the public key', async (t) => {
  const pem = pemOf('CERTIFICATE', certificate)
  t.strictSame(
    parseKeys({ ecdsa: { public: pem } }, noFiles).ecdsa,
    parseKeys({ ecdsa: { public: ec.public } }, noFiles).ecdsa,
  )
  t.strictSame(
    parseKeys({ ecdsa: { private: ec.private, public: pem } }, noFiles),
    parseKeys({ ecdsa: ec }, noFiles),
    'beside its private key',
  )
  const other = certificateOf(moreKeys.otherP256.privateKey, moreKeys.otherP256.publicKey)
  const { message } = thrownBy(() =>
    parseKeys({ ecdsa: { ...ec, public: pemOf('CERTIFICATE', other) } }, noFiles),
  )
  t.match(message, 'option "jwt.ecdsa.public": is not the public half of jwt.ecdsa.private.')
})

t.test('an encrypted private key', async (t) => {
  const expected = parseKeys({ rsa }, noFiles).rsa
  const encrypted: [string, JwtConfig][] = [
    ['PKCS#8', { rsa: { private: encryptedPem(keys.rsa.privateKey), passphrase } }],
    ['PKCS#1', { rsa: { private: encryptedPem(keys.rsa.privateKey, 'pkcs1'), passphrase } }],
    [
      'PKCS#8 with \\n spelled out',
      {
        rsa: { private: encryptedPem(keys.rsa.privateKey).replaceAll('\n', '\\n'), passphrase },
      },
    ],
  ]
  for (const [title, config] of encrypted) {
    t.strictSame(parseKeys(config, noFiles).rsa, expected, title)
  }
  const sec1 = encryptedPem(keys.p256.privateKey, 'sec1')
  const ring = parseKeys({ ecdsa: { private: sec1, passphrase } }, noFiles)
  t.strictSame(ring, parseKeys({ ecdsa: ec }, noFiles), 'SEC 1')
  const ed = encryptedPem(keys.ed25519.privateKey)
  const eddsa = parseKeys({ eddsa: { private: ed, passphrase } }, noFiles).eddsa
  t.equal(eddsa?.sign, privatePem(keys.ed25519.privateKey), 'Ed25519')
  t.strictSame(
    parseKeys({ rsa: { ...rsa, passphrase: 'of no use' } }, noFiles).rsa,
    expected,
    'a passphrase does not hurt a key that is not encrypted',
  )
})

t.test('keys that stop the boot: the error names option, file and remedy', async (t) => {
  const pemOfPrivate = (key: KeyObject): string => privatePem(key)
  const cases: [title: string, config: JwtConfig, text: string[]][] = [
    ['nothing', { rsa: {} }, ['"jwt.rsa": names no key.', 'Set jwt.rsa.private to sign']],
    [
      'only a passphrase',
      { eddsa: { passphrase } },
      ['"jwt.eddsa": names no key.', 'Set jwt.eddsa.private to sign'],
    ],
    [
      'a public key as the private one',
      { rsa: { private: rsa.public } },
      ['"jwt.rsa.private": holds a public key{file}.', 'Give the private key of the pair.'],
    ],
    [
      'a PKCS#1 public key as the private one',
      { rsa: { private: pemOf('RSA PUBLIC KEY', pkcs1) } },
      ['"jwt.rsa.private": holds a public key{file}.', 'Give the private key of the pair.'],
    ],
    [
      'a certificate as the private key',
      { ecdsa: { private: pemOf('CERTIFICATE', certificate) } },
      ['"jwt.ecdsa.private": holds a public key{file}.', 'Give the private key of the pair.'],
    ],
    [
      'a private key as the public one',
      { rsa: { public: rsa.private } },
      ['"jwt.rsa.public": holds a private key{file}.', 'Give the public key of the pair.'],
    ],
    [
      'a PKCS#1 private key as the public one',
      { rsa: { public: keys.rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }) as string } },
      ['"jwt.rsa.public": holds a private key{file}.', 'Give the public key of the pair.'],
    ],
    [
      'an encrypted private key as the public one',
      { rsa: { public: encryptedPem(keys.rsa.privateKey), passphrase } },
      ['"jwt.rsa.public": holds a private key{file}.', 'Give the public key of the pair.'],
    ],
    [
      'halves of two pairs',
      { rsa: { private: rsa.private, public: publicPem(moreKeys.otherRsa.publicKey) } },
      ['"jwt.rsa.public": is not the public half of jwt.rsa.private.', 'Give the two halves'],
    ],
    [
      'halves of two families',
      { rsa: { private: rsa.private, public: ec.public } },
      ['"jwt.rsa.public": holds a key of type ec{file}, expected an RSA key.'],
    ],
    [
      'no passphrase',
      { rsa: { private: encryptedPem(keys.rsa.privateKey) } },
      [
        '"jwt.rsa.private": is encrypted{file}, and "jwt.rsa.passphrase" is missing.',
        'Set jwt.rsa.passphrase.',
      ],
    ],
    [
      'no passphrase, PKCS#1',
      { rsa: { private: encryptedPem(keys.rsa.privateKey, 'pkcs1') } },
      ['"jwt.rsa.private": is encrypted{file}, and "jwt.rsa.passphrase" is missing.'],
    ],
    [
      'a wrong passphrase',
      { ecdsa: { private: encryptedPem(keys.p256.privateKey), passphrase: 'a wrong one' } },
      [
        '"jwt.ecdsa.private": is encrypted{file}, and "jwt.ecdsa.passphrase" is wrong.',
        'Set jwt.ecdsa.passphrase.',
      ],
    ],
    [
      'RSA of 1024 bits, private',
      { rsa: { private: pemOfPrivate(moreKeys.rsa1024.privateKey) } },
      [
        '"jwt.rsa.private": is an RSA key of 1024 bits{file}, expected at least 2048.',
        'Make one with: openssl genpkey',
      ],
    ],
    [
      'RSA of 1024 bits, public',
      { rsa: { public: publicPem(moreKeys.rsa1024.publicKey) } },
      ['"jwt.rsa.public": is an RSA key of 1024 bits{file}, expected at least 2048.'],
    ],
    [
      'RSASSA-PSS, which no engine takes for RS256',
      { rsa: { private: pemOfPrivate(moreKeys.rsaPss.privateKey) } },
      ['"jwt.rsa.private": holds a key of type rsa-pss{file}, expected an RSA key.'],
    ],
    [
      'EC in the place of RSA',
      { rsa: { private: ec.private } },
      ['"jwt.rsa.private": holds a key of type ec{file}, expected an RSA key.'],
    ],
    [
      'RSA in the place of EC',
      { ecdsa: { public: rsa.public } },
      [
        '"jwt.ecdsa.public": holds a key of type rsa{file}, expected an elliptic curve key (P-256, P-384 or P-521).',
      ],
    ],
    [
      'EC in the place of Ed25519',
      { eddsa: { private: ec.private } },
      ['"jwt.eddsa.private": holds a key of type ec{file}, expected an Ed25519 or Ed448 key.'],
    ],
    [
      'X25519, which cannot sign',
      { eddsa: { private: pemOfPrivate(moreKeys.x25519.privateKey) } },
      ['"jwt.eddsa.private": holds a key of type x25519{file}, expected an Ed25519 or Ed448 key.'],
    ],
    [
      'a curve that no method has',
      { ecdsa: { private: pemOfPrivate(moreKeys.secp256k1.privateKey) } },
      [
        '"jwt.ecdsa.private": is on the curve secp256k1{file}, expected an elliptic curve key (P-256, P-384 or P-521).',
      ],
    ],
    [
      'PEM of nothing, private',
      { rsa: { private: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' } },
      ['"jwt.rsa.private": is no private key in PEM{file}.', 'Give PKCS#8 PEM.'],
    ],
    [
      'PEM that is cut',
      { rsa: { private: rsa.private.slice(0, 300) } },
      ['"jwt.rsa.private": is no private key in PEM{file}.', 'Give PKCS#8 PEM.'],
    ],
    [
      'PEM of nothing, public',
      { rsa: { public: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n' } },
      ['"jwt.rsa.public": is no public key in PEM{file}.', 'Give SPKI PEM.'],
    ],
  ]
  for (const [title, config, fragments] of cases) {
    await t.test(title, async (t) => {
      // Once with the text in the configuration, once with it in a file.
      const { config: withPaths, files } = intoFiles(config)
      for (const [given, contents] of [
        [config, noFiles],
        [withPaths, files],
      ] as const) {
        const { code, message, error } = thrownBy(() => parseKeys(given, contents))
        t.equal(code, 'ERR_AUTH_KEY')
        const half = /"jwt\.\w+\.(?:private|public)"/.exec(message)?.[0].slice(1, -1)
        const file = contents.size > 0 && half ? ` (file "${half}.pem")` : ''
        for (const fragment of fragments) {
          t.ok(message.includes(fragment.replace('{file}', file)), `${message} has ${fragment}`)
        }
        t.equal(message, message.trim(), 'no space is left where a remedy could stand')
        for (const secret of secretsOf(config)) t.notOk(reveals(error, secret), 'nothing is shown')
      }
    })
  }
})

/** The same configuration with its PEM texts moved to files that are called like their options. */
function intoFiles(config: JwtConfig): { config: JwtConfig; files: Map<string, string> } {
  const files = new Map<string, string>()
  const moved: Record<string, object> = {}
  for (const [family, pair] of Object.entries(config)) {
    const paths: Record<string, string> = {}
    for (const [half, text] of Object.entries(pair as Record<string, string>)) {
      const path = `jwt.${family}.${half}.pem`
      paths[half] = half === 'passphrase' ? text : path
      if (half !== 'passphrase') files.set(path, text)
    }
    moved[family] = paths
  }
  return { config: moved, files }
}

/** All texts of a configuration, but the names of options. */
function secretsOf(config: JwtConfig): string[] {
  return Object.values(config).flatMap((pair) => Object.values(pair as Record<string, string>))
}

t.test('files with bytes that are no text', async (t) => {
  const files = new Map([['key.der', derOf(keys.rsa.privateKey).toString()]])
  const { message } = thrownBy(() => parseKeys({ rsa: { private: 'key.der' } }, files))
  t.match(message, 'option "jwt.rsa.private": is no private key in PEM (file "key.der").')
  const empty = thrownBy(() => parseKeys({ rsa: { public: 'e' } }, new Map([['e', '']])))
  t.match(empty.message, 'option "jwt.rsa.public": is no public key in PEM (file "e").')
})

t.test('the public half is really public', async (t) => {
  const ring = parseKeys({ rsa, ecdsa: ec }, noFiles)
  for (const key of [ring.rsa, ring.ecdsa]) {
    t.notMatch(String(key?.verify), 'PRIVATE')
    t.equal(createPublicKey(String(key?.verify)).type, 'public')
  }
})
