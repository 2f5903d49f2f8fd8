/** A hash in the PHC string format: `$id$v=19$name=number,…$salt$key`. */
export interface Phc {
  readonly id: string
  /** 0 for none. */
  readonly version: number
  readonly numbers: Readonly<Record<string, number>>
  readonly salt: Buffer
  readonly key: Buffer
}

const number = '(?:0|[1-9]\\d{0,9})'
const shape = new RegExp(
  `^\\$([a-z0-9]{1,16})(?:\\$v=([1-9]\\d{0,9}))?\\$([a-z]{1,2}=${number}(?:,[a-z]{1,2}=${number}){0,3})\\$([A-Za-z0-9+/]{1,86})\\$([A-Za-z0-9+/]{1,86})$`,
)

/**
 * Reads a hash in any order of its numbers, each of which has to be there once.
 *
 * @returns null for any other text; for a salt under 8 or over 64 bytes; for a key under 16 bytes, of which one of a
 * single byte would let every 256th password in, or over 64
 */
export function readPhc(text: string): Phc | null {
  const [, id, version = '0', pairs, saltText, keyText] = shape.exec(text) ?? []
  if (id === undefined) return null
  const entries = String(pairs)
    .split(',')
    .map((pair) => pair.split('='))
  const numbers = new Map(entries.map(([name, value]) => [String(name), Number(value)]))
  const [salt, key] = [bytesOf(String(saltText), 8), bytesOf(String(keyText), 16)]
  if (numbers.size !== entries.length || salt === null || key === null) return null
  return { id, version: Number(version), numbers: Object.fromEntries(numbers), salt, key }
}

/** @returns null for text that no encoder writes, since two texts would otherwise mean the same key */
function bytesOf(text: string, least: number): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length >= least && bytes.length <= 64 && bare(bytes) === text ? bytes : null
}

function bare(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

export function writePhc({ id, version, numbers, salt, key }: Phc): string {
  const pairs = Object.entries(numbers).map(([name, value]) => `${name}=${value}`)
  return `$${id}${version === 0 ? '' : `$v=${version}`}$${pairs.join(',')}$${bare(salt)}$${bare(key)}`
}
