import { createHash, createSecretKey, sign as signBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { jwtAuthenticator, type JwtConfig, type SigningMethod } from '../../lib/index.js'
import { signingMethods } from '../../lib/common/algorithms.js'
import {
  broughtKeys,
  confused,
  foreignKeys,
  secretsOf,
  unsigned,
  type Named,
} from './corpus/keys.js'
import {
  critical,
  futureTimes,
  noObjects,
  notUtf8,
  pastTimes,
  segments,
  signatureOf,
  signatures,
  strangeNames,
  withSignature,
  wrongTimes,
} from './corpus/tokens.js'
import type { Material } from '../../lib/testing/forge.js'
import { bearer, secret, secret512 } from '../helpers/app.js'
import {
  credulousService,
  isQuiet,
  isRepelled,
  target,
  type Expected,
  type Target,
} from '../helpers/attacks.js'
import { certificateOf } from '../helpers/certificate.js'
import { isWelcome, texts, tokenChallenge } from '../helpers/flows.js'
import { methodCases, moreKeys } from '../helpers/keys.js'
import { claims, encode, hmacToken, keys, now, privatePem, signedToken } from '../helpers/tokens.js'

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

/** What the corpus is made of, for HS256. */
const material = (): Material => ({
  claims: claims() as Record<string, unknown>,
  method: 'HS256',
  claimName: 'sub',
  token: good(),
  key: createSecretKey(Buffer.from(secret512)),
})

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
  const tokens = unsigned(material())
  await repelled(t, subject, ['HS256', 'RS256', 'ES256'], tokens)
  await welcome(t, subject, 'HS256', good())
  await welcome(t, subject, 'RS256', rs256())
  await welcome(t, subject, 'ES256', es256())
})

t.test('key confusion: HMAC with all that can be made of the public key', async (t) => {
  const methods = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'] as const
  const subject = await appOf(t, methods)
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
    const tokens = confused({ ...material(), publicKey: pair.publicKey }, named, secrets)
    await repelled(t, subject, [...named, 'HS256'], tokens)
  }
  for (const method of methods) {
    const token = subject.app.jwtService.generateTokenWithClaims({ sub: 'alice' }, method)
    await welcome(t, subject, method, token)
  }
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

  const certificate = certificateOf(moreKeys.otherP256.privateKey, moreKeys.otherP256.publicKey)
  const x5c = [certificate.toString('base64')]
  const fingerprint = createHash('sha256').update(certificate).digest('base64url')
  const brought = broughtKeys({ method: 'RS256' }, url)
  brought.push(
    ['x5c, a certificate', { x5c }],
    ['x5c and x5t', { x5c, 'x5t#S256': fingerprint }],
    ['jwk of the key that signed', { jwk: moreKeys.otherRsa.publicKey.export({ format: 'jwk' }) }],
  )
  const tokens: Named[] = []
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
  tokens.push(...foreignKeys(material(), url))
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
  const tokens = critical(material())
  await repelled(t, subject, ['HS256'], tokens)
  const asymmetric = header('RS256', { crit: ['b64'], b64: false })
  await repelled(t, subject, ['RS256'], [['RS256', rs256(claims(), asymmetric)]])
})

/** A token of each shape of signature. */
const shapes: Record<string, () => string> = {
  HS256: good,
  RS256: () => rs256(),
  PS256: () => signedToken(header('PS256'), claims(), keys.rsa.privateKey, 'sha256', true),
  ES256: () => es256(),
  EdDSA: () => signedToken(header('EdDSA'), claims(), keys.ed25519.privateKey, null),
}

t.test('signatures: flipped, cut, padded, not canonical', async (t) => {
  const methods = Object.keys(shapes) as SigningMethod[]
  const subject = await appOf(t, methods)
  for (const method of methods) {
    const token = shapes[method]?.() ?? ''
    const tokens = signatures({ token }).map(([title, token]): [string, string] => [
      `${method}, ${title}`,
      token,
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
  const tokens = segments({ token })
  await repelled(t, subject, ['HS256'], tokens)
  await welcome(t, subject, 'HS256', token)
})

t.test('headers and payloads that are no objects, signed with the right key', async (t) => {
  const subject = await appOf(t)
  const tokens = noObjects(material())
  await repelled(t, subject, ['HS256'], tokens)
})

t.test('invalid UTF-8 makes no claims set (RFC 7519 §7.2)', async (t) => {
  const subject = await appOf(t)
  const tokens = notUtf8(material())
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
  const signed = (payload: string): string => hmacToken(hs256, payload, secret512)
  const tokens = wrongTimes(material())
  await repelled(t, subject, ['HS256'], [...tokens, ['no exp', signed('{"sub":"alice"}')]])
  const past = pastTimes(material())
  past.push([`exp ${now() - 1}`, signed(`{"sub":"alice","exp":${now() - 1}}`)])
  past.push([`exp ${now() - 1}.5`, signed(`{"sub":"alice","exp":${now() - 1}.5}`)])
  await repelled(t, subject, ['HS256'], past, expired)
  const ahead = futureTimes(material())
  await repelled(t, subject, ['HS256'], ahead, early)
  for (const nbf of ['0', '-1', '-1e308', `${now() - 1}.5`]) {
    await welcome(t, subject, 'HS256', signed(`{"sub":"alice","exp":1e308,"nbf":${nbf}}`))
  }
})

t.test('a claim that is no usable name: no user is looked up', async (t) => {
  const subject = await appOf(t)
  const tokens = strangeNames(material())
  await repelled(t, subject, ['HS256'], tokens)
})
