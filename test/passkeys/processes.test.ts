// program: its own, in npm run test:all
// Passkeys in PostgreSQL, with two processes that know nothing of each other but the table.
import t from 'tap'
import { answerOf, sessionOf } from '../helpers/client.js'
import { browser, type Asked } from '../helpers/passkeys.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { startProcess } from '../helpers/processes.js'
import { unlessFound } from '../helpers/programs.js'

const skip = unlessFound('PostgreSQL')

t.test('a response works once in two processes', { skip }, async (t) => {
  const postgres = await postgresServer(t)
  const pool = postgres.pool()
  await pool.query('create table passkeys (id text primary key, owner bigint, data jsonb)')
  const start = async () =>
    (await startProcess(t, 'passkeys-process', { TEST_DATABASE: postgres.url })).post
  const [one, other] = await Promise.all([start(), start()])
  const ask = async (post: typeof one, path: string, headers = {}): Promise<Asked> =>
    JSON.parse((await post(path, {}, headers)).body) as Asked
  const headers = sessionOf(await one('/begin', { id: 1 }))
  const twenty = async (body: object): Promise<string[]> => {
    const posts = Array.from({ length: 20 }, (_, at) =>
      (at % 2 ? one : other)('/login/passkey', body),
    )
    return (await Promise.all(posts)).map(answerOf).toSorted()
  }
  const rejected = Array<string>(19).fill('403 ERR_AUTH_PASSKEY_INVALID')
  const passkey = browser()
  const early = await ask(one, '/login/passkey/options')
  const { token, publicKey } = await ask(one, '/passkeys/options', headers)
  const body = { token, response: passkey.create(publicKey) }
  const added = await Promise.all(Array.from({ length: 20 }, () => one('/passkeys', body, headers)))
  t.equal(added.filter(({ statusCode }) => statusCode === 201).length, 1)
  t.equal(added.filter(({ statusCode }) => statusCode === 403).length, 19)
  t.equal((await pool.query('select id from passkeys')).rowCount, 1)
  const old = { token: early.token, response: passkey.get(early.publicKey) }
  t.equal(answerOf(await other('/login/passkey', old)), '200 tokens', 'older than the passkey')
  t.match(answerOf(await one('/login/passkey', old)), /^403/)
  const pages = [
    await ask(one, '/login/passkey/options'),
    await ask(other, '/login/passkey/options'),
  ]
  const bodies = pages.map((asked) => ({
    token: asked.token,
    response: passkey.get(asked.publicKey),
  }))
  const devices = await Promise.all(
    [other, one].map((post, at) => post('/login/passkey', bodies[at] as object)),
  )
  t.strictSame(devices.map(answerOf), ['200 tokens', '200 tokens'], 'two devices with one passkey')
  for (const round of [1, 2]) {
    const asked = await ask(one, '/login/passkey/options')
    const answers = await twenty({ token: asked.token, response: passkey.get(asked.publicKey) })
    t.strictSame(answers, ['200 tokens', ...rejected], `at once: ${round}`)
  }
})
