import { strictEqual } from 'node:assert'
import { createHash, createHmac, sign as signBytes, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { jwtAuthenticator, type JwtConfig, type SigningMethod } from '../../lib/index.js'
import { signingMethods } from '../../lib/jwt/algorithms.js'
import { bearer, secret, secret512 } from '../helpers/app.js'
import {
  assertRepelled,
  bounded,
  credulousService,
  isQuiet,
  isRepelled,
  target,
  unusable,
  type Expected,
  type Target,
} from '../helpers/attacks.js'
import { certificateOf } from '../helpers/certificate.js'
import { isWelcome, texts, tokenChallenge } from '../helpers/flows.js'
import { methodCases, moreKeys } from '../helpers/keys.js'
import {
  claims,
  encode,
  hmacToken,
  keys,
  now,
  privatePem,
  publicPem,
  signedToken,
} from '../helpers/tokens.js'

const wrong = (error: string, description: string): Expected => ({
  kind: 'wrong',
  error,
  challenge: tokenChallenge(description),
})
const invalid = wrong(texts.jwtInvalid, 'The token is invalid')
const expired = wrong(texts.jwtExpired, 'The token expired')
const early = wrong(texts.jwtEarly, 'The token is not valid yet')

const jwt: JwtConfig = {
  secret: secret512,
  rsa: { private: privatePem(keys.rsa.privateKey) },
  ecdsa: { private: privatePem(keys.p256.privateKey) },
  eddsa: { private: privatePem(keys.ed25519.privateKey) },
}

/** An app with one authenticator a signing method. Its users have no password that could be guessed. */
function appOf(
  t: Test,
  methods: readonly SigningMethod[] = ['HS256', 'RS256', 'ES256'],
): Promise<Target> {
  const authenticators = methods.map(
    (method) => [method, jwtAuthenticator({ signingMethod: method })] as const,
  )
  return target(
    t,
    credulousService('*'),
    { jwt, login: false, authenticators: Object.fromEntries(authenticators) },
    Object.fromEntries(methods.map((method) => [method, method])),
  )
}

const bearerOf = (token: string): string => `Bearer ${token}`

/** Every token is refused by every authenticator, and no user is looked up. */
async function repelled(
  t: Test,
  subject: Target,
  uses: readonly string[],
  tokens: Iterable<readonly [title: string, token: string]>,
  expected = invalid,
): Promise<void> {
  const secrets: string[] = []
  for (const [title, token] of tokens) {
    for (const use of uses) await isRepelled(t, subject, use, bearerOf(token), expected, title)
    if (token.length > 20) secrets.push(token)
  }
  t.ok(secrets.length > 0, 'there were tokens')
  t.same(subject.service.asked, [], 'no user was looked up')
  isQuiet(t, subject, [...secrets, secret512, secret])
}

/** The token is good: what is refused beside it is refused for its own fault. */
async function welcome(t: Test, { app, take, service }: Target, use: string, token: string) {
  isWelcome(t, await app.inject({ url: `/${use}/required`, headers: bearer(token) }), 'alice', use)
  t.equal(take(), 1, 'the handler ran')
  t.same(service.asked.splice(0), ['alice'])
}

const json = (value: unknown): string => JSON.stringify(value)
const header = (alg: unknown, more: object = {}): object => ({ alg, typ: 'JWT', ...more })
const hs256 = header('HS256')
const good = (): string => hmacToken(hs256, claims(), secret512)
const rs256 = (payload: unknown = claims(), head: unknown = header('RS256')): string =>
  signedToken(head, payload, keys.rsa.privateKey)
const es256 = (payload: unknown = claims(), head: unknown = header('ES256')): string =>
  signedToken(head, payload, keys.p256.privateKey)

t.test('alg none, in every spelling, with and without a signature', async (t) => {
  const subject = await appOf(t)
  const spellings = new Set<unknown>()
  for (let bits = 0; bits < 16; bits += 1) {
    spellings.add(
      Array.from('none')
        .map((letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter))
        .join(''),
    )
  }
  const others = [' none', 'none ', 'none\u0000', '\tnone', 'n\u043ene', '\uff4eone', 'none,HS256']
  const nothing = ['', 'null', 'undefined', null, false, 0, [], ['none'], ['HS256'], {}, true]
  for (const other of [...others, ...nothing]) spellings.add(other)

  const tokens: [string, string][] = []
  for (const alg of spellings) {
    const stem = `${encode(header(alg))}.${encode(claims())}`
    const hmac = (key: string): string => createHmac('sha256', key).update(stem).digest('base64url')
    tokens.push(
      [`${json(alg)} without a signature`, `${stem}.`],
      [`${json(alg)} with the signature of an empty key`, `${stem}.${hmac('')}`],
      [`${json(alg)} with the signature of the secret`, `${stem}.${hmac(secret512)}`],
    )
  }
  const escaped = `${encode('{"alg":"n\\u006fne"}')}.${encode(claims())}`
  tokens.push(
    ['an escaped letter', `${escaped}.`],
    ['two segments', escaped],
    ['no alg at all', `${encode({ typ: 'JWT' })}.${encode(claims())}.`],
    ['alg twice, none last', `${encode('{"alg":"HS256","alg":"none"}')}.${encode(claims())}.`],
    ['alg twice, none first', `${encode('{"alg":"none","alg":"HS256"}')}.${encode(claims())}.`],
    ['HS256 without a signature', `${encode(hs256)}.${encode(claims())}.`],
    ['RS256 without a signature', `${encode(header('RS256'))}.${encode(claims())}.`],
    ['ES256 without a signature', `${encode(header('ES256'))}.${encode(claims())}.`],
  )
  t.equal(spellings.size, 16 + others.length + nothing.length)
  await repelled(t, subject, ['HS256', 'RS256', 'ES256'], tokens)
  await welcome(t, subject, 'HS256', good())
  await welcome(t, subject, 'RS256', rs256())
  await welcome(t, subject, 'ES256', es256())
})

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)

