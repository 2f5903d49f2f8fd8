// program: its own
import crypto from 'node:crypto'
import { createRequire, register } from 'node:module'
import t from 'tap'
import { hashPassword, verifyPassword } from '../../lib/index.js'
import { doctor } from '../../lib/cli/commands/doctor.js'
import { appWith, logLines, secret } from '../helpers/app.js'
import { without } from '../helpers/argon2.js'
import { rejectionOf } from '../helpers/errors.js'
import { login } from '../helpers/load.js'

const peer = createRequire(import.meta.url)('@node-rs/argon2') as typeof import('@node-rs/argon2')
register(without('@node-rs/argon2'))
Object.assign(crypto, { argon2: undefined })

t.test('without an engine, startup fails for argon2id, and says what to install', async (t) => {
  const jwt = { secret }
  const userService = { findByUsername: () => null }
  for (const hashing of [
    { algorithm: 'argon2id' } as const,
    { migrateFrom: [{ algorithm: 'argon2id' }] as const },
  ]) {
    const error = await rejectionOf(appWith(t, { jwt, userService, hashing }))
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /npm install @node-rs\/argon2/ })
  }
  const error = await rejectionOf(hashPassword('wonderland', { algorithm: 'argon2id' }))
  t.match(error, { code: 'ERR_AUTH_OPTION', message: process.versions.node })
  const { json } = (await doctor.run?.({}, [], {} as never)) ?? {}
  const note = { level: 'note', problem: /npm install @node-rs\/argon2/ }
  t.match((json as { findings: unknown[] }).findings.at(-1), note)
})

t.test('a stored argon2 hash is a fault then, and the other users log in', async (t) => {
  const password = await peer.hash('wonderland', { memoryCost: 1024, timeCost: 1 })
  const people: Record<string, string> = {
    alice: password,
    bob: await hashPassword('wonderland', { cost: 4 }),
  }
  const { lines, stream } = logLines()
  const app = await appWith(
    t,
    {
      jwt: { secret },
      hashing: { cost: 4 },
      userService: {
        findByUsername: (name) => ({ name: String(name), password: people[String(name)] ?? null }),
      },
    },
    undefined,
    { logger: { stream } },
  )
  t.equal((await login(app, 'alice', 'wonderland')).statusCode, 500)
  t.match(JSON.stringify(lines), /npm install @node-rs\/argon2.*ERR_AUTH_HASHING/)
  t.notMatch(JSON.stringify(lines), password)
  t.equal((await login(app, 'bob', 'wonderland')).statusCode, 200)
  const error = await rejectionOf(verifyPassword('wonderland', password))
  t.match(error, { code: 'ERR_AUTH_OPTION', message: /npm install @node-rs\/argon2/ })
})
