import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { HashAlgorithmKind, StoredHash, Strength } from './hash-kind.js'

/** A hash in the PHC string format: `$id$v=19$name=number,…$salt$key`. */
interface Phc {
  readonly id: string
  /** 0 for none. */
  readonly version: number
  readonly numbers: Readonly<Record<string, number>>
  readonly salt: Buffer
  readonly key: Buffer
}

const pair = '[a-z]{1,2}=(?:0|[1-9]\\d{0,9})'
const base64 = '([A-Za-z0-9+/]{1,86})'
const shape = new RegExp(
  `^\\$([a-z0-9]{1,16})(?:\\$v=([1-9]\\d{0,9}))?\\$(${pair}(?:,${pair}){2})\\$${base64}\\$${base64}$`,
)

/** Reads a hash, with its numbers in any order. A key of a single byte would let every 256th password in. */
function readPhc(text: string): Phc | null {
  const [, id, version = '0', pairs = '', saltText = '', keyText = ''] = shape.exec(text) ?? []
  if (id === undefined) return null
  const entries = pairs.split(',').map((each) => each.split('='))
  const numbers = Object.fromEntries(entries.map(([name = '', value]) => [name, Number(value)]))
  const [salt, key] = [bytesOf(saltText, 8), bytesOf(keyText, 16)]
  if (Object.keys(numbers).length < entries.length || salt === null || key === null) return null
  return { id, version: Number(version), numbers, salt, key }
}

/** @returns null for text that no encoder writes, since two texts would otherwise mean the same key */
function bytesOf(text: string, least: number): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length >= least && bytes.length <= 64 && bare(bytes) === text ? bytes : null
}

const bare = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')

function writePhc({ id, version, numbers, salt, key }: Phc): string {
  const pairs = Object.entries(numbers).map(([name, value]) => `${name}=${value}`)
  return `$${id}${version === 0 ? '' : `$v=${version}`}$${pairs.join(',')}$${bare(salt)}$${bare(key)}`
}

export const dummySalt: Buffer = Buffer.from('fastify-authn---')

interface PhcAlgorithm extends Omit<
  HashAlgorithmKind,
  'longest' | 'parse' | 'matches' | 'spend' | 'hash'
> {
  readonly ids: readonly string[]
  readonly version: number
  read(numbers: Partial<Phc['numbers']>): Strength | null
  write(strength: Strength): Phc['numbers']
  /** @param length - bytes of the key */
  derive(
    id: string,
    password: string,
    salt: Buffer,
    length: number,
    strength: Strength,
  ): Promise<Buffer>
}

export function phcKind(algorithm: PhcAlgorithm): HashAlgorithmKind {
  const { name, ids, version, derive } = algorithm
  const kind: HashAlgorithmKind = {
    ...algorithm,
    longest: Infinity,
    parse(text) {
      const phc = readPhc(text)
      if (phc === null || phc.version !== version || !ids.includes(phc.id)) return null
      const strength = algorithm.read(phc.numbers)
      return strength && { kind, name: phc.id as StoredHash['name'], text, strength }
    },
    async matches(password, { text, strength }) {
      const { id, salt, key } = readPhc(text) as Phc
      return timingSafeEqual(await derive(id, password, salt, key.length, strength), key)
    },
    async hash(password, strength) {
      const salt = randomBytes(16)
      const key = await derive(name, password, salt, 32, strength)
      return writePhc({ id: name, version, numbers: algorithm.write(strength), salt, key })
    },
    spend: (password, strength) => derive(name, password, dummySalt, 32, strength),
  }
  return kind
}