/** All that an attacker can make of a public key and hope that it is taken for an HMAC secret. */
function secretsOf(publicKey: KeyObject, privateKey: KeyObject): [string, string | Buffer][] {
  const pem = publicPem(publicKey)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const jwk = publicKey.export({ format: 'jwk' })
  const body = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-'))
  const coordinates = [jwk.n ?? jwk.x, jwk.y].filter((part) => part !== undefined)
  const bytes = coordinates.map((part) => Buffer.from(part, 'base64url'))
  const variants: [string, string | Buffer][] = [
    ['PEM', pem],
    ['PEM, trimmed', pem.trim()],
    ['PEM, CRLF', pem.replaceAll('\n', '\r\n')],
    ['PEM, CRLF, trimmed', pem.trim().replaceAll('\n', '\r\n')],
    ['PEM, CR', pem.replaceAll('\n', '\r')],
    ['PEM, one more line', `${pem}\n`],
    ['PEM, spelled \\n', pem.replaceAll('\n', '\\n')],
    ['PEM, without line breaks', pem.replaceAll('\n', '')],
    ['PEM, NUL at the end', `${pem}\0`],
    ['base64 body', body.join('')],
    ['base64 body, lines', body.join('\n')],
    ['base64url body', spki.toString('base64url')],
    ['DER', spki],
    ['DER, hex', spki.toString('hex')],
    ['DER, SHA-256', createHash('sha256').update(spki).digest()],
    ['JWK', json(jwk)],
    ['JWK, indented', JSON.stringify(jwk, null, 2)],
    ['JWK, sorted', json(Object.fromEntries(Object.entries(jwk).toSorted(byKey)))],
    ['JWK, with kid', json({ ...jwk, kid: '1', use: 'sig' })],
    ['JWK set', json({ keys: [jwk] })],
    ['first number, base64url', coordinates[0] ?? ''],
    ['numbers', Buffer.concat(bytes)],
    ['numbers with 04', Buffer.concat([Buffer.from([4]), ...bytes])],
    ['nothing', ''],
    ['NUL', '\0'],
    ['null', 'null'],
    ['undefined', 'undefined'],
    ['[object Object]', '[object Object]'],
  ]
  if (publicKey.asymmetricKeyType === 'rsa') {
    variants.push(
      ['PKCS#1 PEM', publicKey.export({ type: 'pkcs1', format: 'pem' })],
      ['PKCS#1 DER', publicKey.export({ type: 'pkcs1', format: 'der' })],
    )
  } else if (publicKey.asymmetricKeyType === 'ec') {
    variants.push(['certificate', certificateOf(privateKey, publicKey)])
  }
  return variants
}

t.test('key confusion: HMAC with all that can be made of the public key', async (t) => {
  const methods = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'] as const
  const subject = await appOf(t, methods)
  const families = [
    { pair: keys.rsa, named: ['RS256', 'PS256'] },
    { pair: keys.p256, named: ['ES256'] },
    { pair: keys.ed25519, named: ['EdDSA'] },
  ]
  for (const { pair, named } of families) {
    const tokens = secretsOf(pair.publicKey, pair.privateKey).flatMap(([title, key]) => [
      ...['256', '384', '512'].map((size): [string, string] => [
        `HS${size}, ${title}`,
        hmacToken(header(`HS${size}`), claims(), key, `sha${size}`),
      ]),
      ...named.map((alg): [string, string] => [
        `named ${alg}, ${title}`,
        hmacToken(header(alg), claims(), key),
      ]),
    ])
    await repelled(t, subject, [...named, 'HS256'], tokens)
  }
  for (const method of methods) {
    const token = subject.app.jwtService.generateTokenWithClaims({ sub: 'alice' }, method)
    await welcome(t, subject, method, token)
  }
})

