import type { BasicPair } from '../../../lib/http/authorization.js'

/** Good credentials, from which the attacks are made by small changes. */
export interface Good {
  readonly pair: BasicPair
  readonly token: string
}

const encoded = (text: string | Buffer): string => Buffer.from(text as string).toString('base64')
const bytes = (...parts: (string | number[])[]): string =>
  encoded(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).concat('\u007f')
const separators = Array.from('\t,:=/"\u00a0\u0000')

/** Strings that programs read as no value, as one of their own, or as a query. */
const oddTexts = ['null', 'undefined', '__proto__', '[object Object]', '%00', "' OR '1'='1"]

/** Credentials with something before or after them that no grammar allows. */
function framed(text: string, scheme: string): string[] {
  const twice = [`${text}, ${scheme} ${text}`, `${text} ${text}`, `${scheme} ${text}`]
  const before = [` \t${text}`, `"${text}"`, `\ufeff${text}`]
  const after = [' ', ',', '\u0000', '\u00e9', '='].map((each) => `${text}${each}`)
  return [...twice, ...before, ...after, ...oddTexts]
}

/** A scheme in other letters, and with another separator than a space. */
function spelled(scheme: string, credentials: readonly string[], good: string): string[] {
  const mixed = scheme.charAt(0).toLowerCase() + scheme.slice(1).toUpperCase()
  return [
    ...credentials.map((text) => `${scheme} ${text}`),
    ...credentials.slice(0, 12).map((text) => `${mixed}   ${text}`),
    ...separators.flatMap((each) => [`${scheme}${each}${good}`, `${scheme}${each} ${good}`]),
  ]
}

/** Basic headers that RFC 7617 does not allow. */
export function malformedBasic({ username, password }: BasicPair): string[] {
  const pair = encoded(`${username}:${password}`)
  const start = pair.slice(0, 8)
  const rest = pair.slice(8)
  const padded = [pair.replace(/=+$/, ''), `${pair}===`, `=${pair}`, pair.slice(0, -3), '=', 'A']
  const withoutColon = ['alice', 'alice%3Awonderland', 'alice\uff1awonderland']
  const credentials = [
    ...framed(pair, 'Basic'),
    `${username}:${password}`,
    ...padded,
    ...[' ', '\n', '====', '-', '!'].map((each) => `${start}${each}${rest}`),
    `${start}_${pair.slice(9)}`,
    Buffer.from('alice:\u00ff\u00fe?>~').toString('base64url'),
    // Unused bits that are not zero (RFC 4648 §3.5).
    'YTpiYh==',
    // The decoded content: no colon, no UTF-8, control characters.
    ...withoutColon.map(encoded),
    bytes([0xff]),
    bytes('alice:wonderland', [0x80]),
    bytes('alice', [0xc0, 0xba], 'wonderland'),
    bytes('al', [0xed, 0xa0, 0x80], 'ice:wonderland'),
    bytes('al', [0xf8, 0x88, 0x80, 0x80, 0x80], 'ice:wonderland'),
    encoded(Buffer.from('alice:wonderland', 'utf16le')),
    encoded(Buffer.from('jos\u00e9:wonderland', 'latin1')),
    ...controls.map((control) => encoded(`${username}${control}:${password}`)),
    ...controls.map((control) => encoded(`${username}:${password}${control}`)),
    // More than 16 KiB.
    encoded(`${username}:${'p'.repeat(13_000)}`),
    'A'.repeat(1_000_000),
  ]
  return ['Basic', 'basic', 'Basic    ', ...spelled('Basic', credentials, pair)]
}

/** Basic headers whose username is not usable: the user service must not be asked for it. */
export function namelessBasic({ username, password }: BasicPair): string[] {
  const names = ['', `:${username}`, 'a'.repeat(1025)]
  return [':', ...names.map((name) => `${name}:${password}`)].map(
    (text) => `Basic ${encoded(text)}`,
  )
}

/** Bearer headers without a good token. */
export function badBearer({ pair: { username, password }, token }: Good): string[] {
  const words = ['x', 'x.y.z', '.', '=', '=a', encoded(`${username}:${password}`), encoded(token)]
  const changed = [`${token}.`, `.${token}`, `${token}~`, `token="${token}"`, token.toUpperCase()]
  changed.push(token.slice(0, -1), token.slice(1), token.replaceAll('.', ' '))
  const long = 'a'.repeat(1_000_000)
  const cut = controls.map((control) => `${token}${control}x`)
  const credentials = [...framed(token, 'Bearer'), ...words, ...changed, long, ...cut]
  return spelled('Bearer', credentials, token)
}

/** Headers of no scheme, or of another one, which count as no credentials. */
export function otherSchemes({ pair: { username, password }, token }: Good): string[] {
  const pair = encoded(`${username}:${password}`)
  const schemes = ['Digest', 'ApiKey', 'Bearers', 'Bearer-', "Bearer'", 'Bearer|', 'Basi', 'Basic2']
  schemes.push('Ba\u017fic', 'Be\u0430rer', '"Basic"', ',Basic', ' Basic', '\tBearer', 'B asic', '')
  const bare = ['Bearer', 'BEARER     ', '', ' ', ',', ':', '\u0000', '__proto__', 'constructor']
  return [
    ...bare,
    token,
    ...schemes.flatMap((scheme) => [`${scheme} ${pair}`, `${scheme} ${token}`]),
    `Digest username="${username}", Basic ${pair}`,
    `Digest username="${username}", Bearer ${token}`,
    `${username}:${password}`,
    `${'x'.repeat(15_000)} ${token}`,
  ]
}
