// program: its own
import crypto from 'node:crypto'
import { createRequire, register } from 'node:module'
import Fastify from 'fastify'
import t from 'tap'
import authn, { hashPassword, verifyPassword } from '../../lib/index.js'
import { without } from '../helpers/argon2.js'
import { rejectionOf } from '../helpers/errors.js'

const peer = createRequire(import.meta.url)('@node-rs/argon2') as typeof import('@node-rs/argon2')
register(without('@node-rs/argon2', 'bcrypt'))
const small = { algorithm: 'argon2id', memory: 1024, passes: 1 } as const

interface Parameters {
  readonly message: string
  readonly nonce: Buffer
  readonly tagLength: number
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

/** What Node.js 24.7 has, for older versions. */
function argon2(id: string, given: Parameters, done: (error: null, key: Buffer) => void): void {
  const { message, nonce: salt, tagLength: outputLen, memory, passes, parallelism } = given
  const algorithm = id === 'argon2id' ? 2 : 1
  const costs = { memoryCost: memory, timeCost: passes, parallelism }
  const run = async (): Promise<void> =>
    done(null, await peer.hashRaw(message, { algorithm, version: 1, salt, outputLen, ...costs }))
  void run()
}

t.test('without the peer, crypto.argon2 of Node.js makes the same hashes', async (t) => {
  Object.assign(crypto, { argon2: (crypto as { argon2?: unknown }).argon2 ?? argon2 })
  for (const password of ['wonderland', 'pässword', '\0', '\ud800', 'x'.repeat(512)]) {
    const stored = await hashPassword(password, small)
    t.equal(await peer.verify(stored, Buffer.from(password)), true)
    t.equal(await verifyPassword(password, stored), true)
    t.equal(await verifyPassword(`!${password.slice(1)}`, stored), false)
  }
  const ofPhp = await peer.hash('wonderland', { algorithm: 1, memoryCost: 64, timeCost: 3 })
  t.match(ofPhp, /^\$argon2i\$/)
  t.equal(await verifyPassword('wonderland', ofPhp), true)
})

t.test('without the package bcrypt, errors say what to install', async (t) => {
  const stored = `$2b$04$${'a'.repeat(53)}`
  const userService = { findByUsername: () => ({ password: stored }) }
  const options = { userService, jwt: { secret: 'test-secret-test-secret-test-sec' } }
  const lines: string[] = []
  const logger = { stream: { write: (line: string) => void lines.push(line) } }
  const [app, other] = [Fastify(), Fastify({ logger })]
  t.teardown(() => Promise.all([app.close(), other.close()]))
  for (const work of [
    () => hashPassword('wonderland'),
    () => verifyPassword('wonderland', stored),
    async () => app.register(authn, options),
  ]) {
    const error = await rejectionOf(work())
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /npm install bcrypt/ })
    t.match(error.error.cause, { message: 'not installed' })
  }
  await other.register(authn, { ...options, hashing: { algorithm: 'scrypt', cost: 10 } })
  const payload = { username: 'alice', password: 'wonderland' }
  const response = await other.inject({ method: 'POST', url: '/login', payload })
  t.strictSame([response.statusCode, /bcrypt/.test(response.body)], [500, false])
  t.match(lines.join(''), /npm install bcrypt/)
})