t.test('the secret of the service does not pass under asymmetric names', async (t) => {
  const subject = await appOf(t)
  const tokens = signingMethods
    .filter((method) => method !== 'HS256')
    .map((method) => [method, hmacToken(header(method), claims(), secret512)] as const)
  await repelled(t, subject, ['HS256', 'RS256', 'ES256'], tokens)
})

t.test('wrong family, wrong size: of 13 methods only the one of the authenticator', async (t) => {
  const usable = signingMethods.filter((method) => method !== 'ES384' && method !== 'ES512')
  const subject = await appOf(t, usable)
  const service = subject.app.jwtService
  for (const method of usable) {
    const others = usable.filter((other) => other !== method)
    await t.test(method, async (t) => {
      const genuine = others.map((other): [string, string] => [
        `a genuine ${other} token`,
        service.generateTokenWithClaims({ sub: 'alice' }, other),
      ])
      // The right signature under another name, and the right name over another signature.
      const own = service.generateTokenWithClaims({ sub: 'alice' }, method).split('.')
      const renamed = signingMethods
        .filter((other) => other !== method)
        .map((other): [string, string] => [
          `renamed ${other}`,
          [encode(header(other)), own[1], own[2]].join('.'),
        ])
      const disguised = methodCases
        .filter((row) => row.method !== method)
        .map(({ title, pair, hash, pss }): [string, string] => [
          `named ${method}, signed ${title}`,
          pair === null
            ? hmacToken(header(method), claims(), secret512, String(hash))
            : signedToken(header(method), claims(), pair.privateKey, hash, pss),
        ])
        // ES256 of the same key and the like: the same signature, whatever it is called here.
        .filter(([title]) => !title.endsWith(`signed ${method}`))
      await repelled(t, subject, [method], [...genuine, ...renamed, ...disguised])
    })
    await welcome(t, subject, method, service.generateTokenWithClaims({ sub: 'alice' }, method))
  }
})

