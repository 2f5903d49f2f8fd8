// program: redis
import { once } from 'node:events'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { appWith, basic, logLines, passwords, standardOptions } from '../helpers/app.js'
import { isRejection } from '../helpers/flows.js'
import { fateOf, login, retryAfterOf, settle, tooMany, until } from '../helpers/load.js'
import { startProcess } from '../helpers/processes.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer, type RedisServer } from '../helpers/redis-server.js'

const skip = unlessFound('Redis')

type AppProcess = Awaited<ReturnType<typeof startApp>>

/** Another process. */
async function startApp(t: Test, redis: RedisServer) {
  const env = { TEST_REDIS_PORT: String(redis.port) }
  const { child, post, get } = await startProcess(t, 'redis-app', env)
  const exit = once(child, 'exit') as Promise<[code: number | null]>
  return {
    child,
    login: (username: string, password: string) => post('/login', { username, password }),
    enter: (username: string, password: string) => get('/', basic(username, password)),
    /** What it has logged at level warn and above. */
    lines: async () => JSON.parse((await get('/lines')).body) as Record<string, unknown>[],
    redisStatus: async () => (await get('/redis')).body,
    /** @returns its exit code */
    async end() {
      child.disconnect()
      return (await exit)[0]
    },
  }
}

const right = (name: string): [string, string] => [name, `password of ${name}`]
const throttled = { status: 429, error: tooMany, challenge: null }
const isAbout = (line: Record<string, unknown>): boolean =>
  String(line.msg).startsWith('Redis does not count failed attempts')

/** Waits until a process has a connection to Redis, or has seen that there is none. */
async function redisIs(processes: readonly AppProcess[], ready: boolean): Promise<void> {
  for (const process of processes) {
    await until(
      async () => ((await process.redisStatus()) === 'ready') === ready,
      `its connection is ${ready ? 'there' : 'gone'}`,
    )
  }
}

t.test('two processes share counters in Redis, and count alone without it', { skip }, async (t) => {
  const redis = await redisServer(t)
  const both = await Promise.all([startApp(t, redis), startApp(t, redis)])
  const [a, b] = both
  t.not(a.child.pid, b.child.pid)
  await redisIs(both, true)

  await t.test('the 11th guess gets a 429 from either process', async (t) => {
    for (let count = 0; count < 10; count += 1) {
      const { statusCode } = await (both[count % 2] as AppProcess).login('alice', `guess ${count}`)
      t.equal(statusCode, 401)
    }
    for (const { login, enter } of both) {
      for (const ask of [login, enter]) {
        const response = await ask(...right('alice'))
        isRejection(t, response, throttled)
        t.ok(retryAfterOf(response) > 0 && retryAfterOf(response) <= 900)
      }
      t.equal((await login(...right('bob'))).statusCode, 200, 'other names are not affected')
    }
  })

  await t.test('a success resets its name in both processes', async (t) => {
    for (let count = 0; count < 9; count += 1) {
      t.equal((await a.login('bob', `guess ${count}`)).statusCode, 401)
    }
    t.equal((await b.login(...right('bob'))).statusCode, 200)
    for (let count = 0; count < 9; count += 1) {
      t.equal((await b.login('bob', `guess ${count}`)).statusCode, 401)
    }
    t.equal((await a.login(...right('bob'))).statusCode, 200)
  })

  await t.test('each process counts alone when Redis is killed, and logs it once', async (t) => {
    for (let count = 0; count < 4; count += 1) {
      t.equal((await a.login('carol', `guess ${count}`)).statusCode, 401)
    }
    // Requests are on their way while it goes.
    const during = both.flatMap(({ login }) =>
      ['dave', 'dave', 'dave'].map((name) => login(...right(name))),
    )
    await redis.kill()
    for (const response of await Promise.all(during)) t.equal(response.statusCode, 200)
    await redisIs(both, false)

    for (let count = 4; count < 10; count += 1) {
      t.equal((await a.login('carol', `guess ${count}`)).statusCode, 401)
    }
    isRejection(t, await a.login(...right('carol')), throttled, 'all that it has seen itself')
    t.equal((await b.login(...right('carol'))).statusCode, 200, 'the other one has seen nothing')
    t.equal((await a.login(...right('dave'))).statusCode, 200)
    t.equal((await a.enter(...right('dave'))).statusCode, 200)
    for (const process of both) {
      const about = (await process.lines()).filter(isAbout)
      t.equal(about.length, 1, 'one line, not one a request')
      t.equal(about[0]?.level, 50)
    }
  })

  await t.test('both processes end with status 0 and no other errors in the log', async (t) => {
    for (const process of both) {
      const errors = (await process.lines()).filter(({ level, msg }) => {
        return Number(level) >= 50 && !isAbout({ msg })
      })
      t.strictSame(errors, [])
      t.equal(process.child.exitCode, null, 'it still runs')
      t.equal(await process.end(), 0)
    }
  })
})

const settings = {
  'retries for ever': { maxRetriesPerRequest: null, retryStrategy: () => 20 },
  'has no offline queue': { offlineQueue: false, retryStrategy: () => 20 },
  'gives up': { retryStrategy: () => null },
  'connects when it is used': { lazyConnect: true },
}

for (const [name, options] of Object.entries(settings)) {
  t.test(`logins are answered without Redis if its client ${name}`, { skip }, async (t) => {
    const redis = await redisServer(t)
    const client = new Redis(redis.port, '127.0.0.1', options)
    t.teardown(() => client.disconnect())
    client.on('error', () => undefined)
    const { lines, stream } = logLines()
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    t.teardown(() => process.off('unhandledRejection', note))
    const throttle = { redis: client, perUsername: 4, keyPrefix: 'test' }
    const server = { logger: { level: 'error', stream } }
    const app = await appWith(t, { ...standardOptions(), throttle }, undefined, server)
    const status = async (username: string, password: string): Promise<number> =>
      (await login(app, username, password)).statusCode
    if (!('lazyConnect' in options)) await until(() => client.status === 'ready', 'it is connected')
    t.equal(await status('alice', 'guess'), 401)
    await redis.kill()
    await until(() => client.status !== 'ready', 'it has seen that Redis is gone')

    const tries = [['alice', passwords.alice] as const, ['nobody', 'guess'] as const]
    const logins = [...tries, ...tries].map(([name, password]) => status(name, password))
    const all = fateOf(Promise.all(logins))
    await until(() => all.state !== 'pending', 'they are answered')
    t.strictSame(all.value, [200, 401, 200, 401])
    for (let count = 0; count < 4; count += 1) t.equal(await status('alice', `guess ${count}`), 401)
    isRejection(t, await login(app, 'alice', passwords.alice), throttled, 'counted alone')
    t.match(lines, [{ level: 50 }])
    t.equal(lines.length, 1, 'one line for all of it')
    client.disconnect()
    await settle(10)
    t.equal(await status('bob', 'guess'), 401, 'also when the app has closed it')
    await settle(10)
    t.strictSame(unhandled, [])
  })
}
