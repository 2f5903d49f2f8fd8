import crypto from 'node:crypto'
import { promisify } from 'node:util'
import { wrongOption } from '../../errors/errors.js'
import { whole } from '../../options/check.js'
import { noStrength, type Strength } from './hash-kind.js'
import { dummySalt, phcKind } from './phc.js'

/** The parameters of `crypto.argon2` of Node.js 24.7, which the types of older versions lack. */
interface Parameters extends Pick<Strength, 'memory' | 'passes' | 'parallelism'> {
  readonly message: string
  readonly nonce: Buffer
  readonly tagLength: number
}
interface Engine {
  readonly name: string
  run(id: string, parameters: Parameters): Promise<Buffer>
}

let found: Promise<Engine | null> | undefined

/** Prefers the optional peer: it takes less than half of the processor time of Node's own. @returns null for none */
export function findEngine(): Promise<Engine | null> {
  return (found ??= peerEngine()
    .catch(nodeEngine)
    .catch(() => null))
}

async function peerEngine(): Promise<Engine> {
  const { hashRaw } = await import('@node-rs/argon2')
  const run: Engine['run'] = (id, { message, nonce, tagLength, memory, passes, parallelism }) => {
    const costs = { memoryCost: memory, timeCost: passes, parallelism }
    const form = { algorithm: id === 'argon2id' ? 2 : 1, version: 1, outputLen: tagLength }
    return hashRaw(Buffer.from(message), { ...form, ...costs, salt: nonce })
  }
  return { name: '@node-rs/argon2', run }
}

async function nodeEngine(): Promise<Engine> {
  const { argon2 } = crypto as unknown as { argon2: () => void }
  const run = promisify<string, Parameters, Buffer>(argon2)
  const probe = { message: 'probe', nonce: dummySalt, tagLength: 16 }
  // The library that Node.js was built with may lack it.
  await run('argon2id', { ...probe, memory: 8, passes: 1, parallelism: 1 })
  return { name: 'crypto.argon2 of Node.js', run }
}

async function load(): Promise<Engine> {
  const missing = `argon2 needs an engine: found Node.js ${process.versions.node} and no package, expected Node.js 24.7 or later with OpenSSL 3.2 or later, or the package @node-rs/argon2. Install it: npm install @node-rs/argon2`
  return (await findEngine()) ?? wrongOption(missing)
}

const work = ({ memory, passes }: Strength): number => memory * passes

export const argon2 = phcKind({
  name: 'argon2id',
  members: {
    memory: whole(1024, 4_194_304, ' in KiB: 19456 for 19 MiB'),
    passes: whole(1, 64),
    parallelism: whole(1, 16),
  },
  defaults: { ...noStrength, memory: 19_456, passes: 2, parallelism: 1 },
  owasp: { memory: 7168, work: 35_840 },
  load,
  ids: ['argon2id', 'argon2i'],
  version: 19,
  read({ m: memory = 0, t: passes = 0, p: parallelism = 0 }) {
    if (parallelism < 1 || parallelism > 16 || memory < 8 * parallelism) return null
    // Node's engine starts threads for several lanes at each pass, which the ceiling of work does not count.
    const isLimited = passes >= 1 && (passes <= 64 || parallelism === 1)
    return isLimited ? { ...noStrength, memory, passes, parallelism } : null
  },
  write: ({ memory, passes, parallelism }) => ({ m: memory, t: passes, p: parallelism }),
  memory: ({ memory }) => memory,
  work,
  missing(wanted, done) {
    const lack = work(wanted) - (done === null ? 0 : work(done.strength))
    if (lack <= 0) return []
    const memory = Math.max(Math.round(lack / wanted.passes), 8 * wanted.parallelism)
    return [{ ...wanted, memory }]
  },
  async derive(id, message, nonce, tagLength, { memory, passes, parallelism }) {
    const { run } = await load()
    return run(id, { message, nonce, tagLength, memory, passes, parallelism })
  },
})