t.test('keys that the token brings along: jwk, jku, x5u, x5c, kid', async (t) => {
  const subject = await appOf(t)
  let fetched = 0
  const server = createServer((_, response) => {
    fetched += 1
    response.end(json({ keys: [moreKeys.otherRsa.publicKey.export({ format: 'jwk' })] }))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`

  const rsaJwk = moreKeys.otherRsa.publicKey.export({ format: 'jwk' })
  const ecJwk = moreKeys.otherP256.publicKey.export({ format: 'jwk' })
  const octJwk = { kty: 'oct', k: encode('attacker'), alg: 'HS256' }
  const certificate = certificateOf(moreKeys.otherP256.privateKey, moreKeys.otherP256.publicKey)
  const x5c = [certificate.toString('base64')]
  const fingerprint = createHash('sha256').update(certificate).digest('base64url')
  const kids: unknown[] = [
    '/dev/null',
    '../../../../../../../dev/null',
    '..\\..\\..\\windows\\win.ini',
    'file:///dev/null',
    '/proc/sys/kernel/randomize_va_space',
    "x' UNION SELECT 'attacker",
    "' OR 1=1 --",
    '| whoami',
    '$(id)',
    '${7*7}',
    'attacker\u0000.pem',
    '__proto__',
    'constructor',
    '',
    '1',
    1,
    -1,
    0,
    null,
    true,
    [],
    ['1'],
    {},
    { toString: 'attacker' },
    'k'.repeat(4000),
  ]
  const brought: [string, object][] = [
    ['jwk RSA', { jwk: rsaJwk }],
    ['jwk EC', { jwk: ecJwk }],
    ['jwk oct', { jwk: octJwk }],
    ['jwk null', { jwk: null }],
    ['jku', { jku: url }],
    ['jku, file', { jku: 'file:///dev/null' }],
    ['jku, many', { jku: [url] }],
    ['x5u', { x5u: url }],
    ['x5c', { x5c }],
    ['x5c and x5t', { x5c, 'x5t#S256': fingerprint }],
    ['jwk and kid', { jwk: { ...ecJwk, kid: '1' }, kid: '1' }],
    ['all of it', { jwk: rsaJwk, jku: url, x5u: url, x5c, kid: '1' }],
    ...kids.map((kid): [string, object] => [`kid ${json(kid).slice(0, 40)}`, { kid }]),
  ]
  const tokens: [string, string][] = []
  for (const [title, more] of brought) {
    tokens.push(
      [
        `RS256, ${title}`,
        signedToken(header('RS256', more), claims(), moreKeys.otherRsa.privateKey),
      ],
      [
        `ES256, ${title}`,
        signedToken(header('ES256', more), claims(), moreKeys.otherP256.privateKey),
      ],
      [`HS256, ${title}`, hmacToken(header('HS256', more), claims(), 'attacker')],
      [`HS256 with an empty key, ${title}`, hmacToken(header('HS256', more), claims(), '')],
    )
  }
  await repelled(t, subject, ['HS256', 'RS256', 'ES256'], tokens)
  t.equal(fetched, 0, 'nothing was fetched')
  // The key is ours, so what the header says of another one changes nothing.
  for (const [, more] of brought) {
    await welcome(t, subject, 'RS256', rs256(claims(), header('RS256', more)))
  }
  t.equal(fetched, 0, 'still nothing was fetched')
})

t.test('crit: no extension is known here (RFC 7515 §4.1.11)', async (t) => {
  const subject = await appOf(t)
  const crits: [unknown, object][] = [
    [['exp'], { exp: 1 }],
    [['unknown'], { unknown: 1 }],
    [['unknown'], {}],
    [['b64'], { b64: true }],
    [['b64'], { b64: false }],
    [['alg'], {}],
    [['typ', 'alg'], {}],
    [['http://example.org/x'], { 'http://example.org/x': true }],
    [['__proto__'], {}],
    [['constructor'], {}],
    [[''], {}],
    [[], {}],
    [[null], {}],
    [[['b64']], {}],
    ['b64', { b64: false }],
    [{ b64: true }, { b64: true }],
    [1, {}],
    [true, {}],
  ]
  const tokens: [string, string][] = crits.map(([crit, more]) => [
    json(crit),
    hmacToken(header('HS256', { ...more, crit }), claims(), secret512),
  ])
  await repelled(t, subject, ['HS256'], tokens)
  const asymmetric = header('RS256', { crit: ['b64'], b64: false })
  await repelled(t, subject, ['RS256'], [['RS256', rs256(claims(), asymmetric)]])
  // RFC 7797: the payload itself is what is signed, not its base64url.
  const open = `${encode(header('HS256', { b64: false, crit: ['b64'] }))}.${json(claims())}`
  const unencoded = createHmac('sha256', secret512).update(open).digest('base64url')
  await repelled(t, subject, ['HS256'], [['not encoded', `${open}.${unencoded}`]])
})

t.test('crit that is no array at all is refused as well', async (t) => {
  const subject = await appOf(t)
  const tokens = [null, '', 0, false].map((crit): [string, string] => [
    json(crit),
    hmacToken(header('HS256', { crit }), claims(), secret512),
  ])
  await repelled(t, subject, ['HS256'], tokens)
})

/** A token of each shape of signature. */
const shapes: Record<string, () => string> = {
  HS256: good,
  RS256: () => rs256(),
  PS256: () => signedToken(header('PS256'), claims(), keys.rsa.privateKey, 'sha256', true),
  ES256: () => es256(),
  EdDSA: () => signedToken(header('EdDSA'), claims(), keys.ed25519.privateKey, null),
}

function withSignature(token: string, signature: Buffer | string): string {
  const stem = token.slice(0, token.lastIndexOf('.'))
  return `${stem}.${typeof signature === 'string' ? signature : signature.toString('base64url')}`
}

const signatureOf = (token: string): string => token.slice(token.lastIndexOf('.') + 1)
const alphabet = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ (1 << bit), at)
  return copy
}

t.test('signatures: flipped, cut, padded, not canonical', async (t) => {
  const methods = Object.keys(shapes) as SigningMethod[]
  const subject = await appOf(t, methods)
  for (const method of methods) {
    const token = shapes[method]?.() ?? ''
    const text = signatureOf(token)
    const bytes = Buffer.from(text, 'base64url')
    const middle = bytes.length >> 1
    const signatures: [string, string | Buffer][] = [
      ['first bit', flipped(bytes, 0, 7)],
      ['bit in the middle', flipped(bytes, middle, 3)],
      ['last bit', flipped(bytes, bytes.length - 1, 0)],
      ['all bits', Buffer.from(bytes.map((byte) => byte ^ 0xff))],
      ['reversed', Buffer.from(bytes.toReversed())],
      ['a character less', text.slice(0, -1)],
      ['two characters less', text.slice(0, -2)],
      ['first character missing', text.slice(1)],
      ['half', text.slice(0, text.length >> 1)],
      ['one character', text.slice(0, 1)],
      ['none', ''],
      ['a byte less', bytes.subarray(0, -1)],
      ['a byte more', Buffer.concat([bytes, Buffer.from([0])])],
      ['a byte before', Buffer.concat([Buffer.from([0]), bytes])],
      ['twice', Buffer.concat([bytes, bytes])],
      ['only zeros', Buffer.alloc(bytes.length)],
      ['only ones', Buffer.alloc(bytes.length, 0xff)],
      ['long', Buffer.alloc(5000, 1)],
      ['padding =', `${text}=`],
      ['padding ==', `${text}==`],
      ['padding ===', `${text}===`],
      ['a dot at the end', `${text}.`],
      ['a segment more', `${text}.${text}`],
      ['a segment more, empty before', `.${text}`],
      ['a tilde', `${text}~`],
      ['a tilde inside', `${text.slice(0, 9)}~${text.slice(9)}`],
      ['four tildes', `${text}~~~~`],
      ['a space at the end', `${text} `],
      ['a space inside', `${text.slice(0, 9)} ${text.slice(9)}`],
      ['a tab at the end', `${text}\t`],
      ['a line break', `${text}\n`],
      ['a comma', `${text},`],
      ['quoted', `"${text}"`],
      ['percent-encoded', `${text}%3D`],
      ['hex', bytes.toString('hex')],
      ['an unlike letter', `${text.slice(0, -1)}\u00e9`],
    ]
    if (text.length % 4 !== 0) {
      const last = alphabet.indexOf(text.at(-1) ?? '')
      const spare = text.length % 4 === 2 ? 16 : 4
      for (let rest = 1; rest < spare; rest += 1) {
        signatures.push([`unused bits ${rest}`, `${text.slice(0, -1)}${alphabet[last | rest]}`])
      }
    }
    const tokens = signatures.map(([title, signature]): [string, string] => [
      `${method}, ${title}`,
      withSignature(token, signature),
    ])
    await repelled(t, subject, [method], tokens)
    await welcome(t, subject, method, token)
  }
})

t.test('base64 in place of base64url is another text of the same token, and refused', async (t) => {
  const subject = await appOf(t)
  let token = good()
  for (let at = 0; !/[-_]/.test(signatureOf(token)); at += 1) {
    token = hmacToken(hs256, claims({ at }), secret512)
  }
  const text = signatureOf(token).replaceAll('-', '+').replaceAll('_', '/')
  await repelled(t, subject, ['HS256'], [['+ and /', withSignature(token, text)]])
  await welcome(t, subject, 'HS256', token)
})

t.test('ES256: zeros, edges of the group, DER', async (t) => {
  const subject = await appOf(t)
  const order = Buffer.from(
    'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
    'hex',
  )
  const zero = Buffer.alloc(32)
  const one = Buffer.concat([Buffer.alloc(31), Buffer.from([1])])
  const max = Buffer.alloc(32, 0xff)
  const token = es256()
  const bytes = Buffer.from(signatureOf(token), 'base64url')
  const [r, s] = [bytes.subarray(0, 32), bytes.subarray(32)]
  const der = signBytes('sha256', Buffer.from(token.slice(0, token.lastIndexOf('.'))), {
    key: keys.p256.privateKey,
    dsaEncoding: 'der',
  })
  const edges = { zero, one, order, max }
  const signatures: [string, Buffer][] = [
    ['DER', der],
    ['DER, to 64 bytes', Buffer.concat([der]).subarray(0, 64)],
    ['r and s swapped', Buffer.concat([s, r])],
    ['r and s of 33 bytes', Buffer.concat([Buffer.from([0]), r, Buffer.from([0]), s])],
    ['r only', r],
    ['s only', s],
  ]
  for (const [first, left] of Object.entries({ ...edges, r })) {
    for (const [second, right] of Object.entries({ ...edges, s })) {
      if (first === 'r' && second === 's') continue
      signatures.push([`r ${first}, s ${second}`, Buffer.concat([left, right])])
    }
  }
  const tokens = signatures.map(([title, signature]): [string, string] => [
    title,
    withSignature(token, signature),
  ])
  await repelled(t, subject, ['ES256'], tokens)
  await welcome(t, subject, 'ES256', token)
})

t.test('dots, segments, spaces', async (t) => {
  const subject = await appOf(t)
  const token = good()
  const [head = '', payload = '', signature = ''] = token.split('.')
  const flattened = { protected: head, payload, signature }
  const tokens: [string, string][] = [
    ['dots only', '..'],
    ['one dot', '.'],
    ['many dots', '.'.repeat(100)],
    ['a word', 'token'],
    ['one segment', head],
    ['two segments', `${head}.${payload}`],
    ['no header', `.${payload}.${signature}`],
    ['no payload', `${head}..${signature}`],
    ['only a signature', `..${signature}`],
    ['only a header', `${head}..`],
    ['five segments (JWE)', `${head}.${payload}.${signature}.${payload}.${signature}`],
    ['a dot before', `.${token}`],
    ['a dot in the payload', `${head}.${payload.slice(0, 5)}.${payload.slice(5)}.${signature}`],
    ['rotated', `${payload}.${signature}.${head}`],
    ['header and payload swapped', `${payload}.${head}.${signature}`],
    ['twice', `${token}.${token}`],
    ['twice, with a comma', `${token},${token}`],
    ['twice, with a space', `${token} ${token}`],
    ['Bearer twice', `Bearer ${token}`],
    ['header padded', `${head}=.${payload}.${signature}`],
    ['payload padded', `${head}.${payload}=.${signature}`],
    ['payload in base64', `${head}.${payload}+/.${signature}`],
    ['a space at the end', `${token} `],
    ['a tab before', `\t${token}`],
    ['a line break in the header', `${head}\n.${payload}.${signature}`],
    ['NUL at the end', `${token}\0`],
    ['JSON serialization', encode(flattened)],
    ['JSON serialization, not encoded', json(flattened)],
    ['general JSON serialization', encode({ payload, signatures: [flattened] })],
    ['quoted', `"${token}"`],
    ['a parameter', `token="${token}"`],
    ['percent-encoded', encodeURIComponent(`${token} `)],
  ]
  await repelled(t, subject, ['HS256'], tokens)
  await welcome(t, subject, 'HS256', token)
})

t.test('headers and payloads that are no objects, signed with the right key', async (t) => {
  const subject = await appOf(t)
  const texts = [
    '[]',
    `[${json(claims())}]`,
    '"alice"',
    '""',
    'null',
    'true',
    'false',
    '1',
    '1e400',
    '',
    ' ',
    'alice',
    'undefined',
    'NaN',
    "{'sub':'alice'}",
    '{"sub":"alice"',
    `${json(claims())}x`,
    `${json(claims())}${json(claims())}`,
    `\ufeff${json(claims())}`,
    `${json(claims())}\0`,
    `{"sub":"alice","exp":${now() + 60},}`,
    `{"sub":"alice","exp":0x7fffffff}`,
    `{"sub":"alice","exp":+${now() + 60}}`,
    `{"sub":"al\nice","exp":${now() + 60}}`,
    `/**/${json(claims())}`,
  ]
  const tokens: [string, string][] = []
  for (const text of texts) {
    tokens.push([`payload ${json(text)}`, hmacToken(hs256, text, secret512)])
    tokens.push([`payload ${json(text)}, unsigned`, `${encode(hs256)}.${encode(text)}.`])
  }
  const heads = ['[]', '["HS256"]', '[{"alg":"HS256"}]', '"HS256"', 'null', 'true', '256', '', '{}']
  for (const text of [...heads, '{"__proto__":{"alg":"HS256"}}', '{"constructor":"HS256"}']) {
    tokens.push([`header ${json(text)}`, hmacToken(text, claims(), secret512)])
  }
  const cut = Buffer.from(json(hs256)).subarray(0, -1)
  tokens.push(['header cut', hmacToken(cut, claims(), secret512)])
  await repelled(t, subject, ['HS256'], tokens)
})

t.test('invalid UTF-8 makes no claims set (RFC 7519 §7.2)', async (t) => {
  const subject = await appOf(t)
  const bytes = [[0xff], [0xc0, 0xaf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0x80], [0xf5, 0x80]]
  const tokens = bytes.map((strange): [string, string] => [
    Buffer.from(strange).toString('hex'),
    hmacToken(
      hs256,
      Buffer.concat([
        Buffer.from('{"sub":"alice'),
        Buffer.from(strange),
        Buffer.from(`","exp":${now() + 60}}`),
      ]),
      secret512,
    ),
  ])
  await repelled(t, subject, ['HS256'], tokens)
})

