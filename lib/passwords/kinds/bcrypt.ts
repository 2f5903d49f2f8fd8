import { wrongOption } from '../../errors/errors.js'
import { whole } from '../../options/check.js'
import { noStrength, type HashAlgorithmKind } from './hash-kind.js'

let engine: typeof import('bcrypt') | undefined

const missing =
  'the package bcrypt could not be loaded, although hashes of bcrypt need it. Install it: npm install bcrypt. If it is there, its native module does not fit this machine: npm rebuild bcrypt'

/** Loads the native module only when a hash of bcrypt needs it. @throws (rejects) ERR_AUTH_OPTION without it */
async function load(): Promise<typeof import('bcrypt')> {
  const fail = (error: unknown): never => wrongOption(missing, error)
  return (engine ??= (await import('bcrypt').catch(fail)).default)
}

function dummyHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'fastify.authn'.repeat(5).slice(0, 53)}`
}

/** bcrypt knows `$2a$` and `$2b$`; the `$2y$` of PHP differs in name only. */
async function compare(password: string, hash: string): Promise<boolean> {
  return (await load()).compare(password, hash.replace(/^\$2y/, '$2b'))
}

/** Two digits of cost, 22 characters of salt, 31 of digest. */
const shape = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/

export const bcrypt: HashAlgorithmKind = {
  name: 'bcrypt',
  members: { cost: whole(4, 31) },
  defaults: { ...noStrength, cost: 10 },
  owasp: { memory: 0, work: 2 ** 10 },
  longest: 72,
  load,
  parse(text) {
    const [, cost] = shape.exec(text) ?? []
    if (cost === undefined) return null
    return { kind: bcrypt, name: 'bcrypt', text, strength: { ...noStrength, cost: Number(cost) } }
  },
  memory: () => 0,
  work: ({ cost }) => 2 ** cost,
  matches: (password, { text }) => compare(password, text),
  hash: async (password, { cost }) => (await load()).hash(password, cost),
  /** A comparison of cost `from` lacks the costs `from` to `to - 1`: 2^from + 2^from + … + 2^(to - 1) = 2^to. */
  missing(wanted, done) {
    if (done === null) return [wanted]
    const { cost: from } = done.strength
    const steps = Array.from({ length: Math.max(0, wanted.cost - from) }, (_, step) => from + step)
    return steps.map((cost) => ({ ...noStrength, cost }))
  },
  spend: (password, { cost }) => compare(password, dummyHash(cost)),
}
