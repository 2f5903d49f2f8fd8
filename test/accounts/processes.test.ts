// program: its own, in npm run test:all
// Accounts in PostgreSQL, with sessions and counters in Redis that several processes share.
import { once } from 'node:events'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { AccountMail } from '../../lib/index.js'
import { accountsApp, accountsTable, answerOf, newPassword } from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { until } from '../helpers/load.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { startProcess } from '../helpers/processes.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer } from '../helpers/redis-server.js'
import { pairOf } from '../helpers/sessions.js'

const dora = 'dora@example.com'
const invalid = '400 ERR_AUTH_LINK_INVALID'
const tooMany = '429 ERR_AUTH_TOO_MANY_MAILS'
const rejected = new Set([invalid, '429 ERR_AUTH_TOO_MANY_ATTEMPTS'])
const withRedis = unlessFound('Redis')
const withAll = withRedis || unlessFound('PostgreSQL')

type Shop = Awaited<ReturnType<typeof startShop>>

/** An app in a process of its own. */
async function startShop(t: Test, redis: number, database: string) {
  const env = { TEST_REDIS_PORT: String(redis), TEST_DATABASE: database }
  const shop = await startProcess(t, 'accounts-process', env)
  return {
    ...shop,
    /** The tokens of the e-mails that it has sent. */
    async tokens() {
      const mails = JSON.parse((await shop.get('/mails')).body) as AccountMail[]
      return mails.flatMap(({ token }) => token ?? [])
    },
  }
}

t.test('two processes share accounts, sessions and limits', { skip: withAll }, async (t) => {
  const [redis, postgres] = await Promise.all([redisServer(t), postgresServer(t)])
  await postgres.pool().query(accountsTable)
  const shops = await Promise.all([
    startShop(t, redis.port, postgres.url),
    startShop(t, redis.port, postgres.url),
  ])
  const [one, other] = shops
  t.equal(await one.ask('/sign-up', { email: dora }), '202 {}')
  const [signUp = ''] = await one.tokens()
  const each = Array.from({ length: 20 }, (_, index) => `${newPassword} ${index}`)
  const twenty = (path: string, token: (index: number) => string): Promise<string[]> =>
    Promise.all(
      each.map((password, index) =>
        (shops[index % 2] as Shop).ask(path, { token: token(index), password: path + password }),
      ),
    )
  const signUps = await twenty('/sign-up/finish', () => signUp)
  t.equal(signUps.filter((answer) => answer === '200 tokens').length, 1, 'one account')
  t.equal(signUps.filter((answer) => rejected.has(answer)).length, 19)
  const { rows } = await postgres.pool().query('select email from users')
  t.strictSame(rows, [{ email: dora }])

  t.equal(await other.ask('/password/forgot', { email: dora }), '202 {}')
  t.equal(await one.ask('/password/forgot', { email: dora }), '202 {}')
  const resets = [(await one.tokens()).at(-1), (await other.tokens()).at(-1)].map(String)
  // Other passwords than those of the resets, whose winner may have the same number.
  const before = `/sign-up/finish${each[signUps.indexOf('200 tokens')]}`
  const { token } = pairOf(await one.post('/login', { email: dora, password: before }))
  const me = async (): Promise<number[]> =>
    Promise.all(shops.map(async (shop) => (await shop.get('/me', bearer(token))).statusCode))
  await until(async () => (await me()).join() === '200,200', 'both know the session')
  const answers = await twenty('/password/reset', (index) => String(resets[index % 2]))
  const won = each.filter((_, index) => answers[index] === '204')
  t.equal(won.length, 1, 'one password')
  t.equal(answers.filter((answer) => rejected.has(answer)).length, 19)
  await until(async () => (await me()).join() === '401,401', 'the session is revoked in both')
  for (const [index, shop] of shops.entries()) {
    const password = index === 0 ? `/password/reset${won[0]}` : before
    t.equal((await shop.post('/login', { email: dora, password })).statusCode, 200 + index * 201)
  }

  const gina = 'gina@example.com'
  const inserted = await postgres
    .pool()
    .query<{ id: number }>('insert into users (email) values ($1) returning id', [gina])
  const session = bearer(pairOf(await one.post('/begin', { id: inserted.rows[0]?.id })).token)
  for (const shop of shops) t.equal(await shop.ask('/password/set', {}, session), '202 {}')
  const links = [(await one.tokens()).at(-1), (await other.tokens()).at(-1)].map(String)
  const sets = await Promise.all(
    each.map((password, index) => {
      const body = { token: links[index % 2], password: `set ${password}` }
      return (shops[index % 2] as Shop).ask('/password/change', body, session)
    }),
  )
  t.equal(sets.filter((answer) => answer === '200 tokens').length, 1, 'one first password')
  const late = new Set([
    ...rejected,
    '401 ERR_AUTH_JWT_INVALID',
    '401 ERR_AUTH_INVALID_CREDENTIALS',
  ])
  t.equal(sets.filter((answer) => late.has(answer)).length, 19, sets.join())
  const chosen = `set ${each[sets.indexOf('200 tokens')]}`
  for (const shop of shops)
    t.equal((await shop.post('/login', { email: gina, password: chosen })).statusCode, 200)

  const frank = { email: 'frank@example.com' }
  for (const shop of [...shops, one]) t.equal(await shop.ask('/sign-up', frank), '202 {}')
  for (const shop of shops) t.equal(await shop.ask('/sign-up', frank), tooMany)
  await redis.kill()
  for (const shop of shops)
    await until(async () => (await shop.get('/redis')).body !== 'ready', 'Redis is gone')
  const email = 'erin@example.com'
  for (const shop of shops) {
    for (let count = 0; count < 3; count += 1)
      t.equal(await shop.ask('/sign-up', { email }), '202 {}', 'each counts alone')
    t.equal(await shop.ask('/sign-up', { email }), tooMany)
  }
})

