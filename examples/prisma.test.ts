import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { accounts, buildApp } from './prisma.js'
import { createPrismaClient } from './support/prisma-client.js'
import {
  alice,
  bearer,
  bob,
  expectAnswer,
  login,
  rejection,
  tokenChallenge,
  welcome,
  wrongCredentials,
  wrongToken,
} from './support/expected.js'

const url = '/me'

async function setUp(t: Test) {
  const rows = await Promise.all(
    [alice, bob].map(async ({ name, password }, index) => ({
      id: index + 1,
      username: name,
      // Weaker than new hashes are.
      password: await hashPassword(password, { cost: 4 }),
    })),
  )
  const prisma = createPrismaClient(rows)
  const app = await buildApp(prisma)
  t.teardown(() => app.close())
  return { app, rows, queries: prisma.queries, answer: expectAnswer(t, app) }
}

t.test('the password is read for a login, and not for a token', async (t) => {
  const { app, queries, answer } = await setUp(t)
  const headers = await login(t, app, '/login', bob)
  const where = { username: 'bob' }
  const stored = { where, select: ['id', 'username', 'password'] }
  // Again before a weak hash is replaced.
  t.strictSame(queries.splice(0), [stored, stored])
  await answer({ url, headers }, 200, { id: 2, username: 'bob' }, welcome)
  t.strictSame(queries, [{ where, select: ['id', 'username'] }])
})

t.test('the token of an unknown user or of a number gets a 401', async (t) => {
  const { app, queries, answer } = await setUp(t)
  const notAccepted = rejection(tokenChallenge('The token is not accepted'))
  const gone = bearer(app.jwtService.generateToken('carol'))
  await answer({ url, headers: gone }, 401, wrongCredentials, notAccepted)
  t.strictSame(queries.splice(0), [{ where: { username: 'carol' }, select: ['id', 'username'] }])
  // The real client throws at a number where a string belongs.
  const numbered = bearer(app.jwtService.generateToken(1))
  await answer({ url, headers: numbered }, 401, wrongCredentials, notAccepted)
  t.strictSame(queries, [], 'not asked')
})

t.test('a token without a name gets a 401, and not the first user of the table', async (t) => {
  const { app, queries, answer } = await setUp(t)
  const nameless = bearer(app.jwtService.generateTokenWithClaims({ role: 'admin' }))
  const headers = rejection(tokenChallenge('The token is invalid'))
  await answer({ url, headers: nameless }, 401, wrongToken, headers)
  t.strictSame(queries, [], 'not asked')
})

t.test('a weak hash is replaced after a login', async (t) => {
  const { app, rows } = await setUp(t)
  await login(t, app, '/login', alice)
  for (let turn = 0; turn < 1000 && rows[0]?.password.startsWith('$2b$04$'); turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  t.match(rows[0]?.password, /^\$2b\$10\$/)
  await login(t, app, '/login', alice)
})

t.test('a new hash is stored only if the previous one is still there', async (t) => {
  const row = { id: 1, username: 'alice', password: 'changed meanwhile' }
  const { updatePasswordHash } = accounts(createPrismaClient([row]))
  await updatePasswordHash?.(row, 'new', 'previous')
  t.equal(row.password, 'changed meanwhile')
  await updatePasswordHash?.(row, 'new', 'changed meanwhile')
  t.equal(row.password, 'new')
})