t.test('deep nesting and __proto__: no fault, and nothing is polluted', async (t) => {
  const subject = await appOf(t)
  const deep = (open: string, close: string, depth: number): string =>
    `{"deep":${open.repeat(depth)}1${close.repeat(depth)},"sub":"alice","exp":${now() + 60}}`
  const nested = [deep('[', ']', 5000), deep('{"a":', '}', 1500)]
  for (const payload of nested) {
    await welcome(t, subject, 'HS256', hmacToken(hs256, payload, secret512))
  }
  const forged = nested.map((payload, at): [string, string] => [
    `deep payload ${at}`,
    hmacToken(hs256, payload, 'attacker'),
  ])
  const head = `{"x":${'['.repeat(5000)}${']'.repeat(5000)},"alg":"none"}`
  await repelled(t, subject, ['HS256'], [...forged, ['deep header', hmacToken(head, '{}', '')]])

  const body = json(claims()).slice(1)
  const polluting = [
    `{"__proto__":{"admin":true,"polluted":1},${body}`,
    `{"constructor":{"prototype":{"polluted":1}},${body}`,
  ]
  for (const payload of polluting) {
    await welcome(t, subject, 'HS256', hmacToken(hs256, payload, secret512))
  }
  await welcome(
    t,
    subject,
    'HS256',
    hmacToken('{"__proto__":{"alg":"none","polluted":1},"alg":"HS256"}', claims(), secret512),
  )
  t.notOk('polluted' in {}, 'Object.prototype is as it was')
  // Claims that are only inherited from what the payload calls __proto__ do not count.
  const inherited = `{"__proto__":${json(claims())}}`
  const partly = `{"__proto__":{"sub":"alice"},"exp":${now() + 60}}`
  await repelled(
    t,
    subject,
    ['HS256'],
    [
      ['inherited claims', hmacToken(hs256, inherited, secret512)],
      ['inherited sub', hmacToken(hs256, partly, secret512)],
    ],
  )
})

