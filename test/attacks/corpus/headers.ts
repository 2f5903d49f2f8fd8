import type { BasicPair } from '../../../lib/http/authorization.js'

/** Good credentials, from which the attacks are made by small changes. */
export interface Good {
  readonly pair: BasicPair
  readonly token: string
}

const encoded = (bytes: string | Buffer): string => Buffer.from(bytes as string).toString('base64')
const bytes = (...parts: (string | number[])[]): string =>
  encoded(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).concat('\u007f')
const separators = Array.from('\t,:=;"/\u00a0\u2003\u0000\n\u000b')

const words = ['null', 'undefined', '__proto__', 'constructor', '[object Object]', '0', '{}']
/** Texts that programs take for nothing, for a value of their own, for a path or for a query. */
const oddTexts = [...words, '*', '%00', '../../etc/passwd', '{"$ne":1}', "' OR '1'='1"]

/** Credentials with something before or after them that no grammar allows. */
function framed(text: string, scheme: string): string[] {
  return [
    `${text} `,
    `${text}\t`,
    ` \t${text}`,
    `${text},`,
    `${text}, ${scheme} ${text}`,
    `${text} ${text}`,
    `${scheme} ${text}`,
    `${scheme.toLowerCase()},${text}`,
    `"${text}"`,
    `${text}\u0000`,
    `${text}\u00e9`,
    `\ufeff${text}`,
    `${text}=`,
    `${text}==`,
  ]
}

