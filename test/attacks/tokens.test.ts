import { createHash, createHmac, sign as signBytes, type KeyObject } from 'node:crypto'
import t, { type Test } from 'tap'
import type { JwtConfig, SigningMethod } from '../../lib/index.js'
import { signingMethods } from '../../lib/common/algorithms.js'
import { bearer, secret, secret512 } from '../helpers/app.js'
import {
  credulousService,
  isQuiet,
  isRejected,
  target,
  type Expected,
  type Target,
} from '../helpers/attacks.js'
import { certificateOf } from '../helpers/certificate.js'
import { isWelcome, messages, tokenChallenge } from '../helpers/flows.js'
import { methodCases, moreKeys } from '../helpers/keys.js'
import { startServer } from '../helpers/server.js'
import {
  claims,
  encode,
  hmacToken,
  keys,
  epochSeconds,
  privatePem,
  publicPem,
  signedToken,
} from '../helpers/tokens.js'

/** What a token is called, and the token. */
type Named = readonly [name: string, token: string]

const wrong = (error: string, description: string): Expected => ({
  kind: 'wrong',
  error,
  challenge: tokenChallenge(description),
})
const invalid = wrong(messages.jwtInvalid, 'The token is invalid')
const expired = wrong(messages.jwtExpired, 'The token expired')

const jwt: JwtConfig = {
  secret: secret512,
  rsa: { private: privatePem(keys.rsa.privateKey) },
  ecdsa: { private: privatePem(keys.p256.privateKey) },
  eddsa: { private: privatePem(keys.ed25519.privateKey) },
}

/** An app for each signing method. Their users have no password that could be guessed. */
type Apps = ReadonlyMap<string, Target>

async function appsOf(t: Test, methods: readonly SigningMethod[] = ['HS256', 'RS256', 'ES256']) {
  const apps = methods.map(async (signingMethod) => {
    const options = { jwt: { ...jwt, signingMethod }, login: false } as const
    const app = await target(t, credulousService('*'), options, { [signingMethod]: 'jwt' })
    return [signingMethod, app] as const
  })
  return new Map(await Promise.all(apps))
}

function appOf(apps: Apps, method: string): Target {
  const app = apps.get(method)
  if (app === undefined) throw new Error(`no app for ${method}`)
  return app
}

const bearerOf = (token: string): string => `Bearer ${token}`

/** Asserts that every token is rejected by the app of each method, and that no user is looked up. */
async function areRejected(
  t: Test,
  apps: Apps,
  tokens: readonly Named[],
  methods: readonly string[] = ['HS256'],
  expected = invalid,
): Promise<void> {
  t.ok(tokens.length > 0, 'there were tokens')
  const secrets = tokens.map(([, token]) => token).filter((token) => token.length > 20)
  for (const method of methods) {
    const app = appOf(apps, method)
    for (const [title, token] of tokens) {
      await isRejected(t, app, method, bearerOf(token), expected, title)
    }
    t.same(app.service.asked, [], 'no user was looked up')
    isQuiet(t, app, [...secrets, secret512, secret])
  }
}

/** Asserts that a token is accepted, so what is rejected beside it is rejected for its own flaw. */
async function isAccepted(t: Test, apps: Apps, token: string, method = 'HS256'): Promise<void> {
  const { app, take, service } = appOf(apps, method)
  const response = await app.inject({ url: `/${method}/required`, headers: bearer(token) })
  isWelcome(t, response, 'alice', method)
  t.equal(take(), 1, 'the handler ran')
  t.same(service.asked.splice(0), ['alice'])
}

const json = (value: unknown): string => JSON.stringify(value)
const header = (alg: unknown, more: object = {}): object => ({ alg, typ: 'JWT', ...more })
/** A token for HS256, signed with the right key. */
const signed = (payload: unknown, head: unknown = header('HS256')): string =>
  hmacToken(head, payload, secret512)
const good = (): string => signed(claims())
const rs256 = (head: object = {}): string =>
  signedToken(header('RS256', head), claims(), keys.rsa.privateKey)
const es256 = (): string => signedToken(header('ES256'), claims(), keys.p256.privateKey)

/** `none` in every spelling, values that look like it, and values that are not algorithms. */
function algNone(): unknown[] {
  const spellings = Array.from({ length: 16 }, (_, bits) =>
    Array.from('none', (letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter)).join(''),
  )
  const others = [' none', 'none\u0000', 'n\u043ene', 'none,HS256', '', 'null', null, false, 0]
  return [...spellings, ...others, [], ['none'], ['HS256'], {}, true]
}