t.test('duplicate keys: the last one counts, for the check as for the look-up', async (t) => {
  const subject = await appOf(t)
  const past = now() - 60
  const future = now() + 60
  const signed = (payload: string): string => hmacToken(hs256, payload, secret512)
  await welcome(t, subject, 'HS256', signed(`{"sub":"bob","sub":"alice","exp":${future}}`))
  await welcome(t, subject, 'HS256', signed(`{"sub":"alice","exp":${past},"exp":${future}}`))
  await repelled(
    t,
    subject,
    ['HS256'],
    [
      ['sub null last', signed(`{"sub":"alice","sub":null,"exp":${future}}`)],
      ['exp a string last', signed(`{"sub":"alice","exp":${future},"exp":"${future}"}`)],
    ],
  )
  const late = signed(`{"sub":"alice","exp":${future},"exp":${past}}`)
  await repelled(t, subject, ['HS256'], [['exp in the past last', late]], expired)
})

t.test('exp and nbf of every wrong type, signed with the right key', async (t) => {
  const subject = await appOf(t)
  const future = now() + 60
  const wrongTypes = [
    `"${future}"`,
    '""',
    '"Infinity"',
    '"2999-01-01T00:00:00Z"',
    'null',
    'true',
    'false',
    '[]',
    `[${future}]`,
    '{}',
    `{"valueOf":${future}}`,
    '1e400',
    '-1e400',
  ]
  const signed = (payload: string): string => hmacToken(hs256, payload, secret512)
  const tokens = wrongTypes.flatMap((value): [string, string][] => [
    [`exp ${value}`, signed(`{"sub":"alice","exp":${value}}`)],
    [`nbf ${value}`, signed(`{"sub":"alice","exp":${future},"nbf":${value}}`)],
  ])
  await repelled(t, subject, ['HS256'], [...tokens, ['no exp', signed('{"sub":"alice"}')]])

  const past = ['0', '-0', '-1', '1', '1e-7', '-1e308', `${now() - 1}`, `${now() - 1}.5`]
  await repelled(
    t,
    subject,
    ['HS256'],
    past.map((value) => [`exp ${value}`, signed(`{"sub":"alice","exp":${value}}`)]),
    expired,
  )
  const ahead = ['1e308', '9007199254740993', '8640000000001', `${now() + 3600}`, '1e21']
  await repelled(
    t,
    subject,
    ['HS256'],
    ahead.map((value) => [`nbf ${value}`, signed(`{"sub":"alice","exp":1e308,"nbf":${value}}`)]),
    early,
  )
  for (const nbf of ['0', '-1', '-1e308', `${now() - 1}.5`]) {
    await welcome(t, subject, 'HS256', signed(`{"sub":"alice","exp":1e308,"nbf":${nbf}}`))
  }
})