/** Basic headers that RFC 7617 does not allow. */
export function malformedBasic({ username, password }: BasicPair): string[] {
  const pair = encoded(`${username}:${password}`)
  const unpadded = pair.replace(/=+$/, '')
  const credentials = [
    ...framed(pair, 'Basic'),
    `${pair}, ${pair}`,
    `${pair}, Bearer x.y.z`,
    `realm="x", ${pair}`,
    `${pair}, charset="UTF-8"`,
    `${username}:${password}`,
    `${encoded(username)}:${encoded(password)}`,
    // Base64.
    ...(unpadded === pair ? [] : [unpadded]),
    ...(pair.endsWith('==') ? [`${unpadded}=`] : []),
    `${pair}===`,
    `=${pair}`,
    `${pair.slice(0, 8)}=${pair.slice(8)}`,
    `${pair.slice(0, 8)}====${pair.slice(8)}`,
    `${pair}${pair}`,
    pair.slice(0, -3),
    pair.slice(1),
    `${pair.slice(0, 8)} ${pair.slice(8)}`,
    `${pair.slice(0, 8)}\n${pair.slice(8)}`,
    `${pair.slice(0, 8)}\r\n ${pair.slice(8)}`,
    `${pair.slice(0, 8)}-${pair.slice(9)}`,
    `${pair.slice(0, 8)}_${pair.slice(9)}`,
    `${pair.slice(0, 8)}!${pair.slice(8)}`,
    `\uff21${pair.slice(1)}`,
    `${pair}\ufeff`,
    ...(unpadded === pair ? [] : [pair.replace('=', '%3D')]),
    '=',
    '==',
    'A',
    'AA',
    ...oddTexts,
    Buffer.from('alice:\u00ff\u00fe?>~').toString('base64url'),
    // Unused bits that are not zero (RFC 4648 §3.5).
    'YTpiYh==',
    'YTp=',
    // The decoded content.
    encoded('alice'),
    encoded('alicewonderland'),
    encoded('alice%3Awonderland'),
    encoded('alice\uff1awonderland'),
    encoded(' '),
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
    ...controls.map((control) => encoded(`${username}${control}:${password}`)),
    ...controls.map((control) => encoded(`${username}:${password}${control}`)),
    ...controls.slice(0, 3).map((control) => encoded(`${control}${username}:${password}`)),
    // Size.
    'A'.repeat(15_001),
    encoded('a'.repeat(12_000)),
    'A'.repeat(1_000_001),
  ]
  return [
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
}

/** Basic headers whose username is not usable: the user service must not be asked for it. */
export function namelessBasic({ username, password }: BasicPair): string[] {
  const texts = [
    `:${password}`,
    ':',
    '::',
    `:${username}:${password}`,
    `${'a'.repeat(1025)}:${password}`,
  ]
  return texts.map((text) => `Basic ${encoded(text)}`)
}

/** Wrong pairs of a name and a password. */
export function wrongPairs({ username, password }: BasicPair): [string, string][] {
  return [
    [username, ''],
    [username, ' '],
    [username, ` ${password}`],
    [username, `${password} `],
    [username, password.toUpperCase()],
    [username, password.slice(0, -1)],
    [username, `${password}x`],
    [username, `${password.slice(0, -1)}\u043e`],
    [username, `${password}\u00a0`],
    ...oddTexts.map((text): [string, string] => [username, text]),
    // RFC 7617 §2: a name holds no colon.
    ...oddTexts.filter((text) => !text.includes(':')).map((text): [string, string] => [text, 'x']),
    [username, password.padEnd(73, 'x')],
    [username, 'p'.repeat(11_000)],
    [`${username}'--`, 'x'],
    ['\u00e4\u00f6\u00fc', 'x'],
    [`\u202e${username}`, 'x'],
    ['\u0085', 'x'],
    ['a'.repeat(1024), 'x'],
  ]
}

/** Well-formed Basic headers with a wrong username or password. */
export function wrongBasic(pair: BasicPair): string[] {
  return wrongPairs(pair).map((parts) => `Basic ${encoded(parts.join(':'))}`)
}

/** Bearer headers without a good token. */
export function badBearer({ pair: { username, password }, token }: Good): string[] {
  const pair = encoded(`${username}:${password}`)
  const credentials = [
    ...framed(token, 'Bearer'),
    'x',
    'x.y.z',
    '.',
    '=',
    '=a',
    ...oddTexts,
    pair,
    `${token},${token}`,
    `token=${token}`,
    `token="${token}"`,
    `${token}\n`,
    `${token}\r\nX: y`,
    `${token}.`,
    `.${token}`,
    `${token}~`,
    encoded(token),
    token.replaceAll('.', ' '),
    token.toUpperCase(),
    token.slice(0, -1),
    token.slice(1),
    encodeURIComponent(`${token}:`),
    'a'.repeat(15_000),
    `${'a'.repeat(15_000)}!`,
    'a'.repeat(1_000_000),
    ...controls.map((control) => `${token}${control}x`),
  ]
  return [
    ...credentials.map((text) => `Bearer ${text}`),
    ...credentials.slice(0, 20).map((text) => `bEARER   ${text}`),
    ...separators.map((separator) => `Bearer${separator}${token}`),
    ...separators.map((separator) => `Bearer${separator} ${token}`),
  ]
}

/** Headers of no scheme, or of another one, which count as no credentials. */
export function otherSchemes({ pair: { username, password }, token }: Good): string[] {
  const pair = encoded(`${username}:${password}`)
  const schemes = [
    'Digest',
    'Token',
    'JWT',
    'ApiKey',
    'Bearers',
    'Bearer-',
    'Basics',
    'XBasic',
    'Basi',
    'Ba\u017fic',
    'Be\u0430rer',
    '"Basic"',
    '(Basic)',
    ',Basic',
    '=Basic',
    ' Basic',
    '\tBearer',
    '\u00a0Basic',
    '\ufeffBearer',
    'B asic',
    'Bear\u0000er',
    '',
  ]
  const bare = ['', ' ', '\t', ',', ':', '=', '\u0000', '__proto__', 'constructor', 'null', token]
  return [
    ...new Set([
      'Bearer',
      'Bearer ',
      'BEARER     ',
      ...bare,
      ...schemes.flatMap((scheme) => [`${scheme} ${pair}`, `${scheme} ${token}`]),
      `Digest username="${username}", Basic ${pair}`,
      `Digest username="${username}", Bearer ${token}`,
      `${username}:${password}`,
      `${'x'.repeat(15_000)} ${token}`,
    ]),
  ]
}