t.test('a token with alg none is rejected in every spelling, signed or not', async (t) => {
  const apps = await appsOf(t)
  const payload = encode(claims())
  const bare = (head: unknown): string => `${encode(head)}.${payload}.`
  const tokens = algNone().flatMap((alg): Named[] => [
    [`alg ${json(alg)} without a signature`, bare(header(alg))],
    [`alg ${json(alg)} signed with an empty key`, hmacToken(header(alg), claims(), '')],
    [`alg ${json(alg)} signed with the secret`, signed(claims(), header(alg))],
  ])
  tokens.push(
    ['alg none, an escaped letter', bare('{"alg":"n\\u006fne"}')],
    ['alg none, two segments', bare(header('none')).slice(0, -1)],
    ['no alg', bare({ typ: 'JWT' })],
    ['alg twice, none last', bare('{"alg":"HS256","alg":"none"}')],
    ['alg twice, none first', bare('{"alg":"none","alg":"HS256"}')],
    ...signingMethods.map((alg): Named => [`${alg} without a signature`, bare(header(alg))]),
  )
  await areRejected(t, apps, tokens, ['HS256', 'RS256', 'ES256'])
  await isAccepted(t, apps, good())
  await isAccepted(t, apps, rs256(), 'RS256')
  await isAccepted(t, apps, es256(), 'ES256')
})

/** What an attacker can make of a public key, to have it used as an HMAC secret. */
function secretsOf(publicKey: KeyObject): [string, string | Buffer][] {
  const pem = publicPem(publicKey)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const jwk = publicKey.export({ format: 'jwk' })
  const body = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-'))
  const isRsa = publicKey.asymmetricKeyType === 'rsa'
  return [
    ['PEM', pem],
    ['PEM, trimmed', pem.trim()],
    ['PEM, CRLF', pem.replaceAll('\n', '\r\n')],
    ['PEM, without line breaks', pem.replaceAll('\n', '')],
    ['base64 body', body.join('')],
    ['DER', spki],
    ['JWK', json(jwk)],
    ['JWK set', json({ keys: [jwk] })],
    ['first number', String(jwk.n ?? jwk.x)],
    ['nothing', ''],
    ...(isRsa
      ? [['PKCS#1 PEM', publicKey.export({ type: 'pkcs1', format: 'pem' })] as [string, string]]
      : []),
  ]
}

t.test('an HMAC token keyed with a public key is rejected (RFC 8725 §2.1)', async (t) => {
  const methods = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'] as const
  const apps = await appsOf(t, methods)
  const families = [
    { pair: keys.rsa, named: ['RS256', 'PS256'] },
    { pair: keys.p256, named: ['ES256'] },
    { pair: keys.ed25519, named: ['EdDSA'] },
  ]
  for (const { pair, named } of families) {
    const secrets = secretsOf(pair.publicKey)
    if (pair === keys.p256) {
      secrets.push(['certificate', certificateOf(pair.privateKey, pair.publicKey)])
    }
    const tokens = secrets.flatMap(([title, key]) =>
      ['HS256', 'HS384', 'HS512', ...named].map((alg): Named => [
        `${alg} keyed with the public key: ${title}`,
        hmacToken(
          header(alg),
          claims(),
          key,
          alg.startsWith('HS') ? `sha${alg.slice(2)}` : 'sha256',
        ),
      ]),
    )
    await areRejected(t, apps, tokens, [...named, 'HS256'])
  }
  for (const method of methods) {
    const token = appOf(apps, method).app.jwtService.generateToken('alice')
    await isAccepted(t, apps, token, method)
  }
})

t.test('an authenticator rejects tokens of every method but its own', async (t) => {
  const usable = signingMethods.filter((method) => method !== 'ES384' && method !== 'ES512')
  const apps = await appsOf(t, usable)
  const { jwtService: service } = appOf(apps, 'HS256').app
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
      await areRejected(t, apps, [...genuine, ...renamed, ...disguised], [method])
    })
    await isAccepted(t, apps, service.generateTokenWithClaims({ sub: 'alice' }, method), method)
  }
})

