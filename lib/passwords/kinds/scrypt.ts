import { scrypt as run, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import { whole } from '../../options/check.js'
import { noStrength, type Strength } from './hash-kind.js'
import { phcKind } from './phc.js'

const scryptOf = promisify<string, Buffer, number, ScryptOptions, Buffer>(run)

const blocks = ({ cost, blockSize }: Strength): number => 2 ** cost * blockSize
const rounds = (strength: Strength): number => blocks(strength) * strength.parallelism

/** RFC 7914 §2: N is less than 2^(128 × r / 8). */
const isTooLarge = ({ cost, blockSize }: Strength): boolean => cost >= 16 * blockSize

/** With fewer blocks, most of the work is not that of scrypt's mixing, so such a comparison counts for nothing. */
const leastBlocks = 1024

export const scrypt = phcKind({
  name: 'scrypt',
  members: {
    cost: whole(10, 24, ', the binary logarithm: 17 for N = 131072'),
    blockSize: whole(1, 64),
    parallelism: whole(1, 16),
  },
  defaults: { ...noStrength, cost: 17, blockSize: 8, parallelism: 1 },
  owasp: { memory: 2 ** 16 / 8, work: 655_360 / 4 },
  load: async () => undefined,
  problem: (strength) =>
    isTooLarge(strength)
      ? `found ${strength.cost} beside blockSize ${strength.blockSize}, expected a cost under 16 × blockSize (RFC 7914 §2). Take a blockSize of 8`
      : null,
  ids: ['scrypt'],
  version: 0,
  read({ ln = 0, n = 2 ** ln, r: blockSize = 0, p: parallelism = 0 }) {
    const cost = Math.round(Math.log2(n))
    if (2 ** cost !== n || cost < 1) return null
    // These are the limits of the options: beyond them, OpenSSL takes much more memory than the table that is counted.
    if (blockSize > 64 || parallelism < 1 || parallelism > 16) return null
    const strength = { ...noStrength, cost, blockSize, parallelism }
    return isTooLarge(strength) ? null : strength
  },
  write: ({ cost, blockSize, parallelism }) => ({ ln: cost, r: blockSize, p: parallelism }),
  // Only the work that a comparison lacks, which `missing` computes, has more lanes than the options allow.
  memory(strength) {
    const { blockSize, parallelism } = strength
    return Math.ceil((blocks(strength) + (parallelism > 16 ? parallelism * blockSize : 0)) / 8)
  },
  work: (strength) => rounds(strength) / 4,
  missing(wanted, done) {
    if (done === null || blocks(done.strength) < leastBlocks) return [wanted]
    const lack = rounds(wanted) - rounds(done.strength)
    const parallelism = Math.round(lack / blocks(done.strength))
    return parallelism > 0 ? [{ ...done.strength, parallelism }] : []
  },
  derive(_, password, salt, length, { cost, blockSize, parallelism }) {
    // The table, one block for each lane and two for the mixing (RFC 7914 §6).
    const maxmem = 128 * blockSize * (2 ** cost + parallelism + 2) + 1024
    const numbers = { cost: 2 ** cost, blockSize, parallelization: parallelism }
    return scryptOf(password, salt, length, { ...numbers, maxmem })
  },
})
