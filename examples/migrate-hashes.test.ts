import t, { type Test } from 'tap'
import { channels, type RehashEvent } from 'fastify-authn'
import { buildApp, importedRows, type Row } from './migrate-hashes.js'
import { alice, expectAnswer, login, rejection, wrongCredentials } from './support/expected.js'

const { password } = alice

async function setUp(t: Test) {
  const rows = importedRows()
  const app = await buildApp(rows)
  t.teardown(() => app.close())
  return { rows, app, answer: expectAnswer(t, app) }
}

/** The login does not wait until the new hash is stored. */
async function isMoved(row: Row): Promise<boolean> {
  for (let turn = 0; turn < 1000 && !row.password.startsWith('$argon2id$'); turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return row.password.startsWith('$argon2id$v=19$m=19456,t=2,p=1$')
}

t.test('every user logs in, ends on argon2id and logs in again', async (t) => {
  const { rows, app, answer } = await setUp(t)
  const moves: string[] = []
  const listener = ({ from, to }: RehashEvent): unknown => moves.push(`${from} ${to}`)
  channels.rehash.subscribe(listener)
  t.teardown(() => channels.rehash.unsubscribe(listener))
  for (const row of rows) {
    const { id, username } = row
    await login(t, app, '/login', { name: username, password })
    t.ok(await isMoved(row), username)
    const headers = await login(t, app, '/login', { name: username, password })
    await answer({ url: '/me', headers }, 200, { id, username })
  }
  t.strictSame(moves, ['bcrypt argon2id', 'scrypt argon2id', 'other argon2id', 'other argon2id'])
  t.match(app.authn.stats().hashing, { running: 0, waiting: 0, memory: 0, replaced: 4 })
})

t.test('a wrong password is a 401, and moves no one', async (t) => {
  const { rows, answer } = await setUp(t)
  for (const username of [...rows.map((row) => row.username), 'eve']) {
    const payload = { username, password: `${password}!` }
    await answer({ method: 'POST', url: '/login', payload }, 401, wrongCredentials, rejection())
  }
  t.strictSame(rows, importedRows())
})