/** JOSE headers that contain a key, or say where to get it (RFC 7515 §4.1.2 to §4.1.8). */
function broughtKeys(url: string): [string, object][] {
  const { publicKey, privateKey } = moreKeys.otherP256
  const rsa = moreKeys.otherRsa.publicKey.export({ format: 'jwk' })
  const ec = publicKey.export({ format: 'jwk' })
  const certificate = certificateOf(privateKey, publicKey)
  const x5c = [certificate.toString('base64')]
  const fingerprint = createHash('sha256').update(certificate).digest('base64url')
  const kids = ['/dev/null', "x' UNION SELECT 'attacker", '__proto__', '', 1, null, ['1'], {}]
  return [
    ['jwk RSA', { jwk: rsa }],
    ['jwk EC', { jwk: ec }],
    ['jwk oct', { jwk: { kty: 'oct', k: encode('attacker'), alg: 'HS256' } }],
    ['jwk null', { jwk: null }],
    ['jku', { jku: url }],
    ['jku, file', { jku: 'file:///dev/null' }],
    ['x5u', { x5u: url }],
    ['x5c and x5t', { x5c, 'x5t#S256': fingerprint }],
    ['all of it', { jwk: rsa, jku: url, x5u: url, x5c, kid: '1' }],
    ...[...kids, 'k'.repeat(4000)].map((kid): [string, object] => [
      `kid ${json(kid).slice(0, 40)}`,
      { kid },
    ]),
  ]
}

t.test('a token cannot choose its key by jwk, jku, x5u, x5c or kid', async (t) => {
  const apps = await appsOf(t)
  let fetched = 0
  const { url } = await startServer(t, (_, response) => {
    fetched += 1
    response.end(json({ keys: [moreKeys.otherRsa.publicKey.export({ format: 'jwk' })] }))
  })
  const brought = broughtKeys(`${url}/keys`)
  const other = moreKeys.otherP256.privateKey
  const tokens = brought.flatMap(([title, more]): Named[] => [
    [`RS256, ${title}`, signedToken(header('RS256', more), claims(), moreKeys.otherRsa.privateKey)],
    [`ES256, ${title}`, signedToken(header('ES256', more), claims(), other)],
    [`HS256, ${title}`, hmacToken(header('HS256', more), claims(), 'attacker')],
    [`HS256 with an empty key, ${title}`, hmacToken(header('HS256', more), claims(), '')],
  ])
  await areRejected(t, apps, tokens, ['HS256', 'RS256', 'ES256'])
  // A token of the right key is valid, whatever its header says of another one.
  for (const [, more] of brought) await isAccepted(t, apps, rs256(more), 'RS256')
  t.equal(fetched, 0, 'nothing was fetched')
})

t.test('a token with a critical extension is rejected (RFC 7515 §4.1.11)', async (t) => {
  const apps = await appsOf(t)
  const crits = [['exp'], ['unknown'], ['b64'], ['alg'], ['__proto__'], [''], [], [null], 'b64', {}]
  const tokens = [...crits, true, null, ''].map((crit): Named => [
    `crit ${json(crit)}`,
    signed(claims(), header('HS256', { crit, b64: false })),
  ])
  // RFC 7797: the payload itself is signed, not its base64url.
  const open = `${encode(header('HS256', { b64: false, crit: ['b64'] }))}.${json(claims())}`
  const signature = createHmac('sha256', secret512).update(open).digest('base64url')
  tokens.push(['payload not encoded (b64)', `${open}.${signature}`])
  await areRejected(t, apps, tokens)
  await areRejected(t, apps, [['RS256', rs256({ crit: ['b64'], b64: false })]], ['RS256'])
})

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The signature of a token, as a string. */
const signatureOf = (token: string): string => token.slice(token.lastIndexOf('.') + 1)

/** A token with another signature. */
function withSignature(token: string, signature: Buffer | string): string {
  const stem = token.slice(0, token.lastIndexOf('.'))
  return `${stem}.${typeof signature === 'string' ? signature : signature.toString('base64url')}`
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at)
  return copy
}

/** Tokens whose signature is changed: bits flipped, cut, padded, or not canonical base64url. */
function badSignatures(token: string): Named[] {
  const text = signatureOf(token)
  const bytes = Buffer.from(text, 'base64url')
  const found: [string, string | Buffer][] = [
    ['first byte', flipped(bytes, 0)],
    ['byte in the middle', flipped(bytes, bytes.length >> 1)],
    ['last byte', flipped(bytes, bytes.length - 1)],
    ['a character less', text.slice(0, -1)],
    ['none', ''],
    ['a byte less', bytes.subarray(0, -1)],
    ['a byte more', Buffer.concat([bytes, Buffer.from([0])])],
    ['only zeros', Buffer.alloc(bytes.length)],
    ['long', Buffer.alloc(5000, 1)],
    ['padding =', `${text}=`],
    ['padding ==', `${text}==`],
    ['a segment more', `${text}.${text}`],
    ['a space inside', `${text.slice(0, 9)} ${text.slice(9)}`],
    ['a line break', `${text}\n`],
    ['hex', bytes.toString('hex')],
    ['not ASCII', `${text.slice(0, -1)}\u00e9`],
  ]
  if (text.length % 4 !== 0) {
    const last = alphabet.indexOf(text.slice(-1))
    const spare = text.length % 4 === 2 ? 16 : 4
    for (let rest = 1; rest < spare; rest += 1) {
      found.push([`unused bits ${rest}`, `${text.slice(0, -1)}${alphabet[last | rest]}`])
    }
  }
  return found.map(([title, signature]) => [title, withSignature(token, signature)])
}