t.test('limits are those of all processes while Redis is there', { skip: withRedis }, async (t) => {
  const server = await redisServer(t)
  const connect = (): Redis => {
    const redis = new Redis(server.port, '127.0.0.1', { retryStrategy: () => 50 })
    redis.on('error', () => undefined)
    t.teardown(() => redis.disconnect())
    return redis
  }
  const limits = { perRecipient: 2, perAddress: 5, window: 60 }
  const redis = connect()
  const apps = await Promise.all(
    [redis, connect()].map((redis) =>
      accountsApp(t, { limits }, { throttle: { redis, keyPrefix: 'shop' } }),
    ),
  )
  const answers: string[] = []
  for (const email of ['a', 'a', 'a', 'b', 'c', 'd', 'e'].map((name) => `${name}@example.com`)) {
    const app = apps[answers.length % 2]
    answers.push(String(await app?.send('/sign-up', { email })))
  }
  const ok = '202 {}'
  t.strictSame(answers, [ok, ok, tooMany, ok, ok, ok, tooMany])
  const keys = await redis.keys('*')
  t.notMatch(keys.join(), /example/, 'Redis learns no address')
  const ages = await Promise.all(keys.map((key) => redis.ttl(key)))
  t.ok(ages.length > 0 && ages.every((seconds) => seconds > 0 && seconds <= 60))
  server.pause()
  const hung = await apps[0]?.post('/sign-up', { email: 'f@example.com' })
  t.ok(hung && [ok, tooMany].includes(answerOf(hung)), 'a hung Redis is no 5xx')
  server.resume()
})

t.test('a client over its limit uses up nothing of a recipient', { skip: withRedis }, async (t) => {
  const { port } = await redisServer(t)
  const apps = await Promise.all(
    [0, 1].map(async () => {
      const redis = new Redis(port, '127.0.0.1')
      t.teardown(() => redis.disconnect())
      await once(redis, 'ready')
      const limits = { perRecipient: 1, perAddress: 2 }
      return accountsApp(t, { limits }, { throttle: { redis, keyPrefix: 'shop' } })
    }),
  )
  const ask = (at: 0 | 1, name: string, ip: string) =>
    apps[at]?.from(ip, '/sign-up', { email: `${name}@example.com` })
  for (const name of ['a', 'b']) t.equal(await ask(0, name, '192.0.2.1'), '202 {}')
  for (const name of ['c', 'd']) t.equal(await ask(1, name, '192.0.2.1'), tooMany)
  t.equal(await ask(1, 'c', '192.0.2.2'), '202 {}', 'neither in this process')
  t.equal(await ask(0, 'd', '192.0.2.2'), '202 {}', 'nor in another one')
})