/** JSON of what is no name. */
const noNames = [
  'null',
  '""',
  '{}',
  '{"$ne":1}',
  '{"toString":"alice"}',
  '[]',
  '["alice"]',
  '[["alice"]]',
  'true',
  'false',
  '1e400',
  '-1e400',
  '"\\u0000"',
  '"alice\\u0000"',
  '"alice\\n"',
  '"\\talice"',
  '"alice\\u007f"',
  '"\\ud800"',
  '"alice\\udc00"',
  `"${'a'.repeat(1025)}"`,
  `"${'a'.repeat(8000)}"`,
]

t.test('a claim that is no usable name: no user is looked up', async (t) => {
  const subject = await appOf(t)
  const exp = now() + 60
  const tokens = noNames.map((sub): [string, string] => [
    sub.slice(0, 40),
    hmacToken(hs256, `{"exp":${exp},"sub":${sub}}`, secret512),
  ])
  tokens.push(['no sub', hmacToken(hs256, { exp }, secret512)])
  tokens.push([
    'SUB',
    hmacToken(hs256, { exp, SUB: 'alice', Sub: 'alice', 'sub ': 'alice' }, secret512),
  ])
  await repelled(t, subject, ['HS256'], tokens)
})

t.test('claims named like what every object inherits', async (t) => {
  const names = [
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__defineGetter__',
  ]
  const uses = names.map((name) => name.replaceAll('_', ''))
  const subject = await target(
    t,
    credulousService('*'),
    {
      jwt,
      login: false,
      authenticators: Object.fromEntries(
        names.map((claimName, at) => [uses[at], jwtAuthenticator({ claimName })]),
      ),
    },
    Object.fromEntries(uses.map((use) => [use, use])),
  )
  const exp = now() + 60
  const tokens: [string, string][] = [
    ['without the claim', good()],
    ['empty', hmacToken(hs256, { exp }, secret512)],
    ['__proto__ an object', hmacToken(hs256, `{"exp":${exp},"__proto__":{"sub":"x"}}`, secret512)],
    ['constructor an object', hmacToken(hs256, `{"exp":${exp},"constructor":{}}`, secret512)],
  ]
  await repelled(t, subject, uses, tokens)
  await welcome(
    t,
    subject,
    'constructor',
    hmacToken(hs256, { exp, constructor: 'alice' }, secret512),
  )
})

