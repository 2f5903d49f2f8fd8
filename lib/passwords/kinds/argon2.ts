import crypto, { timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { wrongOption } from '../../errors/errors.js'
import { whole } from '../../options/check.js'
import { readPhc, writePhc } from '../phc.js'
import { dummySalt, noStrength, type HashAlgorithmKind, type Strength } from './hash-kind.js'

interface Run extends Strength {
  readonly id: 'argon2id' | 'argon2i'
  readonly password: string
  readonly salt: Buffer
  /** Bytes of the key. */
  readonly length: number
}

interface Engine {
  readonly name: string
  run(run: Run): Promise<Buffer>
}

/** `crypto.argon2` of Node.js 24.7, which the types of older versions lack. */
type NodeArgon2 = (
  id: string,
  parameters: object,
  done: (error: Error | null, key: Buffer) => void,
) => void

let found: Promise<Engine | null> | undefined

/** The optional peer first: it takes less than half of the processor time of Node's own. @returns null for none */
export function findEngine(): Promise<Engine | null> {
  return (found ??= peerEngine()
    .catch(nodeEngine)
    .catch(() => null))
}

async function peerEngine(): Promise<Engine> {
  const { hashRaw } = await import('@node-rs/argon2')
  return {
    name: '@node-rs/argon2',
    run: ({ id, password, salt, length, memory, passes, parallelism }) =>
      hashRaw(Buffer.from(password), {
        algorithm: id === 'argon2id' ? 2 : 1,
        version: 1,
        salt,
        outputLen: length,
        memoryCost: memory,
        timeCost: passes,
        parallelism,
      }),
  }
}

async function nodeEngine(): Promise<Engine> {
  const { argon2 } = crypto as { argon2?: NodeArgon2 }
  if (argon2 === undefined) throw new TypeError('crypto.argon2 is missing')
  const derive = promisify(argon2)
  const run: Engine['run'] = ({ id, password, salt, length, memory, passes, parallelism }) =>
    derive(id, {
      message: password,
      nonce: salt,
      tagLength: length,
      memory,
      passes,
      parallelism,
    })
  // The library that Node.js was built with may lack it.
  await run({ ...noStrength, ...probe })
  return { name: 'crypto.argon2 of Node.js', run }
}

const probe = {
  id: 'argon2id',
  password: 'probe',
  salt: dummySalt,
  length: 16,
  memory: 8,
  passes: 1,
  parallelism: 1,
} as const

/** @throws (rejects) ERR_AUTH_OPTION without an engine */
async function load(): Promise<Engine> {
  const engine = await findEngine()
  return (
    engine ??
    wrongOption(
      `argon2 needs an engine: found Node.js ${process.versions.node} and no package, expected Node.js 24.7 or later with OpenSSL 3.2 or later, or the package @node-rs/argon2. Install it: npm install @node-rs/argon2`,
    )
  )
}

async function derive(run: Run): Promise<Buffer> {
  return (await load()).run(run)
}

const kib = (least: number, most: number) => ({
  ...whole(least, most),
  description: `a whole number from ${least} to ${most} in KiB: 19456 for 19 MiB`,
})

const work = ({ memory, passes }: Strength): number => memory * passes

export const argon2: HashAlgorithmKind = {
  name: 'argon2id',
  members: { memory: kib(1024, 4_194_304), passes: whole(1, 64), parallelism: whole(1, 16) },
  defaults: { ...noStrength, memory: 19_456, passes: 2, parallelism: 1 },
  longest: Infinity,
  load,
  problem: () => null,
  isBelowOwasp: (strength) => strength.memory < 7168 || work(strength) < 35_840,
  parse(text) {
    if (!text.startsWith('$argon2i')) return null
    const phc = readPhc(text)
    if (phc === null || phc.version !== 19) return null
    const { id, salt, key, numbers } = phc
    const { m: memory = 0, t: passes = 0, p: parallelism = 0 } = numbers
    const isValid = parallelism >= 1 && parallelism <= 16 && memory >= 8 * parallelism
    // Node's engine starts threads for several lanes at each pass, which the ceiling of work does not count.
    const isLimited = passes >= 1 && (passes <= 64 || parallelism === 1)
    if ((id !== 'argon2id' && id !== 'argon2i') || !isValid || !isLimited) return null
    if (Object.keys(numbers).length !== 3) return null
    const strength = { ...noStrength, memory, passes, parallelism }
    return { kind: argon2, name: id, text, strength, salt, key }
  },
  memory: ({ memory }) => memory,
  work,
  isWeaker: ({ name, strength }, wanted) =>
    name === 'argon2i' || strength.memory < wanted.memory || work(strength) < work(wanted),
  async matches(password, { name, strength, salt, key }) {
    const run = { ...strength, id: name as Run['id'], password, salt, length: key.length }
    return timingSafeEqual(await derive(run), key)
  },
  async hash(password, wanted) {
    const salt = crypto.randomBytes(16)
    const key = await derive({ ...wanted, id: 'argon2id', password, salt, length: 32 })
    const numbers = { m: wanted.memory, t: wanted.passes, p: wanted.parallelism }
    return writePhc({ id: 'argon2id', version: 19, numbers, salt, key })
  },
  async spend(password, wanted, done) {
    const missing = work(wanted) - (done === null ? 0 : work(done.strength))
    if (missing <= 0) return undefined
    const memory = Math.max(Math.round(missing / wanted.passes), 8 * wanted.parallelism)
    return derive({ ...wanted, memory, id: 'argon2id', password, salt: dummySalt, length: 32 })
  },
  spendMemory: ({ memory }) => memory,
}
