// Logins beside the engine called by hand, and what one hash of each kind costs: see README.md. Processor time of this process.
import { scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { verify } from '@node-rs/argon2'
import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import { authn, hashPassword, type HashParameters } from '../lib/index.js'
import { numberFlags } from './support/flags.js'
import { median, printTable } from './support/report.js'

const flags = numberFlags({ rounds: 5, logins: 32, once: 4 })
const password = 'correct horse battery staple'

type Kind = readonly [name: string, parameters: HashParameters]
const kinds: readonly Kind[] = [
  ['bcrypt, cost 10', { algorithm: 'bcrypt' }],
  ['argon2id, 19 MiB, 2 passes', { algorithm: 'argon2id' }],
  ['argon2id, 64 MiB, 3 passes', { algorithm: 'argon2id', memory: 65_536, passes: 3 }],
  ['scrypt, N 2^17', { algorithm: 'scrypt' }],
  ['scrypt, N 2^14, p 5', { algorithm: 'scrypt', cost: 14, parallelism: 5 }],
]

async function scryptMatches(stored: string): Promise<boolean> {
  const [, , parameters = '', salt = '', key = ''] = stored.split('$')
  const { ln, r, p } = Object.fromEntries(parameters.split(',').map((each) => each.split('=')))
  const [N, expected] = [2 ** Number(ln), Buffer.from(key, 'base64')]
  const options = { N, r: Number(r), p: Number(p), maxmem: 2 ** 30 }
  const found = await (promisify(scrypt) as (...given: readonly unknown[]) => Promise<Buffer>)(
    password,
    Buffer.from(salt, 'base64'),
    expected.length,
    options,
  )
  return timingSafeEqual(found, expected)
}

const byHand: Readonly<Record<string, (stored: string) => Promise<boolean>>> = {
  bcrypt: (stored) => bcrypt.compare(password, stored),
  argon2id: (stored) => verify(stored, password),
  scrypt: scryptMatches,
}

/** Runs some work so many times, some at once. @returns milliseconds of processor time of one run */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  let left = flags.logins
  const worker = async (): Promise<void> => {
    while ((left -= 1) >= 0) await work()
  }
  await Promise.all(Array.from({ length: flags.once }, worker))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / flags.logins
}

const rows: { name: string; hash: number; share: number }[] = []
for (const [name, parameters] of kinds) {
  const stored = await hashPassword(password, parameters)
  const app = Fastify()
  await app.register(authn, {
    userService: { findByUsername: (username) => ({ name: String(username), password: stored }) },
    jwt: { secret: 'Zk3rT9wYb6Nq1xVf8LmC4sHd7JpGa2Eu' },
    hashing: { ...parameters, maxMemory: 1_048_576 },
    throttle: false,
  })
  const body = { username: 'alice', password }
  const logIn = async (): Promise<void> => {
    const { statusCode } = await app.inject({ method: 'POST', url: '/login', body })
    if (statusCode !== 200) throw new Error(`${name}: ${statusCode}`)
  }
  const engine = async (): Promise<void> => {
    if ((await byHand[parameters.algorithm ?? 'bcrypt']?.(stored)) !== true) throw new Error(name)
  }
  for (const warm of [logIn, engine]) await cost(warm)
  const [hashes, shares]: [number[], number[]] = [[], []]
  for (let round = 0; round < flags.rounds; round += 1) {
    const [hash, login] = [await cost(engine), await cost(logIn)]
    hashes.push(hash)
    shares.push(hash / login)
  }
  rows.push({ name, hash: median(hashes), share: median(shares) })
  await app.close()
}
const unit = rows[0]?.hash ?? NaN
printTable([
  ['one hash by the engine', 'ms of a processor', 'of bcrypt', 'logins, of the engine by hand'],
  ...rows.map(({ name, hash, share }) => [
    name,
    hash.toFixed(1),
    (hash / unit).toFixed(2),
    share.toFixed(2),
  ]),
])
