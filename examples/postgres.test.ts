import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { buildApp, createPool, schema } from './postgres.js'
import { startPostgres } from './support/embedded-postgres.js'
import {
  alice,
  bearer,
  expectAnswer,
  login,
  noCredentials,
  rejection,
  tokenChallenge,
  welcome,
  wrongCredentials,
} from './support/expected.js'

const url = '/me'
const stored = { id: 1, username: 'Alice' }

async function setUp(t: Test) {
  const server = await startPostgres()
  t.teardown(() => server.close())
  const pool = createPool(server.connectionString, 30_000)
  await pool.query(schema)
  const insert = 'insert into users (username, password) values ($1, $2)'
  await pool.query(insert, ['Alice', await hashPassword(alice.password, { cost: 4 })])
  const app = await buildApp(pool, 30)
  t.teardown(() => app.close())
  return { pool, app, insert, answer: expectAnswer(t, app) }
}

t.test('users log in from a database', async (t) => {
  const { pool, app, insert, answer } = await setUp(t)

  await t.test('a login works in any case of the name', async (t) => {
    for (const name of ['alice', 'Alice', 'ALICE']) {
      const headers = await login(t, app, '/login', { ...alice, name })
      await answer({ url, headers }, 200, stored, welcome)
      const [, payload = ''] = headers.authorization.split('.')
      t.match(JSON.parse(Buffer.from(payload, 'base64url').toString()), { sub: 'Alice' })
    }
  })

  await t.test('a second user with the same name is rejected by the table', async (t) => {
    await t.rejects(pool.query(insert, ['aLICE', '']), { code: '23505' })
  })

  await t.test('the look-up uses an index', async (t) => {
    const client = await pool.connect()
    t.teardown(() => client.release())
    await client.query('set enable_seqscan = off')
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      "explain select id from users where lower(username) = lower('alice')",
    )
    t.match(rows.map((row) => row['QUERY PLAN']).join('\n'), 'users_username')
  })

  await t.test('missing and wrong credentials get a 401', async () => {
    await answer({ url }, 401, noCredentials, rejection())
    for (const username of ["' or 1 = 1 --", '%', 'alice\u00a0', '\u{1f469}', 'a'.repeat(1024)]) {
      const payload = { username, password: alice.password }
      await answer({ method: 'POST', url: '/login', payload }, 401, wrongCredentials, rejection())
    }
    const notAccepted = rejection(tokenChallenge('The token is not accepted'))
    for (const id of ["' or 1 = 1 --", 1]) {
      const headers = bearer(app.jwtService.generateToken(id))
      await answer({ url, headers }, 401, wrongCredentials, notAccepted)
    }
  })

  await t.test('a login replaces a weak hash', async (t) => {
    const passwordOf = async (): Promise<string> => {
      const { rows } = await pool.query<{ password: string }>('select password from users')
      return rows[0]?.password ?? ''
    }
    for (let turn = 0; turn < 1000 && (await passwordOf()).startsWith('$2b$04$'); turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    t.match(await passwordOf(), /^\$2b\$10\$/)
  })
})

t.test('a database that does not answer gives a 503', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    // The pool gives up.
    socket.on('error', () => undefined)
  })
  const connectionString = await listen(t, silent)
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const app = await buildApp(createPool(connectionString, 400), 0.1)
  t.teardown(() => app.close())
  const headers = bearer(app.jwtService.generateToken('alice'))
  const busy = { error: 'The server is busy. Please try again later.' }
  const wait = {
    'retry-after': /^\d+$/,
    'cache-control': 'no-store',
    'www-authenticate': undefined,
  }
  await expectAnswer(t, app)({ url, headers }, 503, busy, wait)
})

t.test('a database that is down gives a 500, not a 401', async (t) => {
  const server = createServer()
  const connectionString = await listen(t, server)
  await new Promise((resolve) => server.close(resolve))
  const app = await buildApp(createPool(connectionString, 30_000), 30)
  t.teardown(() => app.close())
  const headers = bearer(app.jwtService.generateToken('alice'))
  const fault = {
    statusCode: 500,
    code: 'ERR_AUTH_USER_SERVICE',
    error: 'Internal Server Error',
    message: 'The request could not be authenticated because of an internal error.',
  }
  await expectAnswer(t, app)({ url, headers }, 500, fault, welcome)
})

async function listen(t: Test, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}