t.test('generated: a good token with a change in it', async (t) => {
  const subject = await appOf(t)
  const edit = fc.oneof(
    fc.record({
      at: fc.nat(2000),
      text: fc.constantFrom(...alphabet, '.', '=', '~', '+', '/', ''),
    }),
    fc.record({ at: fc.nat(2000), text: fc.string({ maxLength: 3 }), cut: fc.nat(4) }),
  )
  const samples = { HS256: good(), RS256: rs256(), ES256: es256() }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('HS256' as const, 'RS256' as const, 'ES256' as const),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      async (use, edits) => {
        const token = edits.reduce<string>((text, { at, text: by, ...more }) => {
          const place = at % (text.length + 1)
          const cut = 'cut' in more ? more.cut : 1
          return text.slice(0, place) + by + text.slice(place + cut)
        }, samples[use])
        // A space before the token belongs to the header, not to the token.
        fc.pre(token.trimStart() !== samples[use] && token.trim() !== '')
        await assertRepelled(subject, use, bearerOf(token))
        strictEqual(subject.service.asked.length, 0)
      },
    ),
    bounded(400),
  )
  isQuiet(t, subject, [secret512])
})

t.test('generated: any header, any claims, a key of the attacker', async (t) => {
  const subject = await appOf(t)
  const alg = fc.oneof(fc.constantFrom(...signingMethods, 'none', 'None'), fc.jsonValue())
  const more = fc.dictionary(
    fc.constantFrom('kid', 'jwk', 'jku', 'x5c', 'crit', 'typ', 'b64', 'zip'),
    fc.jsonValue(),
  )
  const signers = {
    empty: (head: object, body: unknown) => hmacToken(head, body, ''),
    hmac: (head: object, body: unknown) => hmacToken(head, body, 'attacker'),
    pem: (head: object, body: unknown) => hmacToken(head, body, publicPem(keys.rsa.publicKey)),
    rsa: (head: object, body: unknown) => signedToken(head, body, moreKeys.otherRsa.privateKey),
    ec: (head: object, body: unknown) => signedToken(head, body, moreKeys.otherP256.privateKey),
    none: (head: object, body: unknown) => `${encode(head)}.${encode(json(body))}.`,
  }
  const signer = fc.constantFrom(...(Object.keys(signers) as (keyof typeof signers)[]))
  const payload = fc.oneof(fc.constant(claims()), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(signer, alg, more, payload, async (by, alg, more, payload) => {
      const body = typeof payload === 'string' ? json(payload) : payload
      const token = signers[by]({ ...more, alg }, body)
      for (const use of ['HS256', 'RS256', 'ES256']) {
        await assertRepelled(subject, use, bearerOf(token))
      }
      strictEqual(subject.service.asked.length, 0)
    }),
    bounded(250),
  )
  isQuiet(t, subject, [secret512])
})

t.test(
  'generated: strange claims under the right key pass exactly when they are good',
  async (t) => {
    const subject = await appOf(t)
    const { app, service, take } = subject
    const time = fc.oneof(
      fc.constantFrom('1e400', '-1e400', '""', 'null', '[]', '{}', 'true', '1e308', '-1', '0'),
      fc.integer({ min: -2, max: 2 }).map((hours) => String(now() + hours * 3600 + 1800)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.jsonValue().map(json),
    )
    const name = fc.oneof(
      fc.constant('"alice"'),
      fc.constantFrom(...noNames),
      fc.string({ unit: 'binary' }).map(json),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.jsonValue().map(json),
    )
    const absent = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
    let passed = 0
    await fc.assert(
      fc.asyncProperty(absent(time), absent(time), absent(name), async (exp, nbf, sub) => {
        const members = Object.entries({ exp, nbf, sub }).filter(([, value]) => value !== undefined)
        const payload = `{${members.map(([key, value]) => `"${key}":${value}`).join(',')}}`
        const claims = JSON.parse(payload) as { exp?: unknown; nbf?: unknown; sub?: unknown }
        const seconds = Date.now() / 1000
        const inTime =
          Number.isFinite(claims.exp) &&
          Number(claims.exp) > seconds &&
          (claims.nbf === undefined ||
            (Number.isFinite(claims.nbf) && Number(claims.nbf) <= seconds))
        const usable = 'sub' in claims && unusable([claims.sub]).length === 0
        const token = hmacToken(hs256, payload, secret512)
        const response = await app.inject({ url: '/HS256/required', headers: bearer(token) })
        const welcome = inTime && usable
        strictEqual(response.statusCode, welcome ? 200 : 401)
        strictEqual(take(), welcome ? 1 : 0)
        strictEqual(service.asked.length, welcome ? 1 : 0)
        if (welcome) strictEqual(service.asked.pop(), claims.sub)
        passed += welcome ? 1 : 0
      }),
      bounded(600),
    )
    t.ok(passed > 0, `${passed} were good`)
    isQuiet(t, subject, [secret512])
  },
)
