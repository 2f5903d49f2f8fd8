import { randomBytes, scrypt as run, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import { whole } from '../../options/check.js'
import { readPhc, writePhc } from '../phc.js'
import {
  dummySalt,
  noStrength,
  type HashAlgorithmKind,
  type StoredHash,
  type Strength,
} from './hash-kind.js'

const scryptOf = promisify<string, Buffer, number, ScryptOptions, Buffer>(run)

/** N × r. */
const blocks = ({ cost, blockSize }: Strength): number => 2 ** cost * blockSize
const rounds = (strength: Strength): number => blocks(strength) * strength.parallelism

function derive(
  password: string,
  salt: Buffer,
  length: number,
  strength: Strength,
): Promise<Buffer> {
  const { cost, blockSize, parallelism } = strength
  // The table, one block for each lane and two for the mixing (RFC 7914 §6).
  const maxmem = 128 * blockSize * (2 ** cost + parallelism + 2) + 1024
  return scryptOf(password, salt, length, {
    cost: 2 ** cost,
    blockSize,
    parallelization: parallelism,
    maxmem,
  })
}

/** Under so small a table the work is mostly not that of scrypt's mixing, so such a comparison counts for nothing. */
const leastBlocks = 1024

/** The run that adds to a comparison what it lacks of the wanted work: null for nothing. */
function makeUp(wanted: Strength, done: StoredHash | null): Strength | null {
  if (done === null || blocks(done.strength) < leastBlocks) return wanted
  const missing = rounds(wanted) - rounds(done.strength)
  const parallelism = Math.round(missing / blocks(done.strength))
  return parallelism > 0 ? { ...done.strength, parallelism } : null
}

/** RFC 7914 §2: N is less than 2^(128 × r / 8). */
const isTooLarge = ({ cost, blockSize }: Strength): boolean => cost >= 16 * blockSize

const exponent = {
  ...whole(10, 24),
  description: 'a whole number from 10 to 24, the binary logarithm: 17 for N = 131072',
}

export const scrypt: HashAlgorithmKind = {
  name: 'scrypt',
  members: { cost: exponent, blockSize: whole(1, 64), parallelism: whole(1, 16) },
  defaults: { ...noStrength, cost: 17, blockSize: 8, parallelism: 1 },
  longest: Infinity,
  load: () => Promise.resolve(),
  problem: (strength) =>
    isTooLarge(strength)
      ? `found ${strength.cost} beside blockSize ${strength.blockSize}, expected a cost under 16 × blockSize (RFC 7914 §2). Take a blockSize of 8`
      : null,
  isBelowOwasp: (strength) => blocks(strength) < 2 ** 16 || rounds(strength) < 655_360,
  parse(text) {
    const phc = text.startsWith('$scrypt$') ? readPhc(text) : null
    if (phc === null || phc.version !== 0) return null
    const { salt, key, numbers } = phc
    const { ln, n = 0, r: blockSize = 0, p: parallelism = 0 } = numbers
    const cost = ln ?? Math.round(Math.log2(n))
    const isPower = ln !== undefined || 2 ** cost === n
    if (Object.keys(numbers).length !== 3 || !isPower || !(cost >= 1)) return null
    // As the options: beyond them, OpenSSL takes much more memory than the table that is counted.
    if (blockSize < 1 || blockSize > 64 || parallelism < 1 || parallelism > 16) return null
    const strength = { ...noStrength, cost, blockSize, parallelism }
    if (isTooLarge(strength)) return null
    return { kind: scrypt, name: 'scrypt', text, strength, salt, key }
  },
  memory: (strength) => Math.ceil(blocks(strength) / 8),
  work: (strength) => Math.ceil(rounds(strength) / 4),
  isWeaker: ({ strength }, wanted) =>
    blocks(strength) < blocks(wanted) || rounds(strength) < rounds(wanted),
  async matches(password, { strength, salt, key }) {
    return timingSafeEqual(await derive(password, salt, key.length, strength), key)
  },
  async hash(password, wanted) {
    const salt = randomBytes(16)
    const key = await derive(password, salt, 32, wanted)
    const numbers = { ln: wanted.cost, r: wanted.blockSize, p: wanted.parallelism }
    return writePhc({ id: 'scrypt', version: 0, numbers, salt, key })
  },
  async spend(password, wanted, done) {
    const strength = makeUp(wanted, done)
    return strength === null ? undefined : derive(password, dummySalt, 32, strength)
  },
  spendMemory(wanted, done) {
    const strength = makeUp(wanted, done)
    if (strength === null) return 0
    const lanes = strength.parallelism > 16 ? strength.parallelism * strength.blockSize : 0
    return Math.ceil((blocks(strength) + lanes) / 8)
  },
}
