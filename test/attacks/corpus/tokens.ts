import { createHmac, type KeyObject } from 'node:crypto'
import { encode, forge, headerLike, now, type Material } from '../../../lib/testing/forge.js'
import { resign } from '../../../lib/testing/material.js'
import type { Named } from './keys.js'

const json = (value: unknown): string => JSON.stringify(value)

/** A token with any payload, signed with the right key. */
function signed(
  material: Material,
  payload: unknown,
  head: unknown = headerLike(material),
): string {
  const { method, key } = material
  return forge(head, payload, method, key as KeyObject)
}

/** Tokens with critical extensions (RFC 7515 §4.1.11), or with a `crit` that is not an array. */
export function critical(material: Material): Named[] {
  const crits: [unknown, object][] = [
    [['exp'], { exp: 1 }],
    [['unknown'], { unknown: 1 }],
    [['unknown'], {}],
    [['b64'], { b64: true }],
    [['b64'], { b64: false }],
    [['alg'], {}],
    [['__proto__'], {}],
    [[''], {}],
    [[], {}],
    [[null], {}],
    [[['b64']], {}],
    ['b64', { b64: false }],
    [{ b64: true }, { b64: true }],
    [true, {}],
    [null, {}],
    ['', {}],
  ]
  const tokens = crits.map(([crit, more]): Named => [
    `crit ${json(crit)} ${json(more)}`,
    resign(material, {}, { ...more, crit }),
  ])
  return [...tokens, ...unencoded(material)]
}

/** RFC 7797: the payload itself is what is signed, not its base64url. */
function unencoded(material: Material): Named[] {
  const { claims, key } = material
  const open = `${encode(headerLike(material, { b64: false, crit: ['b64'] }, 'HS256'))}.${json(claims)}`
  const signature = createHmac('sha256', key as KeyObject)
    .update(open)
    .digest('base64url')
  return [['payload not encoded (b64)', `${open}.${signature}`]]
}

/** The alphabet of base64url (RFC 4648 §5). */
export const alphabet = Array.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
)

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ (1 << bit), at)
  return copy
}

/** A token with another signature. */
export function withSignature(token: string, signature: Buffer | string): string {
  const stem = token.slice(0, token.lastIndexOf('.'))
  return `${stem}.${typeof signature === 'string' ? signature : signature.toString('base64url')}`
}

/** The signature of a token, as text. */
export const signatureOf = (token: string): string => token.slice(token.lastIndexOf('.') + 1)

/** Tokens whose signature is changed: bits flipped, cut, padded, or not canonical base64url. */
export function signatures({ token = '' }: Pick<Material, 'token'>): Named[] {
  const text = signatureOf(token)
  const bytes = Buffer.from(text, 'base64url')
  const found: [string, string | Buffer][] = [
    ['first bit', flipped(bytes, 0, 7)],
    ['bit in the middle', flipped(bytes, bytes.length >> 1, 3)],
    ['last bit', flipped(bytes, bytes.length - 1, 0)],
    ['all bits', Buffer.from(bytes.map((byte) => byte ^ 0xff))],
    ['a character less', text.slice(0, -1)],
    ['first character missing', text.slice(1)],
    ['none', ''],
    ['a byte less', bytes.subarray(0, -1)],
    ['a byte more', Buffer.concat([bytes, Buffer.from([0])])],
    ['twice', Buffer.concat([bytes, bytes])],
    ['only zeros', Buffer.alloc(bytes.length)],
    ['only ones', Buffer.alloc(bytes.length, 0xff)],
    ['long', Buffer.alloc(5000, 1)],
    ['padding =', `${text}=`],
    ['padding ==', `${text}==`],
    ['a dot at the end', `${text}.`],
    ['a segment more', `${text}.${text}`],
    ['a tilde', `${text}~`],
    ['a space at the end', `${text} `],
    ['a space inside', `${text.slice(0, 9)} ${text.slice(9)}`],
    ['a line break', `${text}\n`],
    ['quoted', `"${text}"`],
    ['hex', bytes.toString('hex')],
    ['an unlike letter', `${text.slice(0, -1)}\u00e9`],
  ]
  if (text.length % 4 !== 0) {
    const last = alphabet.indexOf(text.slice(-1))
    const spare = text.length % 4 === 2 ? 16 : 4
    for (let rest = 1; rest < spare; rest += 1) {
      found.push([`unused bits ${rest}`, `${text.slice(0, -1)}${alphabet[last | rest]}`])
    }
  }
  return found.map(([title, signature]) => [`signature: ${title}`, withSignature(token, signature)])
}

/** Tokens with wrong dots, segments or spaces, or in another serialization than the compact one. */
export function segments({ token = '' }: Pick<Material, 'token'>): Named[] {
  const [head = '', payload = '', signature = ''] = token.split('.')
  const flattened = { protected: head, payload, signature }
  return [
    ['dots only', '..'],
    ['one dot', '.'],
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
    ['header and payload swapped', `${payload}.${head}.${signature}`],
    ['twice', `${token}.${token}`],
    ['twice, with a comma', `${token},${token}`],
    ['Bearer twice', `Bearer ${token}`],
    ['header padded', `${head}=.${payload}.${signature}`],
    ['payload padded', `${head}.${payload}=.${signature}`],
    ['payload in base64', `${head}.${payload}+/.${signature}`],
    ['a line break in the header', `${head}\n.${payload}.${signature}`],
    ['NUL at the end', `${token}\0`],
    ['JSON serialization', encode(flattened)],
    ['general JSON serialization', encode({ payload, signatures: [flattened] })],
    ['a parameter', `token="${token}"`],
  ]
}

