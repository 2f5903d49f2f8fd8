import { whole } from '../../options/check.js'
import { noBytes, noStrength, type HashAlgorithmKind } from './hash-kind.js'

/** bcrypt uses this many bytes of a password and ignores the rest. */
export const longestPassword = 72

let engine: typeof import('bcrypt') | undefined

/** On demand: an app without bcrypt hashes loads no native module. */
async function load(): Promise<typeof import('bcrypt')> {
  return (engine ??= (await import('bcrypt')).default)
}

/** A hash whose comparison takes the work of a cost. */
export function dummyHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'fastify-authn'.replace('-', '.').repeat(5).slice(0, 53)}`
}

/** bcrypt knows `$2a$` and `$2b$`; the `$2y$` of PHP differs in name only. */
async function compare(password: string, hash: string): Promise<boolean> {
  return (await load()).compare(password, hash.replace(/^\$2y/, '$2b'))
}

/** `$2b$` (`$2y$` of PHP), two digits of cost, 22 characters of salt, 31 of digest. */
const shape = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/

export const bcrypt: HashAlgorithmKind = {
  name: 'bcrypt',
  members: { cost: whole(4, 31) },
  defaults: { ...noStrength, cost: 10 },
  longest: longestPassword,
  load,
  problem: () => null,
  isBelowOwasp: ({ cost }) => cost < 10,
  parse(text) {
    const cost = text.length === 60 ? shape.exec(text)?.[1] : undefined
    if (cost === undefined) return null
    const strength = { ...noStrength, cost: Number(cost) }
    return { kind: bcrypt, name: 'bcrypt', text, strength, salt: noBytes, key: noBytes }
  },
  memory: () => 0,
  work: ({ cost }) => 2 ** cost,
  isWeaker: ({ strength }, { cost }) => strength.cost < cost,
  matches: (password, { text }) => compare(password, text),
  hash: async (password, { cost }) => (await load()).hash(password, cost),
  /**
   * After a comparison of cost `from`, comparisons of the costs `from` to `to - 1`, since 2^from + 2^from + 2^(from + 1) +
   * … + 2^(to - 1) = 2^to.
   */
  async spend(password, { cost: to }, done) {
    if (done === null) return compare(password, dummyHash(to))
    for (let { cost } = done.strength; cost < to; cost += 1) {
      await compare(password, dummyHash(cost))
    }
    return undefined
  },
  spendMemory: () => 0,
}
