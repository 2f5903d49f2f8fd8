// program: its own, in npm run test:all
// Second factors in PostgreSQL, which two processes share, without Redis.
import t from 'tap'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { hash, password } from '../helpers/accounts.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { startProcess } from '../helpers/processes.js'
import { unlessFound } from '../helpers/programs.js'
import {
  answerOf,
  bodyOf,
  codeNow,
  email,
  factorsTable,
  key,
  otherKey,
  sessionOf,
  wrongCode,
} from '../helpers/second-factor.js'

const login = '/login/second-factor'
const invalid = '403 ERR_AUTH_CODE_INVALID'
const tokens = '200 tokens'
const skip = unlessFound('PostgreSQL')

/** The time at which a step begins, or at least one second before another one does. */
async function awaitStep(): Promise<void> {
  const left = 30_000 - (Date.now() % 30_000)
  if (left < 10_000) await new Promise((resolve) => setTimeout(resolve, left + 50))
}

t.test('codes, guesses and logouts over two processes', { skip }, async (t) => {
  const postgres = await postgresServer(t)
  const pool = postgres.pool()
  await pool.query(factorsTable)
  await pool.query(sqlSchema('shop'))
  await pool.query('insert into users (email, password) values ($1, $2)', [email, hash])
  const start = async (keys = key) => {
    const env = { TEST_DATABASE: postgres.url, TEST_KEYS: keys }
    return (await startProcess(t, 'second-factor-process', env)).post
  }
  const [one, other] = await Promise.all([start(), start()])
  const own = sessionOf(await one('/login', { email, password }))
  const { secret, token: setup } = JSON.parse(
    (await one('/second-factor/setup', {}, own)).body,
  ) as {
    secret: string
    token: string
  }
  await awaitStep()
  const body = { token: setup, code: codeNow(secret, -1) }
  const { recoveryCodes } = bodyOf(await other('/second-factor/enable', body, own))
  const half = async (): Promise<string> =>
    bodyOf(await one('/login', { email, password })).secondFactor.token
  const token = await half()
  const atOnce = async (count: number, code: string): Promise<string[]> => {
    const all = Array.from({ length: count }, (_, index) =>
      (index % 2 ? one : other)(login, { token, code }),
    )
    return (await Promise.all(all)).map(answerOf)
  }
  const winners = async (code: string): Promise<number> =>
    (await atOnce(20, code)).filter((each) => each === tokens).length
  t.equal(await winners(codeNow(secret)), 1, 'one code')
  for (const code of recoveryCodes.slice(0, 3)) t.equal(await winners(code), 1, 'a recovery code')
  const revoked = await half()
  t.equal((await other('/everywhere')).statusCode, 200)
  const late = { token: revoked, code: recoveryCodes[3] }
  t.equal(answerOf(await one(login, late)), '401 ERR_AUTH_INVALID_CREDENTIALS')
  const guesses = await atOnce(40, wrongCode(secret))
  t.ok(guesses.filter((each) => each === invalid).length <= 5, guesses.join())
  t.notOk(guesses.includes(tokens))
  const rotated = await start(`${otherKey} ${key}`)
  const next = { token: await half(), code: recoveryCodes[4] }
  t.equal(answerOf(await rotated(login, next)), tokens)
  const old = { token: next.token, code: recoveryCodes[5] }
  t.equal(answerOf(await one(login, old)), '500 ERR_AUTH_SECOND_FACTOR', 'without the new key')
})