/** Tokens whose header or payload is not an object, signed with the right key. */
export function noObjects(material: Material): Named[] {
  const { claims, claimName } = material
  const name = `"${claimName}":"alice"`
  const texts = [
    '[]',
    `[${json(claims)}]`,
    '"alice"',
    'null',
    '1',
    '1e400',
    '',
    'alice',
    `{'${claimName}':'alice'}`,
    `{${name}`,
    `${json(claims)}x`,
    `${json(claims)}${json(claims)}`,
    `\ufeff${json(claims)}`,
    `${json(claims)}\0`,
    `{${name},"exp":${now() + 60},}`,
    `{${name},"exp":0x7fffffff}`,
    `{"${claimName}":"al\nice","exp":${now() + 60}}`,
    `/**/${json(claims)}`,
  ]
  const { method } = material
  const heads = ['[]', `["${method}"]`, `[{"alg":"${method}"}]`, `"${method}"`, 'null', 'true']
  const more = ['256', '', '{}', `{"__proto__":{"alg":"${method}"}}`, `{"constructor":"${method}"}`]
  return [
    ...texts.flatMap((text): Named[] => [
      [`payload ${json(text)}`, signed(material, text)],
      [`payload ${json(text)}, unsigned`, `${encode(headerLike(material))}.${encode(text)}.`],
    ]),
    ...[...heads, ...more].map((text): Named => [
      `header ${json(text)}`,
      signed(material, claims, text),
    ]),
    ['header cut', signed(material, claims, json(headerLike(material)).slice(0, -1))],
  ]
}

/** Tokens whose claims are not valid UTF-8 (RFC 7519 §7.2). */
export function notUtf8(material: Material): Named[] {
  const { claimName } = material
  const bytes = [[0xff], [0xc0, 0xaf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0x80], [0xf5, 0x80]]
  return bytes.map((strange) => [
    `not UTF-8: ${Buffer.from(strange).toString('hex')}`,
    signed(
      material,
      Buffer.concat([
        Buffer.from(`{"${claimName}":"alice`),
        Buffer.from(strange),
        Buffer.from(`","exp":${now() + 60}}`),
      ]),
    ),
  ])
}

const noTimes = (future: number): string[] => [
  `"${future}"`,
  '""',
  '"Infinity"',
  '"2999-01-01T00:00:00Z"',
  'null',
  'true',
  '[]',
  `[${future}]`,
  '{}',
  `{"valueOf":${future}}`,
  '1e400',
  '-1e400',
]

/** A payload with members as JSON text, which JSON.stringify() could not write, such as `1e400`. */
function payloadOf({ claims }: Material, members: Readonly<Record<string, string>>): string {
  const rest = Object.entries(claims).filter(([name]) => !Object.hasOwn(members, name))
  const written = rest.map(([name, value]) => `${json(name)}:${json(value)}`)
  const own = Object.entries(members).map(([name, text]) => `${json(name)}:${text}`)
  return `{${[...written, ...own].join(',')}}`
}

/** Tokens with an `exp` or `nbf` of a wrong type. */
export function wrongTimes(material: Material): Named[] {
  return noTimes(now() + 60).flatMap((value): Named[] => [
    [`exp ${value}`, signed(material, payloadOf(material, { exp: value }))],
    [`nbf ${value}`, signed(material, payloadOf(material, { nbf: value }))],
  ])
}

/** Times at which a token has expired. */
export function pastTimes(material: Material): Named[] {
  const past = ['0', '-0', '-1', '1', '1e-7', '-1e308', `${now() - 3600}`, `${now() - 3600}.5`]
  return past.map((value) => [
    `exp ${value}`,
    signed(material, payloadOf(material, { exp: value })),
  ])
}

/** Times at which a token is not valid yet. */
export function futureTimes(material: Material): Named[] {
  const ahead = ['1e308', '9007199254740993', '8640000000001', `${now() + 3600}`, '1e21']
  return ahead.map((value) => [
    `nbf ${value}`,
    signed(material, payloadOf(material, { exp: '1e308', nbf: value })),
  ])
}

/** JSON values that are not usable as a username. */
export const noNames: readonly string[] = [
  'null',
  '""',
  '{}',
  '{"$ne":1}',
  '{"toString":"alice"}',
  '[]',
  '["alice"]',
  'true',
  'false',
  '1e400',
  '-1e400',
  '"\\u0000"',
  '"alice\\u0000"',
  '"alice\\n"',
  '"alice\\u007f"',
  '"\\ud800"',
  '"alice\\udc00"',
  `"${'a'.repeat(1025)}"`,
]

/** Tokens whose name claim is not usable, or stands under a similar name only. */
export function strangeNames(material: Material): Named[] {
  const { claims, claimName } = material
  const name = claims[claimName]
  const lookalikes = { [claimName.toUpperCase()]: name, [`${claimName} `]: name }
  return [
    ...noNames.map((text): Named => [
      `${claimName} ${text.slice(0, 40)}${text.length > 40 ? `… (${text.length})` : ''}`,
      signed(material, payloadOf(material, { [claimName]: text })),
    ]),
    [`no ${claimName}`, resign(material, { [claimName]: undefined })],
    [`${claimName} in capitals`, resign(material, { ...lookalikes, [claimName]: undefined })],
    ['inherited claims', signed(material, `{"__proto__":${json(claims)}}`)],
  ]
}