t.test('a token with a changed or differently encoded signature is rejected', async (t) => {
  // One token for each form of signature.
  const tokens: Partial<Record<SigningMethod, string>> = {
    HS256: good(),
    RS256: rs256(),
    PS256: signedToken(header('PS256'), claims(), keys.rsa.privateKey, 'sha256', true),
    ES256: es256(),
    EdDSA: signedToken(header('EdDSA'), claims(), keys.ed25519.privateKey, null),
  }
  const apps = await appsOf(t, Object.keys(tokens) as SigningMethod[])
  for (const [method, token] of Object.entries(tokens)) {
    await areRejected(t, apps, badSignatures(token), [method])
    await isAccepted(t, apps, token, method)
  }
  let token = good()
  for (let at = 0; !/[-_]/.test(signatureOf(token)); at += 1) token = signed(claims({ at }))
  const base64 = signatureOf(token).replaceAll('-', '+').replaceAll('_', '/')
  await areRejected(t, apps, [['base64', withSignature(token, base64)]])
  await isAccepted(t, apps, token)
})

t.test('an ES256 signature of edge values, in DER or of a wrong length is rejected', async (t) => {
  const apps = await appsOf(t)
  const n = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
  const order = Buffer.from(n, 'hex')
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
  const tokens = signatures.map(([title, each]) => [title, withSignature(token, each)] as const)
  await areRejected(t, apps, tokens, ['ES256'])
  await isAccepted(t, apps, token, 'ES256')
})

t.test('a token with wrong dots, segments or serialization is rejected', async (t) => {
  const apps = await appsOf(t)
  const token = good()
  const [head = '', payload = '', signature = ''] = token.split('.')
  const flattened = { protected: head, payload, signature }
  const tokens: Named[] = [
    ['dots only', '..'],
    ['a word', 'token'],
    ['two segments', `${head}.${payload}`],
    ['no header', `.${payload}.${signature}`],
    ['no payload', `${head}..${signature}`],
    ['only a header', `${head}..`],
    ['five segments (JWE)', `${head}.${payload}.${signature}.${payload}.${signature}`],
    ['a dot before', `.${token}`],
    ['header and payload swapped', `${payload}.${head}.${signature}`],
    ['header padded', `${head}=.${payload}.${signature}`],
    ['payload padded', `${head}.${payload}=.${signature}`],
    ['payload in base64', `${head}.${payload}+/.${signature}`],
    ['a line break in the header', `${head}\n.${payload}.${signature}`],
    ['JSON serialization', encode(flattened)],
    ['general JSON serialization', encode({ payload, signatures: [flattened] })],
  ]
  await areRejected(t, apps, tokens)
  await isAccepted(t, apps, token)
})

t.test('a signed token whose header or payload is no JSON object is rejected', async (t) => {
  const apps = await appsOf(t)
  const body = json(claims())
  const payloads = ['[]', `[${body}]`, '"alice"', 'null', '1', '', 'alice', body.slice(0, -1)]
  payloads.push(`${body}x`, `${body}${body}`, `\ufeff${body}`, `/**/${body}`)
  const heads = ['[]', '["HS256"]', '[{"alg":"HS256"}]', '"HS256"', 'null', '', '{}']
  heads.push('{"__proto__":{"alg":"HS256"}}', '{"constructor":"HS256"}', '{"alg":"HS256"')
  await areRejected(t, apps, [
    ...payloads.map((text): Named => [`payload ${text}`, signed(text)]),
    ...heads.map((text): Named => [`header ${text}`, signed(claims(), text)]),
  ])
})

t.test('a signed token whose claims are not UTF-8 is rejected (RFC 7519 §7.2)', async (t) => {
  const apps = await appsOf(t)
  const bytes = [[0xff], [0xc0, 0xaf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0x80], [0xf5, 0x80]]
  const tokens = bytes.map((strange): Named => {
    const parts = ['{"sub":"alice', strange, `","exp":${epochSeconds() + 60}}`]
    const payload = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
    return [Buffer.from(strange).toString('hex'), signed(payload)]
  })
  await areRejected(t, apps, tokens)
})

