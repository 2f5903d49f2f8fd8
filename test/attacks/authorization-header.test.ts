import { strictEqual } from 'node:assert'
import bcrypt from 'bcrypt'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { basic, bearer, passwords, secret, users } from '../helpers/app.js'
import {
  assertRepelled,
  bounded,
  credulousService,
  isQuiet,
  isRepelled,
  target,
  type Expected,
  type Target,
} from '../helpers/attacks.js'
import {
  basicChallenge,
  bearerChallenge,
  isWelcome,
  texts,
  tokenChallenge,
} from '../helpers/flows.js'

const uses = { basic: 'basic', config: 'configBasic', jwt: 'jwt', both: ['basic', 'jwt'] } as const
type Use = keyof typeof uses
const allUses = Object.keys(uses) as Use[]

const hash = users[0]?.password ?? ''
const configured = { username: 'alice', password: passwords.alice }

function subjectOf(t: Test, stored = hash): Promise<Target> {
  return target(
    t,
    credulousService(stored),
    { jwt: { secret }, basic: configured, hashing: { cost: 4 } },
    uses,
  )
}

/** What a header is, and so what each authenticator has to say of it. */
type Kind = 'malformed Basic' | 'wrong Basic' | 'bad Bearer' | 'other'

const bearerProblem = tokenChallenge('The token is invalid')
const refused = (error: string, challenge: Expected['challenge']): Expected => ({
  kind: 'wrong',
  error,
  challenge,
})
const absent = (challenge: Expected['challenge']): Expected => ({
  kind: 'none',
  error: texts.none,
  challenge,
})

const expectations: Record<Kind, Record<Use, Expected>> = {
  'malformed Basic': {
    basic: refused(texts.none, basicChallenge),
    config: refused(texts.none, basicChallenge),
    jwt: absent(bearerChallenge),
    both: refused(texts.none, [basicChallenge, bearerChallenge]),
  },
  'wrong Basic': {
    basic: refused(texts.invalid, basicChallenge),
    config: refused(texts.invalid, basicChallenge),
    jwt: absent(bearerChallenge),
    both: refused(texts.invalid, [basicChallenge, bearerChallenge]),
  },
  'bad Bearer': {
    basic: absent(basicChallenge),
    config: absent(basicChallenge),
    jwt: refused(texts.jwtInvalid, bearerProblem),
    both: refused(texts.jwtInvalid, [basicChallenge, bearerProblem]),
  },
  other: {
    basic: absent(basicChallenge),
    config: absent(basicChallenge),
    jwt: absent(bearerChallenge),
    both: absent([basicChallenge, bearerChallenge]),
  },
}

const secrets = [passwords.alice, hash, secret, basic('alice', passwords.alice).authorization]

/** Every header, against every authenticator, under every mark. */
async function repelled(
  t: Test,
  subject: Target,
  kind: Kind,
  headers: readonly string[],
): Promise<void> {
  t.equal(new Set(headers).size, headers.length, `${headers.length} headers, each another one`)
  for (const header of headers) {
    const title = header.length > 60 ? `${header.slice(0, 60)}… (${header.length})` : header
    for (const use of allUses) {
      await isRepelled(t, subject, use, header, expectations[kind][use], JSON.stringify(title))
    }
  }
  isQuiet(t, subject, [...secrets, ...headers.filter((header) => header.length > 12)])
}

/** What is refused beside it is refused for its own fault. */
async function welcomes({ app, take, service }: Target, t: Test): Promise<void> {
  const pair = basic('alice', passwords.alice)
  const token = bearer(app.jwtService.generateToken('alice'))
  const good = { basic: [pair], config: [pair], jwt: [token], both: [pair, token] }
  for (const use of allUses) {
    for (const headers of good[use]) {
      isWelcome(t, await app.inject({ url: `/${use}/required`, headers }), 'alice', use)
      t.equal(take(), 1, 'the handler ran')
    }
  }
  t.same(service.asked.splice(0), ['alice', 'alice', 'alice', 'alice'])
}

