import type { KeyObject } from 'node:crypto'
import { signingMethods } from '../../../lib/common/algorithms.js'
import { forge, headerLike, keyOf, type Material } from '../../../lib/testing/forge.js'
import { encode, hmacToken, publicPem } from '../../helpers/tokens.js'

/** A case of the corpus: what it is called, and the token or the header that must not get in. */
export type Named = readonly [name: string, text: string]

const json = (value: unknown): string => JSON.stringify(value)

/** `none` in every spelling, values that look like it, and values that are not algorithms. */
function algNone(): unknown[] {
  const spellings = Array.from({ length: 16 }, (_, bits) =>
    Array.from('none', (letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter)).join(''),
  )
  const others = [' none', 'none ', 'none\u0000', '\tnone', 'n\u043ene', '\uff4eone', 'none,HS256']
  const nothing = ['', 'null', 'undefined', null, false, 0, [], ['none'], ['HS256'], {}, true]
  return [...spellings, ...others, ...nothing]
}

/** Tokens with `alg` none in every spelling, with and without a signature. */
export function unsigned(material: Material): Named[] {
  const { claims, key = '' } = material
  const payload = encode(claims)
  const tokens = algNone().flatMap((alg): Named[] => {
    const head = headerLike(material, {}, alg)
    return [
      [`alg ${json(alg)} without a signature`, `${encode(head)}.${payload}.`],
      [`alg ${json(alg)} with the signature of an empty key`, hmacToken(head, claims, '')],
      [`alg ${json(alg)} with the signature of the secret`, hmacToken(head, claims, key)],
    ]
  })
  const escaped = `${encode('{"alg":"n\\u006fne"}')}.${payload}`
  const bare = (head: unknown): string => `${encode(head)}.${payload}.`
  return [
    ...tokens,
    ['alg none, an escaped letter', `${escaped}.`],
    ['alg none, two segments', escaped],
    ['no alg at all', bare({ typ: 'JWT' })],
    ['alg twice, none last', bare('{"alg":"HS256","alg":"none"}')],
    ['alg twice, none first', bare('{"alg":"none","alg":"HS256"}')],
    ...signingMethods.map((alg): Named => [
      `${alg} without a signature`,
      bare(headerLike(material, {}, alg)),
    ]),
  ]
}

/** Everything that an attacker can make of a public key, to have it used as an HMAC secret. */
export function secretsOf(publicKey: KeyObject): [string, string | Buffer][] {
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
    ['PEM, one more line', `${pem}\n`],
    ['PEM, without line breaks', pem.replaceAll('\n', '')],
    ['base64 body', body.join('')],
    ['base64url body', spki.toString('base64url')],
    ['DER', spki],
    ['JWK', json(jwk)],
    ['JWK, with kid', json({ ...jwk, kid: '1', use: 'sig' })],
    ['JWK set', json({ keys: [jwk] })],
    ['first number, base64url', String(coordinates[0])],
    ['numbers', Buffer.concat(bytes)],
    ['numbers with 04', Buffer.concat([Buffer.from([4]), ...bytes])],
    ['nothing', ''],
    ['null', 'null'],
    ['[object Object]', '[object Object]'],
  ]
  if (publicKey.asymmetricKeyType === 'rsa') {
    variants.push(
      ['PKCS#1 PEM', publicKey.export({ type: 'pkcs1', format: 'pem' })],
      ['PKCS#1 DER', publicKey.export({ type: 'pkcs1', format: 'der' })],
    )
  }
  return variants
}

/** Key confusion (RFC 8725 §2.1): HMAC tokens, with each of {@link secretsOf} as the secret. */
export function confused(
  material: Material,
  named: readonly string[],
  secrets: readonly [string, string | Buffer][],
): Named[] {
  const head = (alg: string): object => headerLike(material, {}, alg)
  const { claims } = material
  return secrets.flatMap(([title, key]) => [
    ...['256', '384', '512'].map((size): Named => [
      `HS${size} keyed with the public key: ${title}`,
      hmacToken(head(`HS${size}`), claims, key, `sha${size}`),
    ]),
    ...named.map((alg): Named => [
      `${alg}, but HMAC keyed with the public key: ${title}`,
      hmacToken(head(alg), claims, key),
    ]),
  ])
}

const kids: readonly unknown[] = [
  '/dev/null',
  'file:///dev/null',
  "x' UNION SELECT 'attacker",
  '| whoami',
  'attacker\u0000.pem',
  '__proto__',
  'constructor',
  '',
  1,
  null,
  [],
  ['1'],
  {},
  { toString: 'attacker' },
  'k'.repeat(4000),
]

/**
 * JOSE headers that contain a key, or say where to get it (RFC 7515 §4.1.2 to §4.1.8).
 *
 * @param url - the address of a server that must not be asked
 */
export function broughtKeys({ method }: Pick<Material, 'method'>, url: string): [string, object][] {
  const rsa = keyOf('attacker', 'RS256').publicKey.export({ format: 'jwk' })
  const ec = keyOf('attacker', 'ES256').publicKey.export({ format: 'jwk' })
  const oct = { kty: 'oct', k: encode('attacker'), alg: 'HS256' }
  const x5c = [
    keyOf('attacker', 'ES256').publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  ]
  const own = keyOf('attacker', method).publicKey.export({ format: 'jwk' })
  return [
    ['jwk', { jwk: own }],
    ['jwk RSA', { jwk: rsa }],
    ['jwk EC', { jwk: ec }],
    ['jwk oct', { jwk: oct }],
    ['jwk null', { jwk: null }],
    ['jku', { jku: url }],
    ['jku, file', { jku: 'file:///dev/null' }],
    ['jku, many', { jku: [url] }],
    ['x5u', { x5u: url }],
    ['x5c', { x5c }],
    ['jwk and kid', { jwk: { ...ec, kid: '1' }, kid: '1' }],
    ['all of it', { jwk: rsa, jku: url, x5u: url, x5c, kid: '1' }],
    ...kids.map((kid): [string, object] => [`kid ${json(kid).slice(0, 40)}`, { kid }]),
  ]
}

/** Tokens signed with a key of the attacker, whose headers contain it or say where it is. */
export function foreignKeys(material: Material, url: string): Named[] {
  const { claims, method } = material
  const head = (alg: string, more: object): object => headerLike(material, more, alg)
  return broughtKeys({ method }, url).flatMap(([title, more]): Named[] =>
    [...new Set([method, 'RS256', 'ES256'] as const)]
      .map((alg): Named => [
        `${alg} of a stranger, ${title}`,
        forge(head(alg, more), claims, alg, keyOf('attacker', alg).privateKey),
      ])
      .concat([
        [`HS256 keyed "attacker", ${title}`, hmacToken(head('HS256', more), claims, 'attacker')],
        [`HS256 with an empty key, ${title}`, hmacToken(head('HS256', more), claims, '')],
      ]),
  )
}
