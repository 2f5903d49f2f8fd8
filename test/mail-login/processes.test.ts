// program: its own, in npm run test:all
// Logins by e-mail in two processes, with sessions in Redis and in PostgreSQL, and counters in Redis.
import t from 'tap'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import type { AccountMail } from '../../lib/index.js'
import { Redis } from 'ioredis'
import { accountsTable } from '../helpers/accounts.js'
import { bodyOf } from '../helpers/client.js'
import { expired, mailApp, otherCode, wrong, type LogInMail } from '../helpers/mail-login.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { startProcess } from '../helpers/processes.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer } from '../helpers/redis-server.js'

const skip = unlessFound('Redis') || unlessFound('PostgreSQL')
const finish = '/login/mail/finish'

for (const sessions of ['redis', 'sql']) {
  t.test(`two processes make one session of an e-mail, by ${sessions}`, { skip }, async (t) => {
    const [redis, postgres] = await Promise.all([redisServer(t), postgresServer(t)])
    const pool = postgres.pool()
    await pool.query(`${accountsTable}; ${sqlSchema('shop')}`)
    const env = {
      TEST_REDIS_PORT: String(redis.port),
      TEST_DATABASE: postgres.url,
      TEST_SESSIONS: sessions,
    }
    const shops = await Promise.all([1, 2].map(() => startProcess(t, 'accounts-process', env)))
    type Shop = (typeof shops)[number]
    const [one, other] = shops as [Shop, Shop]
    const ask = async (email: string) => {
      const { token } = bodyOf(await one.post('/login/mail', { email }))
      const mails = JSON.parse((await one.get('/mails')).body) as AccountMail[]
      return { token, mail: mails.at(-1) as LogInMail }
    }
    const twenty = (bodies: readonly object[]) =>
      Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 4 < 2 ? one : other).ask(finish, bodies[at % bodies.length] as object),
        ),
      )
    const dora = 'dora@example.com'
    for (const what of ['a sign-up', 'a login']) {
      const { token, mail } = await ask(dora)
      const answers = await twenty([{ token: mail.token }, { token, code: mail.code }])
      t.equal(answers.filter((each) => each === '200 tokens').length, 1, what)
      for (const each of answers)
        t.match(each, /^200 tokens$|^401 ERR_AUTH_LOGIN|^403 ERR_AUTH_MAIL/)
    }
    const { rows } = await pool.query('select email, password from users')
    t.strictSame(rows, [{ email: dora, password: null }])

    for (let turn = 0; turn < 5; turn += 1) {
      const { mail } = await ask(dora)
      const answer = await other.ask(finish, { token: mail.token })
      t.equal(answer, '200 tokens', 'a login at one ends the counts of both')
    }

    const { token, mail } = await ask(dora)
    const guesses = Array.from({ length: 20 }, (_, at) => ({
      token,
      code: otherCode(mail.code, at + 1),
    }))
    const answers = await twenty(guesses)
    t.equal(answers.filter((each) => each === wrong).length, 5, 'five guesses in both')
    t.equal(answers.filter((each) => each === expired).length, 15)
    for (const shop of shops) t.equal(await shop.ask(finish, { token, code: mail.code }), expired)
    t.equal(await other.ask(finish, { token: mail.token }), '200 tokens')
  })
}

t.test('limits are in Redis while it is there', { skip: unlessFound('Redis') }, async (t) => {
  const server = await redisServer(t)
  const redis = new Redis(server.port, '127.0.0.1')
  t.teardown(() => redis.disconnect())
  let isDown = true
  const sent: AccountMail[] = []
  const sendMail = (mail: AccountMail) => {
    if (isDown) throw new Error('SMTP is down')
    sent.push(mail)
  }
  const throttle = { redis, keyPrefix: 'shop' }
  const { app, ask, finish } = await mailApp(
    t,
    { signUp: true },
    { throttle },
    { sendMail, limits: {} },
  )
  const asked = async (email?: string) => {
    await ask(email)
    await app.authn.accounts.settled()
    return sent.splice(0).map(({ token = '' }) => token)
  }
  for (let turn = 0; turn < 5; turn += 1) t.strictSame(await asked(), [], 'none is counted')
  isDown = false
  const tokens = [await asked(), await asked(), await asked(), await asked()].flat()
  t.equal(tokens.length, 3)
  t.equal(await finish({ token: tokens[0] }), '200 tokens')
  t.equal((await asked()).length, 1, 'the count has ended')
  const [token] = await asked('dora@example.com')
  t.equal(await finish({ token }), '200 tokens')
  t.equal(await finish({ token }), expired)
})