const encoded = (bytes: string | Buffer): string => Buffer.from(bytes as string).toString('base64')
const pair = encoded(`alice:${passwords.alice}`)
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).concat('\u007f')

t.test('malformed Basic', async (t) => {
  const subject = await subjectOf(t)
  const bytes = (...parts: (string | number[])[]): string =>
    encoded(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
  const credentials = [
    // Separators and neighbours.
    `${pair} `,
    `${pair}  `,
    `${pair}\t`,
    `\t${pair}`,
    ` \t${pair}`,
    `${pair},`,
    `,${pair}`,
    `${pair};`,
    `${pair}, Basic ${pair}`,
    `${pair},Basic ${pair}`,
    `${pair} ${pair}`,
    `${pair}, ${pair}`,
    `Basic ${pair}`,
    `basic,${pair}`,
    `${pair}, Bearer x.y.z`,
    `"${pair}"`,
    `'${pair}'`,
    `<${pair}>`,
    `realm="x", ${pair}`,
    `credentials=${pair}`,
    `${pair}, charset="UTF-8"`,
    `alice:${passwords.alice}`,
    `alice ${passwords.alice}`,
    `${encoded('alice')}:${encoded(passwords.alice)}`,
    `${encoded('alice')} ${encoded(passwords.alice)}`,
    // Base64.
    pair.replace(/=+$/, ''),
    `${pair.replace(/=+$/, '')}=`,
    `${pair}=`,
    `${pair}==`,
    `${pair}===`,
    `=${pair}`,
    `==${pair}`,
    `${pair.slice(0, 8)}=${pair.slice(8)}`,
    `${pair.slice(0, 8)}====${pair.slice(8)}`,
    `${pair}${pair}`,
    pair.slice(0, -3),
    pair.slice(1),
    `${pair}A`,
    `${pair.slice(0, 8)} ${pair.slice(8)}`,
    `${pair.slice(0, 8)}\n${pair.slice(8)}`,
    `${pair.slice(0, 8)}\r\n ${pair.slice(8)}`,
    `${pair.slice(0, 8)}-${pair.slice(9)}`,
    `${pair.slice(0, 8)}_${pair.slice(9)}`,
    `${pair.slice(0, 8)}!${pair.slice(8)}`,
    `${pair.slice(0, 8)}~~~~${pair.slice(8)}`,
    `${pair}\u0000`,
    `\u0000${pair}`,
    `${pair}\u00e9`,
    `\uff21${pair.slice(1)}`,
    `${pair}\ufeff`,
    `\ufeff${pair}`,
    pair.replace('=', '%3D'),
    `%20${pair}`,
    '=',
    '==',
    '====',
    'A',
    'AA',
    'AAA',
    'A===',
    '!',
    '*',
    'null',
    'undefined',
    '[object Object]',
    '{}',
    '0',
    '-1',
    'NaN',
    '../../etc/passwd',
    '${jndi:ldap://x}',
    '%00',
    '\u00ff\u00fe',
    '\u{1f511}',
    Buffer.from('alice:\u00ff\u00fe?>~').toString('base64url'),
    // Unused bits that are not zero (RFC 4648 §3.5).
    'YTpiYh==',
    'YTpiYv==',
    'YTp=',
    'YTq=',
    // What is in it.
    encoded('alice'),
    encoded('alicewonderland'),
    encoded('alice;wonderland'),
    encoded('alice%3Awonderland'),
    encoded('alice\uff1awonderland'),
    encoded(' '),
    encoded('\u00a0'),
    bytes([0x00]),
    bytes([0xff]),
    bytes('alice', [0xff]),
    bytes('alice', [0xff], ':wonderland'),
    bytes('alice:wonderland', [0x80]),
    bytes('alice:wonderland', [0xc3]),
    bytes('alice', [0xc0, 0xba], 'wonderland'),
    bytes('alice', [0xe0, 0x80, 0xba], 'wonderland'),
    bytes('al', [0xed, 0xa0, 0x80], 'ice:wonderland'),
    bytes('al', [0xf8, 0x88, 0x80, 0x80, 0x80], 'ice:wonderland'),
    bytes([0xff, 0xfe], Buffer.from('alice:wonderland', 'utf16le').toString('latin1')),
    encoded(Buffer.from('alice:wonderland', 'utf16le')),
    encoded(Buffer.from('jos\u00e9:wonderland', 'latin1')),
    ...controls.map((control) => encoded(`alice${control}:${passwords.alice}`)),
    ...controls.map((control) => encoded(`alice:${passwords.alice}${control}`)),
    ...controls.slice(0, 3).map((control) => encoded(`${control}alice:${passwords.alice}`)),
    // Size.
    'A'.repeat(15_001),
    '='.repeat(15_000),
    ' '.repeat(15_000).concat('!'),
    'a:'.repeat(7_500),
    encoded('a'.repeat(12_000)),
    'A'.repeat(1_000_001),
  ]
  const separators = [
    '\t',
    ',',
    ':',
    '=',
    ';',
    '"',
    '/',
    '\u00a0',
    '\u2003',
    '\u0000',
    '\n',
    '\u000b',
  ]
  const headers = [
    'Basic',
    'basic',
    'BASIC',
    'Basic ',
    'Basic    ',
    ...credentials.map((text) => `Basic ${text}`),
    ...credentials.slice(0, 25).map((text) => `bAsIc   ${text}`),
    ...separators.map((separator) => `Basic${separator}${pair}`),
    ...separators.map((separator) => `Basic${separator} ${pair}`),
  ]
  t.ok(headers.length > 200, `${headers.length} headers`)
  await repelled(t, subject, 'malformed Basic', headers)
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
})

t.test('Basic, well formed and wrong', async (t) => {
  const subject = await subjectOf(t)
  const { alice: password } = passwords
  // Names that no user service is asked for.
  const unusable = [
    `:${password}`,
    ':',
    '::',
    `:alice:${password}`,
    `${'a'.repeat(1025)}:${password}`,
  ]
  const asked: [string, string][] = [
    ['alice', ''],
    ['alice', ' '],
    ['alice', ':'],
    ['alice', `:${password}`],
    ['alice', `${password}:`],
    ['alice', ` ${password}`],
    ['alice', `${password} `],
    ['alice', password.toUpperCase()],
    ['alice', password.slice(0, -1)],
    ['alice', `${password}d`],
    ['alice', `${password}${password}`],
    ['alice', password.normalize('NFKC').replace('o', '\u043e')],
    ['alice', `${password}\u00a0`],
    ['alice', `\ufeff${password}`],
    ['alice', `${password}\u0080`],
    ['alice', hash],
    ['alice', '$2b$04$'],
    ['alice', '*'],
    ['alice', '%'],
    ['alice', 'null'],
    ['alice', 'undefined'],
    ['alice', 'true'],
    ['alice', '{"$ne":1}'],
    ['alice', "' OR '1'='1"],
    ['alice', 'p'.repeat(72)],
    ['alice', 'p'.repeat(73)],
    ['alice', password.padEnd(73, 'x')],
    ['alice', 'p'.repeat(255)],
    ['alice', 'p'.repeat(256)],
    ['alice', 'p'.repeat(11_000)],
    ['alice', '\u{1f511}'.repeat(2_000)],
    ["alice'--", 'x'],
    ['alice" OR ""="', 'x'],
    ['*', 'x'],
    ['%', 'x'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
    ['toString', 'x'],
    ['{$gt}', 'x'],
    ['../alice', 'x'],
    ['\u00e4\u00f6\u00fc', 'x'],
    ['\u{1f600}', 'x'],
    ['\u202ealice', 'x'],
    ['\u0085', 'x'],
    ['a'.repeat(1024), 'x'],
  ]
  await repelled(
    t,
    subject,
    'wrong Basic',
    unusable.map((text) => `Basic ${encoded(text)}`),
  )
  t.same(subject.service.asked, [], 'no user was looked up for a name that is none')
  const headers = asked.map(([name, guess]) => `Basic ${encoded(`${name}:${guess}`)}`)
  await repelled(t, subject, 'wrong Basic', headers)
  const expected = new Set(asked.map(([name]) => name))
  t.same(new Set(subject.service.asked.splice(0)), expected, 'the names as they were sent')
  await welcomes(subject, t)
})

t.test('Basic, with what bcrypt would cut off', async (t) => {
  const longest = 'p'.repeat(72)
  const subject = await subjectOf(t, bcrypt.hashSync(longest, 4))
  const guesses = ['p'.repeat(73), 'p'.repeat(255), 'p'.repeat(10_000)]
  const headers = guesses.map((guess) => basic('alice', guess).authorization)
  await repelled(t, subject, 'wrong Basic', headers)
  const headersOfAlice = basic('alice', longest)
  const response = await subject.app.inject({ url: '/basic/required', headers: headersOfAlice })
  isWelcome(t, response, 'alice', '72 bytes')
  t.equal(subject.take(), 1, 'the handler ran')
  // What is remembered of the right one does not let the longer ones in.
  await repelled(t, subject, 'wrong Basic', headers)
})

t.test('bad Bearer', async (t) => {
  const subject = await subjectOf(t)
  const token = subject.app.jwtService.generateToken('alice')
  const credentials = [
    'x',
    'x.y',
    'x.y.z',
    '.',
    '..',
    'null',
    'undefined',
    'true',
    '0',
    '[object Object]',
    '{}',
    '=',
    '==',
    'a=b',
    '=a',
    pair,
    `Bearer ${token}`,
    `bearer,${token}`,
    `${token} `,
    `${token}\t`,
    `\t${token}`,
    ` \t${token}`,
    `${token},`,
    `,${token}`,
    `${token};`,
    `${token}, Bearer ${token}`,
    `${token},${token}`,
    `${token} ${token}`,
    `${token}, Basic ${pair}`,
    `"${token}"`,
    `<${token}>`,
    `token=${token}`,
    `token="${token}"`,
    `access_token=${token}`,
    `${token}\u0000`,
    `\u0000${token}`,
    `${token}\n`,
    `${token}\r\nX: y`,
    `${token}\u00e9`,
    `\ufeff${token}`,
    `${token}\u00a0`,
    `${token}=`,
    `${token}==`,
    `${token}.`,
    `.${token}`,
    `${token}~`,
    encoded(token),
    token.replaceAll('.', ' '),
    token.replaceAll('.', '\u3002'),
    token.toLowerCase(),
    token.toUpperCase(),
    token.slice(0, -1),
    token.slice(1),
    encodeURIComponent(`${token}:`),
    'a'.repeat(15_000),
    '.'.repeat(15_000),
    '='.repeat(15_000),
    `${'a'.repeat(15_000)}!`,
    `${'a'.repeat(7_000)}${'='.repeat(7_000)}a`,
    'a'.repeat(1_000_000),
    ...controls.map((control) => `${token}${control}x`),
  ]
  const separators = ['\t', ',', ':', '=', ';', '"', '/', '\u00a0', '\u2003', '\u0000', '\n']
  const headers = [
    ...credentials.map((text) => `Bearer ${text}`),
    ...credentials.slice(0, 40).map((text) => `bEARER   ${text}`),
    ...separators.map((separator) => `Bearer${separator}${token}`),
    ...separators.map((separator) => `Bearer${separator} ${token}`),
  ]
  t.ok(headers.length > 140, `${headers.length} headers`)
  await repelled(t, subject, 'bad Bearer', headers)
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
})

t.test('no scheme of ours: no credentials', async (t) => {
  const subject = await subjectOf(t)
  const token = subject.app.jwtService.generateToken('alice')
  const schemes = [
    'Digest',
    'Negotiate',
    'NTLM',
    'Token',
    'JWT',
    'ApiKey',
    'Bearers',
    'Bearer2',
    'Bearer-',
    'Bearer|',
    'Basics',
    'Basic2',
    'Basic-Auth',
    'XBasic',
    'Basi',
    'Beare',
    'Ba\u017fic',
    'Be\u0430rer',
    '\uff22asic',
    '"Basic"',
    "'Bearer'",
    '(Basic)',
    '<Bearer>',
    ',Basic',
    ';Bearer',
    '=Basic',
    ' Basic',
    '\tBearer',
    '\u00a0Basic',
    '\ufeffBearer',
    '\u0000Basic',
    'B asic',
    'Bear\u0000er',
    '',
  ]
  const bare = ['', ' ', '\t', ',', ':', '=', '\u0000', '__proto__', 'constructor', 'null', token]
  const headers = [
    'Bearer',
    'Bearer ',
    'BEARER     ',
    ...bare,
    ...schemes.flatMap((scheme) => [`${scheme} ${pair}`, `${scheme} ${token}`]),
    `Digest username="alice", Basic ${pair}`,
    `Digest username="alice", Bearer ${token}`,
    `alice:${passwords.alice}`,
    `${'x'.repeat(15_000)} ${token}`,
  ]
  await repelled(t, subject, 'other', [...new Set(headers)])
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
})

const scheme = fc.constantFrom(
  'Basic',
  'Bearer',
  'basic',
  'BEARER',
  'bAsIc',
  'Digest',
  'Basic:',
  '',
)
const gap = fc.constantFrom(' ', '  ', '', '\t', ', ', '\u00a0')

t.test('generated: any text after any scheme', async (t) => {
  const subject = await subjectOf(t)
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.base64String({ maxLength: 200 }),
    fc.string({ maxLength: 60 }),
    fc.stringMatching(/^[\w.~+/=-]{0,80}$/),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(scheme, gap, text),
      fc.constantFrom(...allUses),
      async (parts, use) => {
        await assertRepelled(subject, use, parts.join(''))
      },
    ),
    bounded(500),
  )
  isQuiet(t, subject, secrets)
})