t.test('deep nesting and __proto__ cause no error and pollute nothing', async (t) => {
  const apps = await appsOf(t)
  const deep = (open: string, close: string, depth: number): string =>
    `{"deep":${open.repeat(depth)}1${close.repeat(depth)},"sub":"alice","exp":${epochSeconds() + 60}}`
  const nested = [deep('[', ']', 5000), deep('{"a":', '}', 1500)]
  for (const payload of nested) await isAccepted(t, apps, signed(payload))
  const forged = nested.map((payload, at): [string, string] => [
    `deep payload ${at}`,
    hmacToken(header('HS256'), payload, 'attacker'),
  ])
  const deepHead = `{"x":${'['.repeat(5000)}${']'.repeat(5000)},"alg":"none"}`
  await areRejected(t, apps, [...forged, ['deep header', hmacToken(deepHead, '{}', '')]])

  const body = json(claims()).slice(1)
  const polluting = [
    `{"__proto__":{"admin":true,"polluted":1},${body}`,
    `{"constructor":{"prototype":{"polluted":1}},${body}`,
  ]
  for (const payload of polluting) await isAccepted(t, apps, signed(payload))
  const head = '{"__proto__":{"alg":"none","polluted":1},"alg":"HS256"}'
  await isAccepted(t, apps, signed(claims(), head))
  t.notOk('polluted' in {}, 'Object.prototype is as it was')
  // Claims that are only inherited from what the payload calls __proto__ do not count.
  const inherited = `{"__proto__":${json(claims())}}`
  const partly = `{"__proto__":{"sub":"alice"},"exp":${epochSeconds() + 60}}`
  await areRejected(t, apps, [
    ['inherited claims', signed(inherited)],
    ['inherited sub', signed(partly)],
  ])
})

t.test('of duplicate members the last one counts, for the checks and for the lookup', async (t) => {
  const apps = await appsOf(t)
  const past = epochSeconds() - 60
  const future = epochSeconds() + 60
  await isAccepted(t, apps, signed(`{"sub":"bob","sub":"alice","exp":${future}}`))
  await isAccepted(t, apps, signed(`{"sub":"alice","exp":${past},"exp":${future}}`))
  await areRejected(t, apps, [
    ['sub null last', signed(`{"sub":"alice","sub":null,"exp":${future}}`)],
    ['exp a string last', signed(`{"sub":"alice","exp":${future},"exp":"${future}"}`)],
  ])
  const late = signed(`{"sub":"alice","exp":${future},"exp":${past}}`)
  await areRejected(t, apps, [['exp in the past last', late]], ['HS256'], expired)
})

t.test('a signed token with an exp or nbf that is no finite number is rejected', async (t) => {
  const apps = await appsOf(t)
  const future = epochSeconds() + 60
  // As JSON, which can express numbers that JSON.stringify() cannot.
  const values = [`"${future}"`, '""', 'null', 'true', `[${future}]`, '{}', '1e400', '-1e400']
  const tokens = values.flatMap((value): Named[] => [
    [`exp ${value}`, signed(`{"sub":"alice","exp":${value}}`)],
    [`nbf ${value}`, signed(`{"sub":"alice","exp":${future},"nbf":${value}}`)],
  ])
  tokens.push(['no exp', signed('{"sub":"alice"}')])
  await areRejected(t, apps, tokens)
  const past = ['0', '-0', '-1e308', `${epochSeconds() - 1}.5`].map((value): Named => [
    `exp ${value}`,
    signed(`{"sub":"alice","exp":${value}}`),
  ])
  await areRejected(t, apps, past, ['HS256'], expired)
})

t.test('a sub that is no usable name is rejected without a user lookup', async (t) => {
  const apps = await appsOf(t)
  const values = ['null', '""', '{}', '{"$ne":1}', '{"toString":"alice"}', '[]', '["alice"]']
  values.push(
    'true',
    '1e400',
    '"\\u0000"',
    '"alice\\u0000"',
    '"alice\\n"',
    '"alice\\u007f"',
    '"\\ud800"',
  )
  values.push('"alice\\udc00"', json('a'.repeat(1025)))
  const exp = epochSeconds() + 60
  const tokens = values.map((value): Named => [
    `sub ${value.slice(0, 40)}`,
    signed(`{"exp":${exp},"sub":${value}}`),
  ])
  tokens.push(['no sub', signed({ exp })], ['SUB', signed({ exp, SUB: 'alice', 'sub ': 'alice' })])
  await areRejected(t, apps, tokens)
})