t.test('generated: any bytes as Basic credentials', async (t) => {
  const subject = await subjectOf(t)
  const { asked } = subject.service
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .tuple(
        fc.string({ unit: 'binary', maxLength: 30 }),
        fc.string({ unit: 'binary', maxLength: 30 }),
      )
      .map(([name, password]) => Buffer.from(`${name}:${password}`)),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async (bytes) => {
      const text = Buffer.from(bytes)
      const name = text.toString().split(':', 1)[0]
      await assertRepelled(subject, 'basic', `Basic ${text.toString('base64')}`)
      // Asked for what was sent, or not at all.
      strictEqual(asked.splice(0).filter((each) => each !== name).length, 0)
    }),
    bounded(300),
  )
  isQuiet(t, subject, secrets)
})

t.test('generated: good headers with a change in them', async (t) => {
  const subject = await subjectOf(t)
  const token = subject.app.jwtService.generateToken('alice')
  const good = { basic: `Basic ${pair}`, config: `Basic ${pair}`, jwt: `Bearer ${token}` }
  const still = {
    basic: new RegExp(`^basic +${pair}$`, 'i'),
    config: new RegExp(`^basic +${pair}$`, 'i'),
    jwt: new RegExp(`^bearer +${token.replaceAll('.', '\\.')}$`, 'i'),
  }
  const edit = fc.record({
    at: fc.nat(400),
    cut: fc.nat(3),
    text: fc.oneof(fc.base64String({ maxLength: 4 }), fc.string({ unit: 'binary', maxLength: 3 })),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('basic' as const, 'config' as const, 'jwt' as const),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      async (use, edits) => {
        const header = edits.reduce<string>((text, { at, cut, text: by }) => {
          const place = at % (text.length + 1)
          return text.slice(0, place) + by + text.slice(place + cut)
        }, good[use])
        // The case of the letters after the scheme counts: only the scheme may be spelled otherwise.
        const [, credentials = ''] = good[use].split(' ')
        fc.pre(!(still[use].test(header) && header.endsWith(credentials)))
        await assertRepelled(subject, use, header)
      },
    ),
    bounded(500),
  )
  isQuiet(t, subject, secrets)
})
